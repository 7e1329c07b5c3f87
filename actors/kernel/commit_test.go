package kernel

import (
	"context"
	"fmt"
	"testing"
	"time"

	"parley/persistence"
	"parley/persistence/storetest"
)

// stall holds the first append until the returned function is called, so that what follows gathers behind it.
func stall(h *house) (release func()) {
	h.t.Helper()
	must[int64](h, "first", add{"warm"})
	h.faults.Script(storetest.Stall)
	var got answers
	got.call(h.dir, ref("first"), add{"stalled"})
	eventually(h.t, "a stalled append", func() bool { return h.faults.Stalled() == 1 })
	return func() {
		h.faults.Release()
		got.wait(h.t)
	}
}

func TestCommitterJoinsBatches(t *testing.T) {
	const actors, each = 20, 40
	h := newHouse(t)
	for a := range actors {
		must[ledgerState](h, fmt.Sprint(a), get{})
	}
	release := stall(h)
	before := h.faults.Appends()
	var got answers
	for i := range each {
		for a := range actors {
			got.call(h.dir, ref(fmt.Sprint(a)), add{fmt.Sprint(i)})
		}
	}
	eventually(t, "all batches in line", func() bool {
		h.sys.committer.mu.Lock()
		defer h.sys.committer.mu.Unlock()
		return len(h.sys.committer.queue) == actors*each
	})
	release()
	got.wait(t)
	if n := h.faults.Appends() - before; n != 1 {
		t.Errorf("%d batches took %d round trips, want 1", actors*each, n)
	}
	for i, v := range got.values {
		if v != int64(each) { // answers are released when all is durable: they show the state of then
			t.Fatalf("answer %d: %v", i, v)
		}
	}
	events, err := h.engine.Events(context.Background(), "ledger/7", 0, each)
	if err != nil || len(events) != each {
		t.Fatal(len(events), err)
	}
	for i, ev := range events {
		if want := addEvent(fmt.Sprint(i)); string(ev.Data) != string(want.Data) || ev.Seq != uint64(i+1) {
			t.Fatalf("event %d is %s", ev.Seq, ev.Data)
		}
	}
}

func TestTakeLimitsARoundTrip(t *testing.T) {
	c := &Committer{}
	for range commitBatches + 5 {
		c.queue = append(c.queue, submission{size: 1})
		c.bytes++
	}
	if work, ok := c.take(); !ok || len(work) != commitBatches || c.bytes != 5 {
		t.Errorf("took %d, %d bytes left", len(work), c.bytes)
	}
	c.queue = []submission{{size: 2 * commitBytes}, {size: commitBytes - 1}, {size: 1}, {size: 1}}
	for i, want := range []int{1, 2, 1} {
		if work, _ := c.take(); len(work) != want {
			t.Errorf("round %d took %d, want %d", i, len(work), want)
		}
	}
	c.closed = true
	if _, ok := c.take(); ok {
		t.Error("took from an empty closed committer")
	}
}

// A taken name fails its own command; what was decided on top of it is decided again, and others do not notice.
func TestTakenFailsOnlyItself(t *testing.T) {
	h := newHouse(t)
	must[Done](h, "holder", take{"ann"})
	must[ledgerState](h, "a", get{})
	must[ledgerState](h, "b", get{})
	release := stall(h)
	var a, b answers
	a.call(h.dir, ref("a"), add{"1"})
	a.call(h.dir, ref("a"), take{"ann"})
	a.call(h.dir, ref("a"), add{"2"})
	a.call(h.dir, ref("a"), get{})
	a.call(h.dir, ref("a"), take{"bob"})
	b.call(h.dir, ref("b"), add{"1"})
	b.call(h.dir, ref("b"), take{"cat"})
	eventually(t, "all batches in line", func() bool {
		h.sys.committer.mu.Lock()
		defer h.sys.committer.mu.Unlock()
		return len(h.sys.committer.queue) == 6
	})
	release()
	a.wait(t)
	b.wait(t)
	wants(t, "a taken name", a.errs[1], CodeTaken)
	for _, i := range []int{0, 2, 3, 4} {
		if a.errs[i] != nil {
			t.Errorf("command %d beside a taken name: %v", i, a.errs[i])
		}
	}
	if s, ok := a.values[3].(ledgerState); !ok || s.Sum != 2 || len(s.Names) != 0 {
		t.Errorf("a reader behind the refusal saw %+v", a.values[3])
	}
	for i, err := range b.errs {
		if err != nil {
			t.Errorf("command %d of another actor: %v", i, err)
		}
	}
	s := must[ledgerState](h, "a", get{})
	if s.Sum != 2 || fmt.Sprint(s.Names) != "[bob]" || s.Seen["1"] != 1 || s.Seen["2"] != 1 {
		t.Errorf("state: %+v", s)
	}
	if c, err := h.engine.Claim(context.Background(), "name", "ann"); err != nil || c.Owner != "holder" {
		t.Errorf("the name went to %+v, %v", c, err)
	}
}

func TestTooLargeFailsOnlyItself(t *testing.T) {
	h := newHouse(t)
	must[int64](h, "a", add{"1"})
	_, err := ask[Done](h, "a", huge{})
	wants(t, "huge", err, CodeTooLarge)
	if n := must[int64](h, "a", add{"2"}); n != 2 {
		t.Errorf("sum %d", n)
	}
}

