package storetest

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"parley/persistence"
)

// everything puts one change of each sort into a batch, named after tag.
func everything(tag string) func(b *persistence.Batch) {
	return func(b *persistence.Batch) {
		take(tag, "owner", "", never)(b)
		putDocument("c", tag, "data of "+tag)(b)
		count(tag, 1)(b)
		promise(tag, tag+"!")(b)
		snapshot(b.Expect)(b)
	}
}

// nothing checks that a batch with everything(tag) left no trace.
func nothing(e *env, stream, tag string) {
	e.Helper()
	e.free("name", tag)
	e.noDocument("c", tag)
	all, err := e.store.Counters(e.ctx)
	e.check(err)
	if _, ok := all[tag]; ok {
		e.Fatalf("counter %s is there", tag)
	}
	entries, err := e.store.Outbox(e.ctx, "", 0)
	e.check(err)
	for _, entry := range entries {
		if entry.ID == tag {
			e.Fatalf("outbox entry %s is there", tag)
		}
	}
	lease, err := e.store.Acquire(e.ctx, stream, 0)
	e.check(err)
	if lease.Snapshot != nil {
		e.Fatalf("snapshot %+v is there", lease.Snapshot)
	}
}

var batchTests = []test{
	{"whole or not at all", func(e *env) {
		a, b := e.acquire("agency/a"), e.acquire("agency/b")
		a.write(1, everything("good"))
		e.holds("name", "good", "owner")
		e.document("c", "good", "data of good")
		outbox(e, "", 0, "good")
		e.wants(persistence.ErrExists, b.put(1, both(everything("bad"), take("good", "other", "", never))))
		nothing(e, "agency/b", "bad")
		e.events("agency/b", 1, 0)
	}},
	{"a bad one does not stop its neighbours", func(e *env) {
		a, b, c := e.acquire("agency/a"), e.acquire("agency/b"), e.acquire("agency/c")
		bad := b.batch(1)
		bad.Epoch++
		everything("bad")(bad)
		errs := e.store.Append(e.ctx, []*persistence.Batch{a.batch(1), bad, c.batch(1)})
		equal(e, "errors", len(errs), 3)
		e.check(errs[0])
		e.wants(persistence.ErrFenced, errs[1])
		e.check(errs[2])
		e.events("agency/a", 1, 1)
		e.events("agency/c", 1, 1)
		nothing(e, "agency/b", "bad")
	}},
	{"batches of one stream follow each other", func(e *env) {
		w := e.acquire("agency/a")
		var batches []*persistence.Batch
		for range 10 {
			batches = append(batches, w.batch(2))
			w.last += 2
		}
		for _, err := range e.store.Append(e.ctx, batches) {
			e.check(err)
		}
		e.events("agency/a", 1, 20)
	}},
	{"batches behind a bad one of their stream fail too", func(e *env) {
		w, other := e.acquire("agency/a"), e.acquire("agency/b")
		w.write(1, nil)
		other.write(1, take("ann", "b", "", never))
		first := w.batch(1)
		w.last++
		second := w.batch(1)
		take("ann", "a", "", never)(second)
		w.last++
		third := w.batch(1)
		errs := e.store.Append(e.ctx, []*persistence.Batch{first, second, third, other.batch(1)})
		e.check(errs[0])
		e.wants(persistence.ErrExists, errs[1])
		e.wants(persistence.ErrConflict, errs[2])
		e.check(errs[3])
		e.events("agency/a", 1, 2)
		e.events("agency/b", 1, 2)
	}},
	{"later batches see the claims of earlier ones", func(e *env) {
		a, b := e.acquire("agency/a"), e.acquire("agency/b")
		one, two := a.batch(1), b.batch(1)
		take("ann", "a", "", never)(one)
		take("ann", "b", "", never)(two)
		errs := e.store.Append(e.ctx, []*persistence.Batch{one, two})
		e.check(errs[0])
		e.wants(persistence.ErrExists, errs[1])
		e.holds("name", "ann", "a")
	}},
	{"none", func(e *env) {
		equal(e, "errors", len(e.store.Append(e.ctx, nil)), 0)
	}},
}

