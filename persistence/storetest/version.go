package storetest

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"parley/persistence"
)

// version returns the version of a collection.
func (e *env) version(collection string) uint64 {
	e.Helper()
	v, err := e.store.Version(e.ctx, collection)
	e.check(err)
	return v
}

var versionTests = []test{
	{"every change of a document", func(e *env) {
		w := e.acquire("agency/a")
		known := map[uint64]bool{e.version("c"): true}
		for i, change := range []func(b *persistence.Batch){putDocument("c", "k", "one"), putDocument("c", "k", "two"),
			both(putDocument("d", "k", "x"), putDocument("c", "l", "")), deleteDocument("c", "k")} {
			w.write(i%2, change)
			v := e.version("c")
			if known[v] {
				e.Fatalf("after change %d the version is %d again", i, v)
			}
			known[v] = true
			for range 3 {
				equal(e, "version of what stays", e.version("c"), v)
			}
		}
	}},
	{"of a collection that was never used", func(e *env) {
		equal(e, "version", e.version("never used"), e.version("never used"))
		e.acquire("agency/a").write(1, putDocument("never used", "k", "x"))
		equal(e, "version", e.version("nor this"), e.version("nor this"))
	}},
	{"a failed batch brings nothing to read under its version", func(e *env) {
		w := e.acquire("agency/a")
		w.write(1, putDocument("c", "k", "one"))
		b := w.batch(1)
		b.Expect, b.Events[0].Seq = 9, 10
		putDocument("c", "k", "two")(b)
		e.wants(persistence.ErrConflict, w.try(b))
		v := e.version("c")
		e.document("c", "k", "one")
		w.write(1, putDocument("c", "k", "three"))
		if e.version("c") == v {
			e.Fatal("the version has not changed")
		}
	}},
	{"two that are equal have seen the same", func(e *env) { versionsBesideWrites(e) }},
	{"after the end of the store", func(e *env) {
		e.check(e.store.Close())
		_, err := e.store.Version(e.ctx, "c")
		e.wants(persistence.ErrClosed, err)
		e.reopen()
	}},
	{"a call that was given up", func(e *env) {
		ctx, cancel := context.WithCancel(e.ctx)
		cancel()
		_, err := e.store.Version(ctx, "c")
		e.wants(persistence.ErrUnavailable, err)
	}},
}

// versionsBesideWrites has readers ask for the version before and after a read, while another writes: whenever a version
// is the same before and after, the document is the one of that version, for every reader and at all times.
func versionsBesideWrites(e *env) {
	const writes, readers = 60, 2
	w := e.acquire("agency/a")
	w.write(1, putDocument("c", "k", "0"))
	var seen sync.Map // version: document
	var over atomic.Bool
	var wg sync.WaitGroup
	for range readers {
		wg.Go(func() {
			for !over.Load() {
				before, err := e.store.Version(e.ctx, "c")
				if err != nil {
					e.Error(err)
					return
				}
				doc, err := e.store.Document(e.ctx, "c", "k")
				after, err2 := e.store.Version(e.ctx, "c")
				if err != nil || err2 != nil {
					e.Error(err, err2)
					return
				}
				runtime.Gosched() // readers alone would keep a small machine busy
				if before != after {
					continue
				}
				if had, loaded := seen.LoadOrStore(before, string(doc)); loaded && had != string(doc) {
					e.Errorf("under version %d the document was %q and is %q", before, had, doc)
					return
				}
			}
		})
	}
	for i := 1; i <= writes; i++ {
		b := w.batch(1)
		putDocument("c", "k", fmt.Sprint(i))(b)
		if err := w.try(b); err != nil {
			e.Error(err)
			break
		}
		// what was acknowledged can be read, under a version that nobody has seen with anything else
		if had, ok := seen.Load(e.version("c")); ok && had != fmt.Sprint(i) {
			e.Errorf("change %d has the version of %q", i, had)
		}
	}
	over.Store(true)
	wg.Wait()
}
