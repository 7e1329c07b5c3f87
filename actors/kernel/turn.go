package kernel

import (
	"context"
	"time"

	"parley/persistence"
)

// Turn is one command in the hands of an entity.
type Turn struct {
	grain   *grain
	request *Request
}

// ID returns the id of the grain.
func (t *Turn) ID() string { return t.grain.id }

// Now returns the time.
func (t *Turn) Now() time.Time { return t.grain.sys.Now() }

// System returns the system that the grain lives in.
func (t *Turn) System() *System { return t.grain.sys }

// Reply answers the command at once. It is for answers that show nothing uncommitted.
func (t *Turn) Reply(v any) { t.request.Reply(v, nil) }

// Fail refuses the command.
func (t *Turn) Fail(err error) { t.request.Reply(nil, AsError(err)) }

// Next returns the sequence and the time (milliseconds, later than that of any earlier event of the stream; decision 21)
// that the first event of the next Commit will have. The following ones count on from both.
func (t *Turn) Next() (seq uint64, at int64) {
	at = t.grain.sys.Now().UnixMilli()
	if at <= t.grain.lastAt {
		at = t.grain.lastAt + 1
	}
	return t.grain.seq + 1, at
}

// Commit applies the events to the entity and has the change written. release runs in the actor when all of it is
// durable: it answers and causes effects. When the store refuses, the command is answered with the error instead, after
// refused (nil: as it is) has put it into the words of the domain.
func (t *Turn) Commit(c Change, release func(), refused func(error) error) {
	g := t.grain
	seq, at := t.Next()
	expect := g.seq
	for i := range c.Events {
		c.Events[i].Seq, c.Events[i].At = seq+uint64(i), at+int64(i)
		if err := g.entity.Apply(&c.Events[i]); err != nil {
			panic(err) // the entity made an event that it can't apply
		}
		g.seq, g.lastAt = c.Events[i].Seq, c.Events[i].At
	}
	b := &persistence.Batch{Expect: expect, Events: c.Events, Claims: c.Claims, Documents: c.Documents, Counters: c.Counters, Outbox: c.Outbox}
	trim := false
	if c.Final || g.seq-g.snapSeq >= snapshotEvery {
		b.Snapshot = g.snapshot()
		trim = true
	}
	h := held{request: t.request, release: release, refused: refused}
	if trim {
		h.release = func() { release(); g.trim() }
	}
	g.submit(b, h)
}

// AfterCommits runs f in the actor when everything that is being committed now is durable: at once if nothing is.
func (t *Turn) AfterCommits(f func()) {
	g := t.grain
	if len(g.pending) == 0 {
		f()
		return
	}
	g.pending = append(g.pending, held{mark: g.pending[len(g.pending)-1].mark, after: true, request: t.request, release: f})
}

// Load reads from the store without holding up the actor: read runs in the reading pool with a deadline, then next runs
// in the actor, always and once, with ErrOverloaded when the pool is full. Only when the entity was thrown away meanwhile, the
// command is answered with ErrUnavailable instead.
func Load[R any](t *Turn, read func(ctx context.Context, s persistence.Store) (R, error), next func(R, error)) {
	g := t.grain
	ok := g.sys.readers.run(func() {
		ctx, cancel := context.WithTimeout(context.Background(), loadTimeout)
		defer cancel()
		v, err := read(ctx, g.sys.Store)
		g.process.Tell(&resumed{owner: g, f: func() { next(v, err) }, request: t.request})
	})
	if !ok {
		var none R
		next(none, ErrOverloaded)
	}
}
