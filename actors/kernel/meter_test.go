package kernel

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"parley/persistence/storetest"
)

// gaugings is a Meter that remembers.
type gaugings struct {
	mu         sync.Mutex
	trips      int
	batches    int
	refused    int
	took       time.Duration
	overloaded map[Kind]int
	failed     int
	deepest    int
	queued     int
}

func (g *gaugings) Queued(calls int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.queued++
	g.deepest = max(g.deepest, calls)
}

func (g *gaugings) Committed(batches, refused int, took time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.trips++
	g.batches += batches
	g.refused += refused
	g.took += took
}

func (g *gaugings) Overloaded(k Kind) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.overloaded[k]++
}

func (g *gaugings) Failed() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.failed++
}

func (g *gaugings) FannedOut(int, int)       {}
func (g *gaugings) FanOutTook(time.Duration) {}

func metered(t *testing.T) (*house, *gaugings) {
	t.Helper()
	g := &gaugings{overloaded: map[Kind]int{}}
	h := newHouse(t)
	h.stop()
	h.meter = g
	h.start()
	return h, g
}

func TestMeterHearsOfQueues(t *testing.T) {
	const calls = 50
	h, g := metered(t)
	must[int64](h, "a", add{"0"})
	box := h.dir.shard(ref("a")).actors[ref("a")].process.box
	box.PostSystemMessage(&actor.SuspendMailbox{})
	eventually(t, "the mailbox to stand still", func() bool {
		box.mu.Lock()
		defer box.mu.Unlock()
		return box.suspended
	})
	var got answers
	for i := range calls {
		got.call(h.dir, ref("a"), add{fmt.Sprint(i + 1)})
	}
	box.PostSystemMessage(&actor.ResumeMailbox{})
	got.wait(t)
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.queued != calls+1 || g.deepest != calls-1 {
		t.Errorf("%d calls, the deepest behind %d", g.queued, g.deepest)
	}
}

func TestMeterHearsOfCommits(t *testing.T) {
	h, g := metered(t)
	for i := range 5 {
		must[int64](h, "a", add{fmt.Sprint(i)})
	}
	must[Done](h, "a", take{"x"})
	if _, err := ask[Done](h, "b", take{"x"}); err == nil {
		t.Fatal("a claim was given twice")
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.batches != 7 || g.refused != 1 || g.trips == 0 || g.trips > g.batches || g.took <= 0 {
		t.Errorf("heard of %d batches, %d refused, in %d round trips of %s", g.batches, g.refused, g.trips, g.took)
	}
	if g.failed != 0 || len(g.overloaded) != 0 {
		t.Errorf("heard of %d failures and overloads %v", g.failed, g.overloaded)
	}
}

func TestMeterHearsOfFailures(t *testing.T) {
	h, g := metered(t)
	must[int64](h, "a", add{"1"})
	for range 3 {
		if _, err := ask[Done](h, "a", boom{}); err == nil {
			t.Fatal("a panic is no error")
		}
	}
	eventually(t, "three failures", func() bool {
		g.mu.Lock()
		defer g.mu.Unlock()
		return g.failed == 3
	})
}

// sleeper is a blocker in a directory.
type sleeper struct {
	*blocker
	process *Process
}

func (s *sleeper) Start(p *Process) { s.process = p }

func (s *sleeper) Receive(msg any) {
	if _, ok := msg.(Sweep); ok {
		s.process.Stop()
		return
	}
	s.blocker.Receive(msg)
}

// TestQueuesUnderAStall looks at what gathers while the store does not answer, and at the calls that are refused.
func TestQueuesUnderAStall(t *testing.T) {
	const waiting, over = 300, 7
	h, g := metered(t)
	must[int64](h, "first", add{"warm"})
	must[ledgerState](h, "a", get{})
	h.faults.Script(storetest.Stall)
	var got answers
	got.call(h.dir, ref("first"), add{"stalled"})
	eventually(t, "a stalled append", func() bool { return h.faults.Stalled() == 1 })
	for i := range waiting {
		got.call(h.dir, ref("a"), add{fmt.Sprint(i)})
	}
	eventually(t, "the batches in line", func() bool { return h.sys.Queues().Batches == waiting })
	if q := h.sys.Queues(); q.BatchBytes < waiting*64 || q.Reads != 0 {
		t.Errorf("queues: %+v", q)
	}
	b := &blocker{started: make(chan struct{}), proceed: make(chan struct{}), stopped: make(chan error, 1)}
	h.dir.Register("blocker", func(string) Behavior { return &sleeper{blocker: b} })
	jam := Ref{Kind: "blocker", ID: "x"}
	h.dir.Tell(jam, "hold")
	<-b.started
	for range MailboxLimit + over {
		got.call(h.dir, jam, get{})
	}
	c := h.dir.Census()
	if want := (Headcount{Awake: 1, Waiting: MailboxLimit, Deepest: MailboxLimit}); c["blocker"] != want {
		t.Errorf("the jammed actor: %+v", c["blocker"])
	}
	if c[ledgerKind].Awake != 2 || c[ledgerKind].Waiting != 0 {
		t.Errorf("the others: %+v", c[ledgerKind])
	}
	h.faults.Release()
	close(b.proceed)
	got.wait(t)
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.overloaded["blocker"] != over || len(g.overloaded) != 1 {
		t.Errorf("heard of overloads %v, want %d", g.overloaded, over)
	}
}

// BenchmarkCall is the cost of a call to an actor that is awake and answers at once.
func BenchmarkCall(b *testing.B) {
	h := newHouse(b)
	must[ledgerState](h, "a", get{})
	got := make(chan struct{}, 1)
	b.ReportAllocs()
	for b.Loop() {
		h.dir.Call(ref("a"), get{}, func(any, error) { got <- struct{}{} })
		<-got
	}
}