var limitTests = []test{
	{"too large", func(e *env) {
		w := e.acquire("agency/a")
		long := strings.Repeat("x", persistence.MaxStreamName+1)
		big := string(make([]byte, persistence.MaxEventData+1))
		for name, change := range map[string]func(b *persistence.Batch){
			"event":           func(b *persistence.Batch) { b.Events[0].Data = []byte(big) },
			"kind":            func(b *persistence.Batch) { b.Events[0].Kind = long },
			"events":          func(b *persistence.Batch) { b.Events = w.batch(persistence.MaxBatchEvents + 1).Events },
			"document":        putDocument("c", "tag", big),
			"document key":    putDocument("c", long, ""),
			"collection":      putDocument(long, "k", ""),
			"claim":           take("k", "owner", big, never),
			"claim key":       take(long, "owner", "", never),
			"owner":           take("k", long, "", never),
			"counter":         count(long, 1),
			"outbox entry":    promise("k", big),
			"outbox entry id": promise(long, ""),
			"snapshot": func(b *persistence.Batch) {
				b.Snapshot = &persistence.Snapshot{Data: []byte(big)}
			},
			"all together": func(b *persistence.Batch) {
				part := []byte(big[:persistence.MaxEventData])
				for i := range persistence.MaxBatchBytes/persistence.MaxEventData + 1 {
					b.Documents = append(b.Documents, persistence.DocumentOp{Collection: "c", Key: fmt.Sprint(i), Data: part})
				}
			},
			"changes": func(b *persistence.Batch) {
				b.Counters = make([]persistence.CounterOp, persistence.MaxBatchOps+1)
				for i := range b.Counters {
					b.Counters[i] = persistence.CounterOp{Name: "n", Delta: 1}
				}
			},
		} {
			b := w.batch(1)
			count("tag", 1)(b)
			change(b)
			errs := e.store.Append(e.ctx, []*persistence.Batch{b})
			e.Log(name)
			e.wants(persistence.ErrTooLarge, errs[0])
		}
		counters(e, map[string]int64{})
		_, err := e.store.Acquire(e.ctx, long, 0)
		e.wants(persistence.ErrTooLarge, err)
		old := &writer{e: e, stream: w.stream}
		e.wants(persistence.ErrFenced, old.put(1, count(long, 1))) // fenced comes first
	}},
	{"as large as it may be", func(e *env) {
		w := e.acquire(strings.Repeat("s", persistence.MaxStreamName))
		name := strings.Repeat("n", persistence.MaxStreamName)
		big := strings.Repeat("x", persistence.MaxEventData)
		w.write(0, func(b *persistence.Batch) {
			b.Events = []persistence.Event{{Seq: 1, Kind: name, Data: []byte(big)}}
			putDocument(name, name, big)(b)
			b.Claims = []persistence.ClaimOp{{Index: name, Key: name, Owner: name, Expires: 1 << 60}}
			count(name, 1)(b)
			promise(name, "x")(b)
		})
		w.write(persistence.MaxBatchEvents-1, func(b *persistence.Batch) {
			for i := range b.Events {
				b.Events[i].Data = nil
			}
		})
		e.document(name, name, big)
		e.holds(name, name, name)
		got, err := e.store.Events(e.ctx, w.stream, 0, 1)
		e.check(err)
		sameEvent(e, got[0], persistence.Event{Seq: 1, Kind: name, Data: []byte(big)})
		e.head(w.stream, 1, persistence.MaxBatchEvents)
	}},
	{"invalid", func(e *env) {
		w := e.acquire("agency/a")
		w.write(3, nil)
		for name, change := range map[string]func(b *persistence.Batch){
			"no stream":           func(b *persistence.Batch) { b.Stream = "" },
			"zero byte":           func(b *persistence.Batch) { b.Stream = "agency/a\x00" },
			"sequence too low":    func(b *persistence.Batch) { b.Events[0].Seq = 3 },
			"sequence too high":   func(b *persistence.Batch) { b.Events[1].Seq++ },
			"sequence wraps":      func(b *persistence.Batch) { b.Expect = ^uint64(0); b.Events = nil },
			"snapshot ahead":      snapshot(6),
			"no document key":     putDocument("c", "", "x"),
			"no collection":       putDocument("", "k", "x"),
			"no claim key":        take("", "owner", "", never),
			"no owner":            take("k", "", "", never),
			"no owner to release": release("k", ""),
			"no counter":          count("", 1),
			"no outbox entry id":  promise("", "x"),
			"expires before epoch": func(b *persistence.Batch) {
				b.Claims = []persistence.ClaimOp{{Index: "i", Key: "k", Owner: "o", Expires: -1}}
			},
		} {
			b := w.batch(2)
			count("tag", 1)(b)
			change(b)
			errs := e.store.Append(e.ctx, []*persistence.Batch{b})
			e.Log(name)
			e.wants(persistence.ErrInvalid, errs[0])
		}
		errs := e.store.Append(e.ctx, []*persistence.Batch{nil, w.batch(1)})
		e.wants(persistence.ErrInvalid, errs[0])
		e.check(errs[1])
		counters(e, map[string]int64{})
		for _, stream := range []string{"", "a\x00b"} {
			_, err := e.store.Acquire(e.ctx, stream, 0)
			e.wants(persistence.ErrInvalid, err)
		}
		e.events("agency/a", 1, 4)
	}},
}

