package kernel

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"parley/persistence"
)

// No call may be lost when its actor goes to sleep under it.
func TestCallsMeetSleepingActors(t *testing.T) {
	const callers, each, actors = 8, 300, 3
	h := newHouse(t)
	end := make(chan struct{})
	var sweeper, work sync.WaitGroup
	sweeper.Add(1)
	go func() {
		defer sweeper.Done()
		for {
			select {
			case <-end:
				return
			default:
				h.dir.sweep(1<<63 - 1)
				time.Sleep(200 * time.Microsecond)
			}
		}
	}()
	var slept atomic.Int64
	for c := range callers {
		work.Add(1)
		go func() {
			defer work.Done()
			for i := range each {
				id := fmt.Sprint((c + i) % actors)
				if !h.dir.Resident(ref(id)) {
					slept.Add(1)
				}
				if _, err := ask[int64](h, id, add{fmt.Sprintf("%d/%d", c, i)}); err != nil {
					t.Errorf("add: %v", err)
				}
			}
		}()
	}
	work.Wait()
	close(end)
	sweeper.Wait()
	if slept.Load() == 0 {
		t.Error("no actor ever slept")
	}
	total := 0
	for a := range actors {
		for id, n := range must[ledgerState](h, fmt.Sprint(a), get{}).Seen {
			if total++; n != 1 {
				t.Errorf("%s was added %d times", id, n)
			}
		}
	}
	if total != callers*each {
		t.Errorf("%d of %d were added", total, callers*each)
	}
}

// An actor that works on something does not fall asleep over it.
func TestSleepWaitsForOpenCommands(t *testing.T) {
	h := newHouse(t)
	until := make(chan struct{})
	var got answers
	got.call(h.dir, ref("a"), parked{until})
	got.call(h.dir, ref("a"), parked{until})
	must[ledgerState](h, "a", get{})
	for range 10 {
		h.dir.sweep(1<<63 - 1)
		must[ledgerState](h, "a", get{})
	}
	close(until)
	got.wait(t)
	for _, err := range got.errs {
		if err != nil {
			t.Errorf("a command that was being worked on: %v", err)
		}
	}
	h.rules.busy.Store(true)
	h.dir.sweep(1<<63 - 1)
	must[ledgerState](h, "a", get{})
	if !h.dir.Resident(ref("a")) {
		t.Error("a busy actor went to sleep")
	}
	h.rules.busy.Store(false)
	eventually(t, "sleep", func() bool { h.dir.sweep(1<<63 - 1); return h.dir.Awake() == 0 })
}

func TestSweepTakesOnlyIdleActors(t *testing.T) {
	h := newHouse(t)
	must[int64](h, "old", add{"1"})
	h.now.Add(idleAfter.Milliseconds())
	must[int64](h, "new", add{"1"})
	h.dir.sweep(h.clock().Add(-idleAfter / 2).UnixNano())
	eventually(t, "sleep of the idle one", func() bool { return !h.dir.Resident(ref("old")) })
	if !h.dir.Resident(ref("new")) {
		t.Error("an actor in use was put to sleep")
	}
	if h.dir.TellResident(ref("old"), Sweep{}) || h.dir.Resident(ref("old")) {
		t.Error("TellResident woke an actor")
	}
}

func TestSleepWritesASnapshot(t *testing.T) {
	h := newHouse(t)
	for i := range 7 {
		must[int64](h, "a", add{fmt.Sprint(i)})
	}
	h.dir.sweep(1<<63 - 1)
	eventually(t, "sleep", func() bool { return h.dir.Awake() == 0 })
	lease, err := h.engine.Acquire(context.Background(), "ledger/a", 0)
	if err != nil || lease.Snapshot == nil || lease.Snapshot.Seq != 7 || lease.Last != 7 {
		t.Fatalf("after sleep: %+v, %v", lease, err)
	}
	if s := must[ledgerState](h, "a", get{}); s.Sum != 7 || s.LastAt == 0 {
		t.Errorf("woken: %+v", s)
	}
	appends := h.faults.Appends()
	h.dir.sweep(1<<63 - 1)
	eventually(t, "sleep", func() bool { return h.dir.Awake() == 0 })
	if n := h.faults.Appends(); n != appends {
		t.Errorf("an actor that changed nothing wrote %d batches on its way to sleep", n-appends)
	}
}

