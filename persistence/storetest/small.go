package storetest

import (
	"fmt"
	"maps"
	"time"

	"parley/persistence"
)

func count(name string, delta int64) func(b *persistence.Batch) {
	return func(b *persistence.Batch) {
		b.Counters = append(b.Counters, persistence.CounterOp{Name: name, Delta: delta})
	}
}

func promise(id, data string) func(b *persistence.Batch) {
	return func(b *persistence.Batch) {
		b.Outbox = append(b.Outbox, persistence.OutboxOp{ID: id, Data: []byte(data)})
	}
}

func done(id string) func(b *persistence.Batch) {
	return func(b *persistence.Batch) {
		b.Outbox = append(b.Outbox, persistence.OutboxOp{ID: id, Done: true})
	}
}

// outbox checks the entries behind after; an entry's data is expected to be its id and a bang.
func outbox(e *env, after string, limit int, want ...string) {
	e.Helper()
	got, err := e.store.Outbox(e.ctx, after, limit)
	e.check(err)
	equal(e, "outbox entries", len(got), len(want))
	for i, entry := range got {
		equal(e, "outbox id", entry.ID, want[i])
		equal(e, "outbox data", string(entry.Data), want[i]+"!")
	}
}

func counters(e *env, want map[string]int64) {
	e.Helper()
	got, err := e.store.Counters(e.ctx)
	e.check(err)
	if !maps.Equal(got, want) {
		e.Fatalf("counters %v, want %v", got, want)
	}
}

var smallTests = []test{
	{"counters add up", func(e *env) {
		w := e.acquire("agency/a")
		counters(e, map[string]int64{})
		w.write(1, count("users", 2))
		w.write(1, both(count("users", 3), both(count("users", -1), count("agents", -7))))
		counters(e, map[string]int64{"users": 4, "agents": -7})
		e.reopen()
		counters(e, map[string]int64{"users": 4, "agents": -7})
	}},
	{"a failed batch counts nothing", func(e *env) {
		w := e.acquire("agency/a")
		w.write(1, count("users", 1))
		b := w.batch(1)
		b.Expect, b.Events[0].Seq = 9, 10
		count("users", 5)(b)
		e.wants(persistence.ErrConflict, w.try(b))
		counters(e, map[string]int64{"users": 1})
	}},
	{"the outbox is in order and forgets what is done", func(e *env) {
		w := e.acquire("agency/a")
		outbox(e, "", 0)
		for _, id := range []string{"b", "d", "a", "c"} {
			w.write(1, promise(id, id+"!"))
		}
		outbox(e, "", 0, "a", "b", "c", "d")
		outbox(e, "", 3, "a", "b", "c")
		outbox(e, "b", 1, "c")
		outbox(e, "bb", 0, "c", "d")
		outbox(e, "d", 0)
		w.write(1, both(done("b"), done("unknown")))
		w.write(0, both(promise("e", "e!"), done("e")))
		e.reopen()
		outbox(e, "", 0, "a", "c", "d")
	}},
}

func snapshot(seq uint64) func(b *persistence.Batch) {
	return func(b *persistence.Batch) {
		b.Snapshot = &persistence.Snapshot{Seq: seq, Version: 1, Data: fmt.Appendf(nil, "state %d", seq)}
	}
}

// trims checks how many events a trim drops.
func trims(e *env, stream string, upTo uint64, before time.Time, want int) {
	e.Helper()
	n, err := e.store.Trim(e.ctx, stream, upTo, before)
	e.check(err)
	equal(e, "dropped events", n, want)
}

var trimTests = []test{
	{"never without a snapshot", func(e *env) {
		w := e.acquire("agency/a")
		trims(e, "agency/none", 10, time.Time{}, 0)
		trims(e, "agency/a", 10, time.Time{}, 0)
		w.write(5, nil)
		trims(e, "agency/a", 5, time.Time{}, 0)
		e.events("agency/a", 1, 5)
	}},
	{"only what the snapshot covers", func(e *env) {
		w := e.acquire("agency/a")
		w.write(10, snapshot(6))
		trims(e, "agency/a", 9, time.Time{}, 6)
		e.events("agency/a", 7, 10)
		e.head("agency/a", 7, 10)
		trims(e, "agency/a", 9, time.Time{}, 0)
		w.write(1, snapshot(11))
		e.events("agency/a", 7, 11)
	}},
	{"only up to", func(e *env) {
		w := e.acquire("agency/a")
		w.write(10, snapshot(10))
		trims(e, "agency/a", 0, time.Time{}, 0)
		trims(e, "agency/a", 4, time.Time{}, 4)
		trims(e, "agency/a", 3, time.Time{}, 0)
		e.events("agency/a", 5, 10)
		got, err := e.store.Events(e.ctx, "agency/a", 2, 3)
		e.check(err)
		equal(e, "first kept", got[0].Seq, 5)
	}},
	{"only older ones", func(e *env) {
		w := e.acquire("agency/a")
		w.write(10, snapshot(10)) // event n is of second n
		trims(e, "agency/a", 10, time.Unix(1, 0), 0)
		trims(e, "agency/a", 10, time.Unix(4, 0), 3)
		e.events("agency/a", 4, 10)
	}},
	{"never leaves a hole", func(e *env) {
		w := e.acquire("agency/a")
		b := w.batch(3)
		b.Events[0].At, b.Events[1].At, b.Events[2].At = 1000, 9000, 1000 // a clock that was set back
		snapshot(3)(b)
		e.check(w.try(b))
		trims(e, "agency/a", 3, time.Unix(5, 0), 1)
		e.head("agency/a", 2, 3)
	}},
	{"everything", func(e *env) {
		w := e.acquire("agency/a")
		w.write(5, snapshot(5))
		w2 := e.acquire("agency/b")
		w2.write(5, snapshot(5))
		trims(e, "agency/a", ^uint64(0), time.Time{}, 5)
		e.events("agency/a", 6, 5)
		e.head("agency/a", 6, 5)
		e.reopen()
		e.head("agency/a", 6, 5)
		w = e.acquire("agency/a")
		equal(e, "last", w.last, 5)
		w.write(2, nil)
		e.events("agency/a", 6, 7)
		e.events("agency/b", 1, 5)
	}},
	{"a long log", func(e *env) {
		const events = 5000
		w := e.acquire("agency/a")
		for w.last < events {
			w.write(1000, nil)
		}
		w.write(0, snapshot(events))
		trims(e, "agency/a", events-10, time.Time{}, events-10)
		e.events("agency/a", events-9, events)
	}},
	{"a snapshot must reach the log", func(e *env) {
		w := e.acquire("agency/a")
		w.write(5, snapshot(5))
		trims(e, "agency/a", 4, time.Time{}, 4)
		e.wants(persistence.ErrInvalid, w.put(1, snapshot(3)))
		w.write(1, snapshot(4))
	}},
}
