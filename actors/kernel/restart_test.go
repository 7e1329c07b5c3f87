package kernel

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"parley/persistence"
	"parley/persistence/storetest"
)

// Times grow within a stream, whatever the clock does, also across restarts.
func TestTimesGrow(t *testing.T) {
	h := newHouse(t)
	for round := range 4 {
		for i := range 10 {
			must[int64](h, "a", add{fmt.Sprint(round, i)})
			h.now.Add(int64([]int{0, -5, 3, 1000}[i%4]))
		}
		must[Done](h, "a", many{5})
		h.now.Add(-1_000_000) // the clock is set back while the server is down
		if round%2 == 0 {
			h.stop()
			h.start()
		} else {
			h.crash()
		}
	}
	must[int64](h, "a", add{"last"})
	events, err := h.engine.Events(context.Background(), "ledger/a", 0, 1000)
	if err != nil || len(events) != 4*15+1 {
		t.Fatal(len(events), err)
	}
	for i := 1; i < len(events); i++ {
		if events[i].At <= events[i-1].At || events[i].Seq != events[i-1].Seq+1 {
			t.Fatalf("event %d at %d follows %d at %d", events[i].Seq, events[i].At, events[i-1].Seq, events[i-1].At)
		}
	}
}

// Asking for what does not exist leaves nothing in the store.
func TestAbsentLeavesNoTrace(t *testing.T) {
	h := newHouse(t)
	for i := range 20 {
		if s := must[ledgerState](h, fmt.Sprint("none", i), get{}); s.Sum != 0 {
			t.Errorf("%+v", s)
		}
		_, err := ask[Done](h, fmt.Sprint("none", i), boom{})
		wants(t, "boom", err, CodeInternal)
	}
	h.dir.sweep(1<<63 - 1)
	eventually(t, "sleep", func() bool { h.dir.sweep(1<<63 - 1); return h.dir.Awake() == 0 })
	streams, err := h.engine.Streams(context.Background(), "", "", 10)
	if err != nil || len(streams) != 0 || h.faults.Appends() != 0 {
		t.Errorf("streams %v, %v, %d appends", streams, err, h.faults.Appends())
	}
	until := make(chan struct{})
	var got answers
	got.call(h.dir, ref("none1"), parked{until})
	must[ledgerState](h, "none1", get{})
	if n := must[int64](h, "none1", add{"1"}); n != 1 {
		t.Errorf("sum %d", n)
	}
	close(until)
	got.wait(t)
	for _, id := range []string{"", "a/b", "a\x00", strings.Repeat("x", 129)} {
		_, err := ask[ledgerState](h, id, get{})
		wants(t, fmt.Sprintf("%.9q", id), err, CodeNotFound)
	}
	if n := h.dir.Awake(); n != 1 {
		t.Errorf("%d actors are awake for ids that nobody can have", n-1)
	}
}

func TestSnapshotsRideAlong(t *testing.T) {
	h := newHouse(t)
	for i := range snapshotEvery + 3 {
		must[int64](h, "a", add{fmt.Sprint(i)})
	}
	lease, err := h.engine.Acquire(context.Background(), "ledger/a", 0)
	if err != nil || lease.Snapshot == nil || lease.Snapshot.Seq != snapshotEvery {
		t.Fatalf("%+v, %v", lease.Snapshot, err)
	}
	h.crash()
	if s := must[ledgerState](h, "a", get{}); s.Sum != snapshotEvery+3 {
		t.Errorf("snapshot and replay: %d", s.Sum)
	}
}

// An actor whose snapshot or log cannot be read refuses its callers, and does not begin anew as if it had never been.
func TestDamageIsNotForgotten(t *testing.T) {
	for _, c := range []struct {
		name  string
		batch func(b *persistence.Batch)
	}{
		{"snapshot of another version", func(b *persistence.Batch) {
			b.Snapshot = &persistence.Snapshot{Seq: 1, Version: 8, Data: make([]byte, snapshotHeader+2)}
		}},
		{"short snapshot", func(b *persistence.Batch) { b.Snapshot = &persistence.Snapshot{Seq: 1, Version: 7, Data: []byte("x")} }},
		{"event that does not apply", func(b *persistence.Batch) { b.Events = []persistence.Event{{Seq: 2, At: 1, Kind: "add"}} }},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHouse(t)
			must[int64](h, "a", add{"1"})
			lease, err := h.engine.Acquire(context.Background(), "ledger/a", 0)
			if err != nil {
				t.Fatal(err)
			}
			b := &persistence.Batch{Stream: "ledger/a", Epoch: lease.Epoch, Expect: 1}
			c.batch(b)
			if err := h.engine.Append(context.Background(), []*persistence.Batch{b})[0]; err != nil {
				t.Fatal(err)
			}
			_, _ = ask[int64](h, "a", add{"fenced"})
			_, err = ask[int64](h, "a", add{"2"})
			if err == nil {
				t.Error("an actor that cannot be read took a command")
			}
		})
	}
}

