package storetest

import (
	"errors"
	"slices"

	"parley/persistence"
)

var logTests = []test{
	{"append and read back", func(e *env) {
		w := e.acquire("agency/a")
		w.write(3, nil)
		w.write(2, nil)
		e.events("agency/a", 1, 5)
		e.head("agency/a", 1, 5)
		e.reopen()
		e.events("agency/a", 1, 5)
	}},
	{"no events at all", func(e *env) {
		e.events("agency/none", 1, 0)
		e.head("agency/none", 0, 0)
		e.acquire("agency/a")
		e.events("agency/a", 1, 0)
		e.head("agency/a", 0, 0)
	}},
	{"empty data and kind", func(e *env) {
		w := e.acquire("agency/a")
		w.write(0, func(b *persistence.Batch) { b.Events = []persistence.Event{{Seq: 1, At: -5}} })
		got, err := e.store.Events(e.ctx, "agency/a", 0, 0)
		e.check(err)
		equal(e, "events", len(got), 1)
		sameEvent(e, got[0], persistence.Event{Seq: 1, At: -5})
	}},
	{"pages of events", func(e *env) {
		w := e.acquire("agency/a")
		w.write(25, nil)
		for after := uint64(0); after < 25; {
			got, err := e.store.Events(e.ctx, "agency/a", after, 10)
			e.check(err)
			equal(e, "page", len(got), int(min(10, 25-after)))
			for _, ev := range got {
				after++
				sameEvent(e, ev, event(after))
			}
		}
		for _, after := range []uint64{25, 26, ^uint64(0)} {
			got, err := e.store.Events(e.ctx, "agency/a", after, 10)
			e.check(err)
			equal(e, "behind the end", len(got), 0)
		}
	}},
	{"a read is a copy", func(e *env) {
		w := e.acquire("agency/a")
		w.write(1, func(b *persistence.Batch) {
			b.Documents = []persistence.DocumentOp{{Collection: "c", Key: "k", Data: []byte("value")}}
		})
		got, err := e.store.Events(e.ctx, "agency/a", 0, 0)
		e.check(err)
		clear(got[0].Data)
		doc, err := e.store.Document(e.ctx, "c", "k")
		e.check(err)
		clear(doc)
		e.events("agency/a", 1, 1)
		e.document("c", "k", "value")
	}},
	{"streams do not mix", func(e *env) {
		names := []string{"agency/a", "agency/a/b", "agency/aa", "agency/", "agency/a\x01", "agency/\xff"}
		for i, name := range names {
			w := e.acquire(name)
			w.write(i+1, nil)
		}
		for i, name := range names {
			e.events(name, 1, uint64(i+1))
			e.head(name, 1, uint64(i+1))
		}
	}},
	{"conflict says where the log ends", func(e *env) {
		w := e.acquire("agency/a")
		w.write(4, nil)
		for _, expect := range []uint64{0, 3, 5, 1 << 40} {
			b := &persistence.Batch{Stream: w.stream, Epoch: w.epoch, Expect: expect, Events: []persistence.Event{event(expect + 1)}}
			err := w.try(b)
			e.wants(persistence.ErrConflict, err)
			var conflict *persistence.ConflictError
			if !errors.As(err, &conflict) {
				e.Fatalf("%v is no ConflictError", err)
			}
			equal(e, "conflict", *conflict, persistence.ConflictError{Stream: "agency/a", Expect: expect, Last: 4})
		}
		e.events("agency/a", 1, 4)
	}},
	{"a batch without events", func(e *env) {
		w := e.acquire("agency/a")
		w.write(2, nil)
		w.write(0, func(b *persistence.Batch) {
			b.Documents = []persistence.DocumentOp{{Collection: "c", Key: "k", Data: []byte("v")}}
		})
		e.document("c", "k", "v")
		w.write(1, nil)
		e.events("agency/a", 1, 3)
	}},
	{"streams are listed in order", func(e *env) {
		for _, name := range []string{"agency/b", "account/z", "agency/a", "agency/c", "agencyx/a"} {
			w := e.acquire(name)
			w.write(1, nil)
		}
		list := func(prefix, after string, limit int, want ...string) {
			e.Helper()
			got, err := e.store.Streams(e.ctx, prefix, after, limit)
			e.check(err)
			if !slices.Equal(got, want) {
				e.Fatalf("streams %q after %q: got %q, want %q", prefix, after, got, want)
			}
		}
		list("agency/", "", 0, "agency/a", "agency/b", "agency/c")
		list("agency/", "", 2, "agency/a", "agency/b")
		list("agency/", "agency/b", 2, "agency/c")
		list("agency/", "agency/c", 2)
		list("agency/", "account/z", 1, "agency/a")
		list("", "", 0, "account/z", "agency/a", "agency/b", "agency/c", "agencyx/a")
		list("nothing", "", 0)
	}},
}