// When the outcome is unknown everybody is told so, and the state is what is stored.
func TestLostOutcomes(t *testing.T) {
	for _, c := range []struct {
		name  string
		fault storetest.Fault
		sum   int64 // after one add before it
	}{
		{"reply lost", storetest.LoseReply, 2},
		{"not applied", storetest.FailBefore, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHouse(t)
			must[int64](h, "a", add{"before"})
			h.faults.Script(c.fault)
			_, err := ask[int64](h, "a", add{"lost"})
			wants(t, "lost", err, CodeUnavailable)
			if s := must[ledgerState](h, "a", get{}); s.Sum != c.sum || s.Seen["lost"] != c.sum-1 {
				t.Errorf("state: %+v", s)
			}
			if n := must[int64](h, "a", add{"after"}); n != c.sum+1 {
				t.Errorf("sum after it: %d", n)
			}
			counters, err := h.engine.Counters(context.Background())
			if err != nil || counters["adds"] != c.sum+1 {
				t.Errorf("counted %d, %v", counters["adds"], err)
			}
		})
	}
}

func TestFailedAppendDropsSpeculation(t *testing.T) {
	h := newHouse(t)
	must[int64](h, "a", add{"0"})
	release := stall(h)
	h.faults.Script(storetest.FailBefore)
	var got answers
	for i := range 20 {
		got.call(h.dir, ref("a"), add{fmt.Sprint("x", i)})
		got.call(h.dir, ref("a"), get{})
	}
	eventually(t, "all batches in line", func() bool {
		h.sys.committer.mu.Lock()
		defer h.sys.committer.mu.Unlock()
		return len(h.sys.committer.queue) == 20
	})
	release()
	got.wait(t)
	for i, err := range got.errs {
		wants(t, fmt.Sprint("command ", i), err, CodeUnavailable)
	}
	if s := must[ledgerState](h, "a", get{}); s.Sum != 1 || len(s.Seen) != 1 {
		t.Errorf("state: %+v", s)
	}
}

func TestFencedOwnerReloads(t *testing.T) {
	h := newHouse(t)
	must[int64](h, "a", add{"1"})
	lease, err := h.engine.Acquire(context.Background(), "ledger/a", 0)
	if err != nil {
		t.Fatal(err)
	}
	other := addEvent("other")
	other.Seq, other.At = lease.Last+1, h.now.Load()+10
	if err := h.engine.Append(context.Background(), []*persistence.Batch{{Stream: "ledger/a", Epoch: lease.Epoch, Expect: lease.Last,
		Events: []persistence.Event{other}}})[0]; err != nil {
		t.Fatal(err)
	}
	_, err = ask[int64](h, "a", add{"2"})
	wants(t, "a fenced owner", err, CodeUnavailable)
	if s := must[ledgerState](h, "a", get{}); s.Sum != 2 || s.Seen["other"] != 1 || s.Seen["2"] != 0 {
		t.Errorf("state: %+v", s)
	}
	if n := must[int64](h, "a", add{"3"}); n != 3 {
		t.Errorf("sum: %d", n)
	}
}

// A store that does not answer costs calls, not memory.
func TestStalledStoreRefusesCalls(t *testing.T) {
	const actors = 4
	h := newHouse(t)
	for a := range actors {
		must[ledgerState](h, fmt.Sprint(a), get{})
	}
	release := stall(h)
	var got answers
	for i := 0; h.sys.committer.room(); i++ {
		if id := fmt.Sprint(i % actors); queued(h, id) < MailboxLimit/2 {
			got.call(h.dir, ref(id), add{"x"})
		}
		if i > 50*commitQueue {
			t.Fatal("the committer never fills")
		}
	}
	var more answers
	eventually(t, "an empty mailbox", func() bool {
		more.call(h.dir, ref("0"), get{})
		time.Sleep(time.Millisecond)
		return more.left() == 0
	})
	for _, err := range more.errs {
		wants(t, "a call at a stalled store", err, CodeOverloaded)
	}
	for a := range actors { // what is in a mailbox now must not find room later
		eventually(t, "an empty mailbox", func() bool { return queued(h, fmt.Sprint(a)) == 0 })
	}
	h.sys.committer.mu.Lock()
	waiting := len(h.sys.committer.queue)
	h.sys.committer.mu.Unlock()
	if waiting > commitQueue+actors {
		t.Errorf("%d batches wait, the limit is %d", waiting, commitQueue)
	}
	release()
	got.wait(t)
	good := int64(0)
	for _, err := range got.errs {
		if err == nil {
			good++
			continue
		}
		wants(t, "refused", err, CodeOverloaded)
	}
	sum := int64(0)
	for a := range actors {
		sum += must[ledgerState](h, fmt.Sprint(a), get{}).Sum
	}
	if good != sum || int(good) < waiting || good > commitQueue+actors {
		t.Errorf("%d confirmed, %d stored, %d had waited", good, sum, waiting)
	}
}

// One actor does not take up more than it may, whatever it waits for.
func TestOpenCommandsAreBounded(t *testing.T) {
	h := newHouse(t)
	until := make(chan struct{})
	var got answers
	must[ledgerState](h, "a", get{})
	refused := func() (n int) {
		got.mu.Lock()
		defer got.mu.Unlock()
		for _, err := range got.errs {
			if err != nil {
				n++
			}
		}
		return n
	}
	for i := range openLimit + 100 {
		got.call(h.dir, ref("a"), parked{until})
		if i%1000 == 0 { // do not outrun the mailbox
			eventually(t, "an empty mailbox", func() bool { return got.left() == i+1 })
			must[ledgerState](h, "b", get{})
			eventually(t, "an empty mailbox", func() bool { return queued(h, "a") == 0 })
		}
	}
	eventually(t, "refusals", func() bool { return refused() == 100 })
	close(until)
	got.wait(t)
	if n := refused(); n != 100 {
		t.Errorf("%d were refused", n)
	}
}

func queued(h *house, id string) int {
	sh := h.dir.shard(ref(id))
	sh.Lock()
	p := sh.actors[ref(id)].process
	sh.Unlock()
	return p.box.UserMessageCount()
}
