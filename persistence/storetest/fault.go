package storetest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"parley/persistence"
)

var faultTests = []test{
	{"failing commits", func(e *env) {
		if e.Faults.FailCommits == nil {
			e.Skip("the engine's harness cannot make commits fail")
		}
		refuses(e, e.Faults.FailCommits)
	}},
	{"full disk", func(e *env) {
		if e.Faults.FillDisk == nil {
			e.Skip("the engine's harness cannot fill the disk")
		}
		refuses(e, e.Faults.FillDisk)
	}},
	{"torn", func(e *env) {
		if e.Faults.Tear == nil {
			e.Skip("the engine's harness cannot damage the store")
		}
		w := e.acquire("agency/a")
		for i := range 200 {
			w.write(3, both(everything("tag"), putDocument("c", fmt.Sprint(i), "data")))
		}
		e.check(e.store.Close())
		for round := 0; e.Faults.Tear(e.T, round); round++ {
		}
		e.store = NewFaulty(closedStore{}) // the place is in ruins
	}},
	{"lost reply", func(e *env) {
		f := NewFaulty(e.store)
		e.store = f
		w := e.acquire("agency/a")
		w.write(2, nil)
		b := w.batch(3)
		count("tag", 1)(b)
		f.Script(LoseReply)
		e.wants(persistence.ErrUnavailable, w.try(b))
		var conflict *persistence.ConflictError
		if err := w.try(b); !errors.As(err, &conflict) {
			e.Fatalf("got %v, want a conflict", err)
		}
		equal(e, "last", conflict.Last, b.Expect+uint64(len(b.Events)))
		counters(e, map[string]int64{"tag": 1})
		w.last = conflict.Last
		w.write(1, nil)
		e.events("agency/a", 1, 6)
	}},
	{"failed before it was applied", func(e *env) {
		f := NewFaulty(e.store)
		e.store = f
		w := e.acquire("agency/a")
		f.Script(FailBefore, FailBefore)
		e.wants(persistence.ErrUnavailable, w.put(1, everything("tag")))
		e.wants(persistence.ErrUnavailable, w.put(1, everything("tag")))
		nothing(e, "agency/a", "tag")
		w = e.acquire("agency/a")
		w.write(1, everything("tag"))
		e.events("agency/a", 1, 1)
		equal(e, "calls", f.Appends(), 3)
	}},
	{"fenced owner", func(e *env) {
		f := NewFaulty(e.store)
		e.store = f
		w := e.acquire("agency/a")
		w.write(1, nil)
		f.Always(Fence)
		e.wants(persistence.ErrFenced, w.put(1, nil))
		f.Always(0)
		e.wants(persistence.ErrFenced, w.put(1, nil))
		e.events("agency/a", 1, 1)
	}},
	{"stalled", func(e *env) {
		f := NewFaulty(e.store)
		e.store = f
		w := e.acquire("agency/a")
		f.Script(Stall, Stall)
		ctx, cancel := context.WithCancel(e.ctx)
		result := make(chan error, 1)
		stall := func(ctx context.Context, b *persistence.Batch) {
			go func() { result <- f.Append(ctx, []*persistence.Batch{b})[0] }()
			eventually(e.T, "a stalled call", func() bool { return f.Stalled() == 1 })
		}
		stall(ctx, w.batch(1))
		cancel()
		e.wants(persistence.ErrUnavailable, <-result)
		stall(e.ctx, w.batch(1))
		e.head("agency/a", 0, 0)
		f.Release()
		e.check(<-result)
		e.events("agency/a", 1, 1)
	}},
}

// refuses checks that a store that cannot commit says so, keeps what it has, and recovers.
func refuses(e *env, hurt func(t *testing.T, s persistence.Store) func()) {
	w, other := e.acquire("agency/a"), e.acquire("agency/b")
	w.write(2, nil)
	other.write(1, take("ann", "b", "", never))
	repair := hurt(e.T, e.store)
	repaired := false
	defer func() {
		if !repaired {
			repair()
		}
	}()
	for range 3 {
		e.wants(persistence.ErrUnavailable, w.put(1, everything("bad")))
		_, err := e.store.Acquire(e.ctx, "agency/a", 0)
		e.wants(persistence.ErrUnavailable, err)
	}
	e.wants(persistence.ErrUnavailable, e.store.Ready(e.ctx))
	e.events("agency/a", 1, 2)
	e.noDocument("c", "bad")
	e.free("name", "bad")
	e.holds("name", "ann", "b")

	repair()
	repaired = true
	e.check(e.store.Ready(e.ctx))
	w.write(1, everything("good"))
	e.events("agency/a", 1, 3)
	e.reopen()
	e.events("agency/a", 1, 3)
	e.document("c", "good", "data of good")
	e.noDocument("c", "bad")
	counters(e, map[string]int64{"good": 1})
}

// closedStore stands for a store that is not open any more.
type closedStore struct{ persistence.Store }

func (closedStore) Close() error { return nil }

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(deadline); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("no %s", what)
		}
	}
}