var leaseTests = []test{
	{"epochs rise", func(e *env) {
		first := e.acquire("agency/a")
		if first.epoch == 0 {
			e.Fatal("epoch 0")
		}
		first.write(3, nil)
		second := e.acquire("agency/a")
		if second.epoch <= first.epoch {
			e.Fatalf("epoch %d behind %d", second.epoch, first.epoch)
		}
		equal(e, "last", second.last, 3)
		e.reopen()
		if third := e.acquire("agency/a"); third.epoch <= second.epoch || third.last != 3 {
			e.Fatalf("after reopening: epoch %d, last %d", third.epoch, third.last)
		}
	}},
	{"an older owner is fenced", func(e *env) {
		old := e.acquire("agency/a")
		old.write(2, nil)
		now := e.acquire("agency/a")
		e.wants(persistence.ErrFenced, old.put(1, func(b *persistence.Batch) {
			b.Documents = []persistence.DocumentOp{{Collection: "c", Key: "k", Data: []byte("v")}}
		}))
		e.noDocument("c", "k")
		now.write(1, nil)
		e.wants(persistence.ErrFenced, old.put(0, nil))
		e.events("agency/a", 1, 3)
	}},
	{"only a lease may write", func(e *env) {
		w := &writer{e: e, stream: "agency/a"}
		for _, w.epoch = range []uint64{0, 1, 7} {
			e.wants(persistence.ErrFenced, w.put(1, nil))
		}
		w = e.acquire("agency/a")
		w.epoch++
		e.wants(persistence.ErrFenced, w.put(1, nil))
	}},
	{"fenced comes before conflict", func(e *env) {
		old := e.acquire("agency/a")
		e.acquire("agency/a").write(2, nil)
		e.wants(persistence.ErrFenced, old.put(1, nil))
	}},
	{"one stream's owner does not fence another's", func(e *env) {
		a, b := e.acquire("agency/a"), e.acquire("agency/b")
		e.acquire("agency/b")
		a.write(1, nil)
		e.wants(persistence.ErrFenced, b.put(1, nil))
	}},
	{"a stale view is refused", func(e *env) {
		_, err := e.store.Acquire(e.ctx, "agency/a", 7)
		e.check(err)
		lease, err := e.store.Acquire(e.ctx, "agency/a", 7)
		e.check(err)
		_, err = e.store.Acquire(e.ctx, "agency/a", 6)
		e.wants(persistence.ErrStaleView, err)
		e.reopen()
		_, err = e.store.Acquire(e.ctx, "agency/a", 6)
		e.wants(persistence.ErrStaleView, err)
		w := &writer{e: e, stream: "agency/a", epoch: lease.Epoch}
		w.write(1, nil) // a refused Acquire fences nobody
		_, err = e.store.Acquire(e.ctx, "agency/a", 8)
		e.check(err)
		_, err = e.store.Acquire(e.ctx, "agency/b", 0)
		e.check(err)
	}},
	{"the lease has the latest snapshot", func(e *env) {
		w := e.acquire("agency/a")
		lease, err := e.store.Acquire(e.ctx, "agency/a", 0)
		e.check(err)
		if lease.Snapshot != nil {
			e.Fatalf("snapshot %+v of a new stream", lease.Snapshot)
		}
		w.epoch = lease.Epoch
		w.write(3, func(b *persistence.Batch) {
			b.Snapshot = &persistence.Snapshot{Seq: 2, Version: 1, Data: []byte("old")}
		})
		w.write(2, func(b *persistence.Batch) {
			b.Snapshot = &persistence.Snapshot{Seq: 5, Version: 9, Data: []byte("new")}
		})
		w.write(1, nil)
		e.reopen()
		lease, err = e.store.Acquire(e.ctx, "agency/a", 0)
		e.check(err)
		s := lease.Snapshot
		if s == nil || s.Seq != 5 || s.Version != 9 || string(s.Data) != "new" || lease.Last != 6 {
			e.Fatalf("lease %+v, snapshot %+v", lease, s)
		}
	}},
}