var concurrentTests = []test{
	{"many streams at once", func(e *env) {
		const writers, rounds = 32, 40
		var wg sync.WaitGroup
		for i := range writers {
			wg.Go(func() {
				w := &writer{e: e, stream: fmt.Sprintf("agency/%d", i)}
				lease, err := e.store.Acquire(e.ctx, w.stream, 0)
				if err != nil {
					e.Errorf("acquire: %v", err)
					return
				}
				w.epoch = lease.Epoch
				for range rounds {
					b := w.batch(1)
					count("all", 1)(b)
					if errs := e.store.Append(e.ctx, []*persistence.Batch{b}); errs[0] != nil {
						e.Errorf("append: %v", errs[0])
						return
					}
					w.last++
				}
			})
		}
		wg.Wait()
		for i := range writers {
			e.events(fmt.Sprintf("agency/%d", i), 1, rounds)
		}
		counters(e, map[string]int64{"all": writers * rounds})
	}},
	{"one of many wins a claim", func(e *env) {
		const writers, keys = 16, 20
		all := make([]*writer, writers)
		for i := range all {
			all[i] = e.acquire(fmt.Sprintf("account/%d", i))
		}
		for k := range keys {
			key := fmt.Sprint(k)
			var wg sync.WaitGroup
			var won atomic.Int32
			var winner atomic.Value
			for i, w := range all {
				wg.Go(func() {
					owner := fmt.Sprint(i)
					b := w.batch(1)
					take(key, owner, "", never)(b)
					switch err := e.store.Append(e.ctx, []*persistence.Batch{b})[0]; {
					case err == nil:
						w.last++
						won.Add(1)
						winner.Store(owner)
					case !isExists(err):
						e.Errorf("%v", err)
					}
				})
			}
			wg.Wait()
			equal(e, "winners", won.Load(), 1)
			e.holds("name", key, winner.Load().(string))
		}
	}},
	{"one of two owners at a time", func(e *env) {
		const rounds = 30
		var wg sync.WaitGroup
		var committed atomic.Uint64
		for range 4 {
			wg.Go(func() {
				for range rounds {
					lease, err := e.store.Acquire(e.ctx, "agency/a", 0)
					if err != nil {
						e.Errorf("acquire: %v", err)
						return
					}
					w := &writer{e: e, stream: "agency/a", epoch: lease.Epoch, last: lease.Last}
					for range 3 {
						if e.store.Append(e.ctx, []*persistence.Batch{w.batch(1)})[0] != nil {
							break
						}
						w.last++
						committed.Add(1)
					}
				}
			})
		}
		wg.Wait()
		e.events("agency/a", 1, committed.Load())
	}},
	{"reads while writing", func(e *env) {
		w := e.acquire("agency/a")
		stop := make(chan struct{})
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
					}
					_, last, err := e.store.Head(e.ctx, "agency/a")
					if err != nil {
						e.Errorf("head: %v", err)
						return
					}
					got, err := e.store.Events(e.ctx, "agency/a", 0, 0)
					if err != nil || uint64(len(got)) < last {
						e.Errorf("%d events after a head of %d: %v", len(got), last, err)
						return
					}
				}
			})
		}
		for range 100 {
			w.write(2, nil)
		}
		close(stop)
		wg.Wait()
		e.events("agency/a", 1, 200)
	}},
}