func TestTrimRules(t *testing.T) {
	for _, c := range []struct {
		name  string
		keep  uint64
		age   time.Duration
		first uint64
	}{
		{"by number", 5, -time.Hour, snapshotEvery - 5 + 1},
		{"too young", 5, time.Hour, 1},
		{"too few", snapshotEvery, -time.Hour, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHouse(t)
			h.rules.keep, h.rules.age = c.keep, c.age
			for range snapshotEvery / 100 {
				must[Done](h, "a", many{100})
				h.now.Add(1000)
			}
			must[Done](h, "a", many{3})
			head := func() uint64 {
				first, _, err := h.engine.Head(context.Background(), "ledger/a")
				if err != nil {
					t.Fatal(err)
				}
				return first
			}
			eventually(t, "trimming", func() bool { return head() == c.first })
			h.stop()
			h.start()
			if got := head(); got != c.first {
				t.Errorf("the log begins at %d, want %d", got, c.first)
			}
			if s := must[ledgerState](h, "a", get{}); s.Sum != snapshotEvery+3 {
				t.Errorf("state after trimming: %d", s.Sum)
			}
		})
	}
}

// modelRounds is the number of lives of the model test; PARLEY_MODEL_ROUNDS makes it run longer.
func modelRounds(t *testing.T) int {
	n, err := strconv.Atoi(os.Getenv("PARLEY_MODEL_ROUNDS"))
	if err != nil {
		n = 12
	}
	t.Log(n, "rounds")
	return n
}

// Random commands against a store that fails at random, on servers that are ended and killed at random: what was
// confirmed is there once, what was refused is not, and what is unknown is there at most once.
func TestModel(t *testing.T) {
	const actors = 4
	h := newHouse(t)
	sent := make([]map[string]error, actors)
	for a := range sent {
		sent[a] = map[string]error{}
	}
	for round := range modelRounds(t) {
		var got answers
		var who []int
		var ids []string
		for i := range 300 {
			a := rand.IntN(actors)
			id := fmt.Sprint(round, "-", i)
			switch rand.IntN(60) {
			case 0:
				h.faults.Script(storetest.Fault(1 + rand.IntN(2)))
			case 1:
				h.dir.Tell(ref(fmt.Sprint(a)), Sweep{})
			case 2:
				h.dir.Call(ref(fmt.Sprint(a)), boom{}, func(any, error) {})
			case 3:
				time.Sleep(time.Millisecond)
			}
			got.call(h.dir, ref(fmt.Sprint(a)), add{id})
			who, ids = append(who, a), append(ids, id)
		}
		if round%2 == 0 {
			time.Sleep(time.Duration(rand.IntN(10)) * time.Millisecond)
			h.crash()
		} else {
			h.stop()
			h.start()
		}
		got.wait(t)
		for i, err := range got.errs {
			sent[who[i]][ids[i]] = err
		}
		for a := range actors {
			checkModel(t, h, fmt.Sprint(a), sent[a])
		}
		if t.Failed() {
			t.FailNow()
		}
	}
}

func checkModel(t *testing.T, h *house, id string, sent map[string]error) {
	t.Helper()
	s := must[ledgerState](h, id, get{})
	for cmd, err := range sent {
		switch n := s.Seen[cmd]; {
		case err == nil && n != 1:
			t.Errorf("actor %s: %s was confirmed and is there %d times", id, cmd, n)
		case err != nil && AsError(err).Code == CodeOverloaded && n != 0:
			t.Errorf("actor %s: %s was refused and is there", id, cmd)
		case n > 1:
			t.Errorf("actor %s: %s is there %d times", id, cmd, n)
		}
	}
	replay := &ledger{}
	for from := uint64(0); ; {
		page, err := h.engine.Events(context.Background(), "ledger/"+id, from, 1000)
		if err != nil {
			t.Fatal(err)
		}
		if len(page) == 0 {
			break
		}
		for i := range page {
			if err := replay.Apply(&page[i]); err != nil {
				t.Fatal(err)
			}
			from = page[i].Seq
		}
	}
	a, _ := json.Marshal(replay.s)
	b, _ := json.Marshal(s)
	if !reflect.DeepEqual(a, b) {
		t.Errorf("actor %s: the log leads to\n%s\nthe actor is at\n%s", id, a, b)
	}
}
