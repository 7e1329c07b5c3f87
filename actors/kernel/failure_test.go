package kernel

import (
	"fmt"
	"testing"
)

func TestPanicReachesItsCallerAlone(t *testing.T) {
	h := newHouse(t)
	must[int64](h, "a", add{"1"})
	must[int64](h, "b", add{"1"})
	for _, c := range []struct {
		name    string
		command any
		sum     int64
	}{
		{"in a command", boom{}, 1},
		{"after a read", boomRead{}, 1},
		{"in an output", boomRelease{}, 1},
	} {
		_, err := ask[Done](h, "a", c.command)
		wants(t, c.name, err, CodeInternal)
		s := must[ledgerState](h, "a", get{})
		if s.Sum != c.sum {
			t.Errorf("%s: rebuilt with %+v", c.name, s)
		}
	}
	if s := must[ledgerState](h, "b", get{}); s.Sum != 1 {
		t.Errorf("another actor noticed: %+v", s)
	}
	if n := must[int64](h, "a", add{"2"}); n != 2 {
		t.Errorf("sum after failures: %d", n)
	}
}

// Commands that wait while an actor wakes must not be lost when one of them panics.
func TestPanicAmongThoseWhoWait(t *testing.T) {
	h := newHouse(t)
	var got answers
	for i := range 30 {
		if i%10 == 5 {
			got.call(h.dir, ref("a"), boom{})
			continue
		}
		got.call(h.dir, ref("a"), add{fmt.Sprint(i)})
	}
	got.wait(t)
	good, unknown := 0, 0
	for i, err := range got.errs {
		switch {
		case i%10 == 5:
			wants(t, "the one that panics", err, CodeInternal)
		case err == nil:
			good++
		default:
			wants(t, "one that was being committed", err, CodeUnavailable)
			unknown++
		}
	}
	s := must[ledgerState](h, "a", get{})
	if len(s.Seen) < good || len(s.Seen) > good+unknown {
		t.Errorf("%d confirmed, %d unknown, %d stored", good, unknown, len(s.Seen))
	}
	for i, err := range got.errs {
		if n := s.Seen[fmt.Sprint(i)]; n > 1 || i%10 != 5 && err == nil && n != 1 {
			t.Errorf("%d is there %d times, answered %v", i, n, err)
		}
	}
}

// Commands that wait for each other within an actor are answered when it is rebuilt under them.
func TestParkedCommandsAreAnswered(t *testing.T) {
	for _, c := range []struct {
		name  string
		spoil func(h *house)
	}{
		{"by a panic", func(h *house) {
			_, err := ask[Done](h, "a", boom{})
			wants(h.t, "boom", err, CodeInternal)
		}},
		{"by a refused commit", func(h *house) {
			h.engine.Acquire(h.t.Context(), "ledger/a", 0)
			_, err := ask[int64](h, "a", add{"x"})
			wants(h.t, "fenced", err, CodeUnavailable)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHouse(t)
			must[int64](h, "a", add{"0"})
			until := make(chan struct{})
			var got answers
			for range 5 {
				got.call(h.dir, ref("a"), parked{until})
			}
			must[ledgerState](h, "a", get{})
			c.spoil(h)
			got.wait(t) // before the read that they wait for is over
			for _, err := range got.errs {
				wants(t, "parked", err, CodeUnavailable)
			}
			close(until)
			if n := must[int64](h, "a", add{"y"}); n != 2 {
				t.Errorf("sum of the rebuilt actor: %d", n)
			}
		})
	}
}

func TestEleventhFailureStops(t *testing.T) {
	h := newHouse(t)
	must[int64](h, "a", add{"1"})
	process := func() *Process {
		sh := h.dir.shard(ref("a"))
		sh.Lock()
		defer sh.Unlock()
		if r := sh.actors[ref("a")]; r != nil {
			return r.process
		}
		return nil
	}
	first := process()
	for i := range maxRestarts {
		_, err := ask[Done](h, "a", boom{})
		wants(t, fmt.Sprint("failure ", i+1), err, CodeInternal)
	}
	if must[int64](h, "a", add{"2"}); process() != first {
		t.Fatal("the actor was stopped before its limit")
	}
	_, err := ask[Done](h, "a", boom{})
	wants(t, "one failure more", err, CodeInternal)
	eventually(t, "stop", func() bool { return process() != first })
	if n := must[int64](h, "a", add{"3"}); n != 3 {
		t.Errorf("sum of the new actor: %d", n)
	}
}

// A spawned actor is not rebuilt: it stops, is told why, and answers who waits.
func TestSpawnedActorStopsOnPanic(t *testing.T) {
	h := newHouse(t)
	f := &fragile{stopped: make(chan error, 1)}
	p := h.sys.Spawn(f)
	var got answers
	for range 10 {
		got.call(spawned{p}, Ref{}, boom{})
	}
	got.wait(t)
	if cause := <-f.stopped; cause == nil {
		t.Error("the actor was not told that it failed")
	}
	wants(t, "the one that panics", got.errs[0], CodeInternal)
	for _, err := range got.errs[1:] {
		wants(t, "behind it", err, CodeUnavailable)
	}
}

type fragile struct{ stopped chan error }

func (f *fragile) Start(*Process)      {}
func (f *fragile) Receive(any)         { panic("scripted") }
func (f *fragile) Stopped(cause error) { f.stopped <- cause }
