package storetest

import (
	"errors"
	"time"

	"parley/persistence"
)

// take returns a change that claims key for owner, until the time expires unless that is zero.
func take(key, owner, data string, expires time.Time) func(b *persistence.Batch) {
	op := persistence.ClaimOp{Index: "name", Key: key, Owner: owner, Data: []byte(data)}
	if !expires.IsZero() {
		op.Expires = expires.UnixMilli()
	}
	return func(b *persistence.Batch) { b.Claims = append(b.Claims, op) }
}

func release(key, owner string) func(b *persistence.Batch) {
	return func(b *persistence.Batch) {
		b.Claims = append(b.Claims, persistence.ClaimOp{Index: "name", Key: key, Owner: owner, Release: true})
	}
}

func both(one, two func(b *persistence.Batch)) func(b *persistence.Batch) {
	return func(b *persistence.Batch) { one(b); two(b) }
}

var never time.Time

var claimTests = []test{
	{"taken once", func(e *env) {
		a, b := e.acquire("account/a"), e.acquire("account/b")
		e.free("name", "ann")
		a.write(1, take("ann", "a", "data", never))
		err := b.put(1, take("ann", "b", "", never))
		e.wants(persistence.ErrExists, err)
		var exists *persistence.ExistsError
		if !errors.As(err, &exists) {
			e.Fatalf("%v is no ExistsError", err)
		}
		equal(e, "exists", *exists, persistence.ExistsError{Index: "name", Key: "ann", Owner: "a"})
		e.events("account/b", 1, 0)
		e.reopen()
		c, err := e.store.Claim(e.ctx, "name", "ann")
		e.check(err)
		if c.Owner != "a" || string(c.Data) != "data" || c.Expires != 0 {
			e.Fatalf("claim %+v", c)
		}
	}},
	{"indexes do not mix", func(e *env) {
		a := e.acquire("account/a")
		a.write(1, take("ann", "a", "", never))
		e.free("other", "ann")
		a.write(1, func(b *persistence.Batch) {
			b.Claims = []persistence.ClaimOp{{Index: "other", Key: "ann", Owner: "b"}}
		})
		e.holds("name", "ann", "a")
		e.holds("other", "ann", "b")
	}},
	{"renewed by its owner", func(e *env) {
		a := e.acquire("account/a")
		a.write(1, take("ann", "a", "one", e.Now().Add(time.Minute)))
		until := e.Now().Add(time.Hour)
		a.write(1, take("ann", "a", "two", until))
		c, err := e.store.Claim(e.ctx, "name", "ann")
		e.check(err)
		if string(c.Data) != "two" || c.Expires != until.UnixMilli() {
			e.Fatalf("claim %+v", c)
		}
		e.Advance(2 * time.Minute)
		a.write(1, nil) // gives the engine a chance to sweep the old end
		e.holds("name", "ann", "a")
		a.write(1, take("ann", "a", "for ever", never))
		e.Advance(2 * time.Hour)
		a.write(1, nil)
		e.holds("name", "ann", "a")
	}},
	{"free when expired", func(e *env) {
		a, b := e.acquire("account/a"), e.acquire("account/b")
		a.write(1, take("ann", "a", "", e.Now().Add(time.Minute)))
		e.Advance(time.Minute - time.Second)
		e.holds("name", "ann", "a")
		e.wants(persistence.ErrExists, b.put(1, take("ann", "b", "", never)))
		e.Advance(2 * time.Second)
		e.free("name", "ann")
		b.write(1, take("ann", "b", "", never))
		e.holds("name", "ann", "b")
		e.wants(persistence.ErrExists, a.put(1, take("ann", "a", "", never)))
		a.write(1, nil)
		e.holds("name", "ann", "b")
	}},
	{"many expire", func(e *env) {
		a := e.acquire("account/a")
		for range 3 {
			a.write(1, func(b *persistence.Batch) {
				for i := range 400 {
					take(string(rune('a'+i)), "a", "", e.Now().Add(time.Minute))(b)
				}
			})
			e.Advance(time.Hour)
			for range 4 {
				a.write(1, nil)
			}
			for i := range 400 {
				e.free("name", string(rune('a'+i)))
			}
		}
	}},
	{"released by its owner alone", func(e *env) {
		a, b := e.acquire("account/a"), e.acquire("account/b")
		a.write(1, take("ann", "a", "", never))
		b.write(1, release("ann", "b"))
		e.holds("name", "ann", "a")
		b.write(1, release("nobody", "b"))
		a.write(1, release("ann", "a"))
		e.free("name", "ann")
		b.write(1, take("ann", "b", "", never))
		e.holds("name", "ann", "b")
	}},
	{"handed over in one batch", func(e *env) {
		a := e.acquire("account/a")
		a.write(1, take("ann", "a", "", e.Now().Add(time.Hour)))
		a.write(1, both(release("ann", "a"), take("ann", "b", "", never)))
		e.holds("name", "ann", "b")
		e.Advance(2 * time.Hour)
		a.write(1, nil)
		e.holds("name", "ann", "b")
	}},
	{"taken twice in one batch", func(e *env) {
		a := e.acquire("account/a")
		e.wants(persistence.ErrExists, a.put(1, both(take("ann", "a", "", never), take("ann", "b", "", never))))
		e.free("name", "ann")
		a.write(1, both(take("ann", "a", "1", never), take("ann", "a", "2", never)))
		c, err := e.store.Claim(e.ctx, "name", "ann")
		e.check(err)
		equal(e, "data", string(c.Data), "2")
	}},
	{"all or none", func(e *env) {
		a, b := e.acquire("account/a"), e.acquire("account/b")
		a.write(1, take("bob", "a", "", never))
		e.wants(persistence.ErrExists, b.put(1, both(take("ann", "b", "", never), take("bob", "b", "", never))))
		e.free("name", "ann")
		a.write(1, take("ann", "a", "", never))
	}},
	{"conflict comes before exists", func(e *env) {
		a, b := e.acquire("account/a"), e.acquire("account/b")
		a.write(1, take("ann", "a", "", never))
		b.last = 9
		e.wants(persistence.ErrConflict, b.put(1, take("ann", "b", "", never)))
	}},
}
