package kernel

import (
	"sync"

	"github.com/asynkron/protoactor-go/actor"
)

// Limits of a mailbox.
const (
	// MailboxLimit is the number of calls that wait in front of one actor; one more is answered with ErrOverloaded.
	MailboxLimit = 4096
	// mailboxBurst is the number of messages handled before the goroutine is given up once.
	mailboxBurst = 300
	// mailboxSlack is the number of handled messages whose places a queue that never empties may hold before they are
	// used again.
	mailboxSlack = 1024
	// mailboxKeep is the largest queue, in messages, whose memory an empty mailbox keeps.
	mailboxKeep = 64
)

// mailbox is a bounded queue in front of an actor. Calls over the limit, and those left behind when the actor has
// stopped, are answered at once, so that nobody waits for an answer that can't come. Messages of the protocol (commits,
// reads, ticks) are never refused: each of them answers something that was bounded already.
type mailbox struct {
	mu        sync.Mutex
	queue     []any
	head      int
	system    []any
	calls     int
	limit     int
	running   bool
	suspended bool
	closed    bool
	invoker   actor.MessageInvoker
	dispatch  actor.Dispatcher
}

var _ actor.Mailbox = (*mailbox)(nil)

func (m *mailbox) RegisterHandlers(i actor.MessageInvoker, d actor.Dispatcher) {
	m.invoker, m.dispatch = i, d
}
func (m *mailbox) Start() {}

func (m *mailbox) UserMessageCount() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.queue) - m.head
}

func (m *mailbox) PostUserMessage(msg any) {
	if msg == nil {
		return
	}
	c, isCall := msg.(*call)
	m.mu.Lock()
	if m.closed {
		m.mu.Unlock()
		if isCall {
			c.finish(nil, errStopped)
		}
		return
	}
	if isCall {
		if _, bounded := c.command.(Bounded); !bounded && m.calls >= m.limit {
			m.mu.Unlock()
			c.finish(nil, ErrOverloaded)
			return
		}
		m.calls++
	}
	calls := m.calls
	m.queue = append(m.queue, msg)
	m.schedule()
	if isCall && c.dir != nil {
		c.dir.sys.Meter.Queued(calls - 1)
	}
}

func (m *mailbox) PostSystemMessage(msg any) {
	m.mu.Lock()
	m.system = append(m.system, msg)
	m.schedule()
}

// schedule is called with the lock held and releases it.
func (m *mailbox) schedule() {
	if m.running {
		m.mu.Unlock()
		return
	}
	m.running = true
	m.mu.Unlock()
	m.dispatch.Schedule(m.run)
}

// close refuses what comes later and answers what is left.
func (m *mailbox) close() {
	m.mu.Lock()
	rest := m.queue[m.head:]
	m.queue, m.head, m.calls, m.closed = nil, 0, 0, true
	m.mu.Unlock()
	for _, msg := range rest {
		if c, ok := msg.(*call); ok {
			c.finish(nil, errStopped)
		}
	}
}

func (m *mailbox) run() {
	for m.burst() {
	}
}

// burst handles messages until the mailbox is empty or a burst is over, and reports whether there is more to do.
func (m *mailbox) burst() (more bool) {
	var current any
	defer func() {
		if r := recover(); r != nil {
			m.invoker.EscalateFailure(r, current)
			more = true
		}
	}()
	for range mailboxBurst {
		msg, isSystem := m.next()
		if msg == nil {
			return false
		}
		current = msg
		if isSystem {
			m.invokeSystem(msg)
		} else {
			m.invoker.InvokeUserMessage(msg)
		}
	}
	return true
}

func (m *mailbox) invokeSystem(msg any) {
	switch msg.(type) {
	case *actor.SuspendMailbox:
		m.mu.Lock()
		m.suspended = true
		m.mu.Unlock()
	case *actor.ResumeMailbox:
		m.mu.Lock()
		m.suspended = false
		m.mu.Unlock()
	case *actor.Stop:
		m.invoker.InvokeSystemMessage(msg) // the actor has left the directory when this returns
		m.close()
	default:
		m.invoker.InvokeSystemMessage(msg)
	}
}

// next takes the next message; none left marks the mailbox idle.
func (m *mailbox) next() (msg any, isSystem bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.system) > 0 {
		msg = m.system[0]
		m.system[0] = nil
		if m.system = m.system[1:]; len(m.system) == 0 {
			m.system = nil
		}
		return msg, true
	}
	if m.suspended || m.head == len(m.queue) {
		m.running = false
		return nil, false
	}
	msg = m.queue[m.head]
	m.queue[m.head] = nil
	m.head++
	switch {
	case m.head == len(m.queue):
		m.head = 0
		if m.queue = m.queue[:0]; cap(m.queue) > mailboxKeep {
			m.queue = nil
		}
	case m.head >= mailboxSlack && 2*m.head >= len(m.queue):
		left := copy(m.queue, m.queue[m.head:])
		clear(m.queue[left:])
		m.queue, m.head = m.queue[:left], 0
	}
	if _, ok := msg.(*call); ok {
		m.calls--
	}
	return msg, false
}
