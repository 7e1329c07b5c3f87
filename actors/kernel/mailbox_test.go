package kernel

import (
	"errors"
	"sync"
	"testing"

	"github.com/asynkron/protoactor-go/actor"
)

// blocker holds its goroutine until it may go on.
type blocker struct {
	started chan struct{}
	proceed chan struct{}
	once    sync.Once
	stopped chan error
}

func (b *blocker) Start(*Process) {}
func (b *blocker) Receive(msg any) {
	b.once.Do(func() { close(b.started) })
	<-b.proceed
	if r, ok := msg.(*Request); ok {
		r.Reply(Done{}, nil)
	}
}
func (b *blocker) Stopped(cause error) { b.stopped <- cause }

func TestMailboxLimit(t *testing.T) {
	h := newHouse(t)
	b := &blocker{started: make(chan struct{}), proceed: make(chan struct{}), stopped: make(chan error, 1)}
	p := h.sys.Spawn(b)
	p.Tell("hold")
	<-b.started
	var got answers
	d := spawned{p}
	for range MailboxLimit {
		got.call(d, Ref{}, get{})
	}
	if got.left() != MailboxLimit {
		t.Fatalf("%d of %d calls were answered before their turn", MailboxLimit-got.left(), MailboxLimit)
	}
	var over answers
	over.call(d, Ref{}, get{})
	if over.left() != 0 || !errors.Is(over.errs[0], ErrOverloaded) {
		t.Fatalf("one call over the limit: %v", over.errs[0])
	}
	p.Tell("messages of the protocol are never refused")
	p.Stop()
	close(b.proceed)
	if cause := <-b.stopped; cause != nil {
		t.Errorf("stopped because of %v", cause)
	}
	got.wait(t)
	refused := 0
	for _, err := range got.errs {
		if err != nil {
			wants(t, "left behind", err, CodeUnavailable)
			refused++
		}
	}
	if refused != MailboxLimit {
		t.Errorf("%d of %d calls behind the stop were handled", MailboxLimit-refused, MailboxLimit)
	}
	got = answers{}
	got.call(d, Ref{}, get{})
	got.wait(t)
	wants(t, "after the end", got.errs[0], CodeUnavailable)
}

// spawned is the directory of one spawned actor.
type spawned struct{ p *Process }

func (s spawned) Tell(_ Ref, msg any)                                { s.p.Tell(msg) }
func (s spawned) Call(_ Ref, command any, reply func(any, error))    { s.p.Call(command, reply) }
func (m *countingInvoker) InvokeSystemMessage(any)                   {}
func (m *countingInvoker) EscalateFailure(reason any, _ interface{}) { panic(reason) }

type countingInvoker struct {
	box   *mailbox
	next  int
	most  int
	total int
	t     *testing.T
}

func (m *countingInvoker) InvokeUserMessage(msg any) {
	if msg != m.next {
		m.t.Fatalf("got %v, want %d", msg, m.next)
	}
	m.next++
	if m.next+1 < m.total {
		m.box.PostUserMessage(m.next + 1) // one is always left
	}
	m.most = max(m.most, cap(m.box.queue))
}

type inline struct{}

func (inline) Schedule(f func()) { f() }
func (inline) Throughput() int   { return mailboxBurst }

// A queue that is never empty must not grow.
func TestMailboxThatNeverEmpties(t *testing.T) {
	box := &mailbox{limit: MailboxLimit, running: true}
	m := &countingInvoker{box: box, total: 100_000, t: t}
	box.RegisterHandlers(m, inline{})
	box.PostUserMessage(0)
	box.PostUserMessage(1)
	box.run()
	if m.next != m.total {
		t.Fatalf("%d of %d messages came", m.next, m.total)
	}
	if m.most > 8*mailboxSlack {
		t.Errorf("a queue of two messages has %d places", m.most)
	}
	if box.running || cap(box.queue) > mailboxKeep {
		t.Errorf("an empty mailbox is running (%t) or keeps %d places", box.running, cap(box.queue))
	}
}

func TestMailboxKeepsEachSendersOrder(t *testing.T) {
	const senders, each = 8, 2000
	h := newHouse(t)
	last := make([]int, senders)
	var over sync.WaitGroup
	over.Add(senders * each)
	p := h.sys.Spawn(receiver(func(msg any) {
		m, ok := msg.([2]int)
		if !ok {
			return
		}
		if m[1] != last[m[0]] {
			t.Errorf("sender %d: got %d, want %d", m[0], m[1], last[m[0]])
		}
		last[m[0]]++
		over.Done()
	}))
	for s := range senders {
		go func() {
			for i := range each {
				p.Tell([2]int{s, i})
			}
		}()
	}
	over.Wait()
	p.Stop()
}

type receiver func(any)

func (r receiver) Start(*Process)  {}
func (r receiver) Receive(msg any) { r(msg) }
func (r receiver) Stopped(error)   {}

var _ actor.MessageInvoker = (*countingInvoker)(nil)