func TestCloseDrains(t *testing.T) {
	const calls = 500
	h := newHouse(t)
	var got answers
	for i := range calls {
		got.call(h.dir, ref(fmt.Sprint(i%10)), add{fmt.Sprint(i)})
	}
	h.stop()
	got.wait(t)
	for _, err := range got.errs {
		if err != nil {
			t.Fatalf("a call accepted before Close: %v", err)
		}
	}
	h.start()
	sum := int64(0)
	for i := range 10 {
		sum += must[ledgerState](h, fmt.Sprint(i), get{}).Sum
	}
	if sum != calls {
		t.Errorf("%d of %d are stored", sum, calls)
	}
}

func TestAskEnds(t *testing.T) {
	h := newHouse(t)
	until := make(chan struct{})
	defer close(until)
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Millisecond)
	defer cancel()
	_, err := Ask[Done](ctx, h.dir, ref("a"), parked{until})
	wants(t, "deadline of the caller", err, CodeUnavailable)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the cause is not kept: %v", err)
	}
	if _, err = Ask[string](context.Background(), h.dir, ref("b"), get{}); err == nil || AsError(err).Code != CodeInternal {
		t.Errorf("an answer of another type: %v", err)
	}
	if _, err = Ask[string](context.Background(), h.dir, ref("b"), 3); err == nil {
		t.Error("an unknown command was answered")
	}
}

func TestAsError(t *testing.T) {
	for _, c := range []struct {
		err  error
		code Code
	}{
		{Invalid("x"), CodeInvalid}, {fmt.Errorf("wrapped: %w", NotFound("x")), CodeNotFound}, {Forbidden("x"), CodeForbidden},
		{fmt.Errorf("a: %w", persistence.ErrTooLarge), CodeTooLarge}, {persistence.ErrUnavailable, CodeUnavailable},
		{persistence.ErrClosed, CodeUnavailable}, {persistence.ErrFenced, CodeUnavailable}, {&persistence.ConflictError{}, CodeUnavailable},
		{errStopped, CodeUnavailable}, {errors.New("x"), CodeInternal}, {persistence.ErrDamaged, CodeInternal},
	} {
		if e := AsError(c.err); e.Code != c.code || !errors.Is(e, c.err) && errors.Unwrap(c.err) == nil {
			t.Errorf("%v: code %d, want %d; cause %v", c.err, e.Code, c.code, e.Unwrap())
		}
	}
	if AsError(nil) != nil {
		t.Error("nil became an error")
	}
	if e := AsError(fmt.Errorf("secret: %w", persistence.ErrUnavailable)); e.Message != ErrUnavailable.Message {
		t.Errorf("the caller is told %q", e.Message)
	}
}

func TestPoolRefusesAndDrains(t *testing.T) {
	p := newPool()
	hold := make(chan struct{})
	var ran atomic.Int64
	for range poolWorkers + poolQueue {
		for !p.run(func() { <-hold; ran.Add(1) }) {
			time.Sleep(time.Millisecond) // a worker has not taken its first piece yet
		}
	}
	eventually(t, "a full pool", func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return len(p.queue) == poolQueue
	})
	if p.run(func() {}) {
		t.Error("a read over the limit was taken")
	}
	close(hold)
	p.close()
	if ran.Load() != poolWorkers+poolQueue {
		t.Errorf("%d reads ran, want %d", ran.Load(), poolWorkers+poolQueue)
	}
	if p.run(func() {}) {
		t.Error("a closed pool took a read")
	}
}

// Asking for what does not exist fills no memory, however many ids are asked for.
func TestAbsentActorsAreFew(t *testing.T) {
	h := newHouse(t)
	for i := range 3 * maxAbsent {
		if s := must[ledgerState](h, fmt.Sprint("nobody-", i), get{}); s.Sum != 0 {
			t.Fatalf("%d: %+v", i, s)
		}
	}
	eventually(t, "those over the limit to go", func() bool { return h.dir.Awake() <= maxAbsent })
	if n := must[int64](h, "nobody-0", add{"1"}); n != 1 {
		t.Errorf("sum of one that exists now: %d", n)
	}
	h.dir.sweep(1<<63 - 1)
	eventually(t, "all to sleep", func() bool { return h.dir.Awake() == 0 })
	if n := h.sys.absent.Load(); n != 0 {
		t.Errorf("%d absent actors are counted, none is awake", n)
	}
	if n := must[int64](h, "nobody-0", add{"2"}); n != 2 {
		t.Errorf("sum after the sleep: %d", n)
	}
}
