package conn

import (
	"sync"
	"time"
)

const (
	// wheelSlots is how many groups the connections are spread over within a PingInterval.
	wheelSlots = 256
	minTick    = 5 * time.Millisecond
	maxTick    = 100 * time.Millisecond
)

// wheel holds the live connections, spread over slots. It turns once in a PingInterval; a slot's
// connections get a heartbeat when it passes and are checked when PingTimeout has gone by.
type wheel struct {
	mu      sync.Mutex
	slots   [][]*Conn
	beaten  []int64 // hub time in ms of each slot's last heartbeat
	count   int
	next    int  // slot of the next connection
	closed  bool // takes no connection in
	ended   bool // the hub was closed
	tick    time.Duration
	timeout time.Duration
	lag     int // slots between heartbeat and check
	turned  int // ticks so far
	scratch []*Conn
}

func newWheel(interval, timeout time.Duration) *wheel {
	tick := min(max(interval/wheelSlots, minTick), maxTick).Truncate(time.Millisecond)
	n := max(int(interval/tick), 1)
	return &wheel{
		slots: make([][]*Conn, n), beaten: make([]int64, n),
		tick: tick, timeout: timeout, lag: int((timeout + tick - 1) / tick),
	}
}

// add takes a connection in; it fails once the hub is closed.
func (w *wheel) add(c *Conn) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return ErrHubClosed
	}
	s := w.next
	w.next = (w.next + 1) % len(w.slots)
	c.slot, c.place = int32(s), int32(len(w.slots[s]))
	w.slots[s] = append(w.slots[s], c)
	w.count++
	return nil
}

func (w *wheel) remove(c *Conn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if c.slot < 0 {
		return
	}
	slot := w.slots[c.slot]
	end := len(slot) - 1
	slot[c.place] = slot[end]
	slot[c.place].place = c.place
	slot[end] = nil
	w.slots[c.slot] = slot[:end]
	c.slot = -1
	w.count--
}

func (w *wheel) len() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.count
}

// all copies the live connections.
func (w *wheel) all() []*Conn {
	w.mu.Lock()
	defer w.mu.Unlock()
	conns := make([]*Conn, 0, w.count)
	for _, s := range w.slots {
		conns = append(conns, s...)
	}
	return conns
}

// close refuses connections from now on.
func (w *wheel) close() {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
}

// end is close for a hub that is closed.
func (w *wheel) end() {
	w.mu.Lock()
	w.closed, w.ended = true, true
	w.mu.Unlock()
}

// reader counts a goroutine that reads; false: the hub has been closed.
func (w *wheel) reader(n *sync.WaitGroup) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.ended {
		n.Add(1)
	}
	return !w.ended
}

// advance turns the wheel to the hub time now in ms. After a pause it turns once at most, so that
// nobody is beaten twice at the same moment.
func (w *wheel) advance(now int64) {
	due := int(now / w.tick.Milliseconds())
	if behind := due - w.turned; behind > len(w.slots) {
		w.turned = due - len(w.slots)
	}
	for w.turned < due {
		w.turned++
		w.check(w.turned-w.lag, now)
		s := w.turned % len(w.slots)
		w.beaten[s] = now
		for _, c := range w.members(s) {
			c.beat(now)
		}
	}
}

// check looks at the connections that were beaten at the given turn.
func (w *wheel) check(turn int, now int64) {
	if turn <= 0 {
		return
	}
	s := turn % len(w.slots)
	pinged := min(w.beaten[s], now-w.timeout.Milliseconds())
	for _, c := range w.members(s) {
		c.check(pinged)
	}
}

// members copies a slot; the copy is valid until the next call.
func (w *wheel) members(s int) []*Conn {
	clear(w.scratch)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.scratch = append(w.scratch[:0], w.slots[s]...)
	return w.scratch
}

// closingList holds connections that are closing. Each gets the same grace, so the oldest is
// always first.
type closingList struct {
	mu   sync.Mutex
	list []closing
}

type closing struct {
	c  *Conn
	at int64 // hub time in ms at which it began to close
}

func (l *closingList) add(c *Conn) {
	l.mu.Lock()
	l.list = append(l.list, closing{c, sinceStart(c.hub)})
	l.mu.Unlock()
}

// end closes the connections that began to close before the hub time limit in ms.
func (l *closingList) end(limit int64) {
	l.mu.Lock()
	n := 0
	for n < len(l.list) && l.list[n].at <= limit {
		n++
	}
	late := l.list[:n:n]
	l.list = l.list[n:]
	if len(l.list) == 0 {
		l.list = nil
	}
	l.mu.Unlock()
	for _, e := range late {
		e.c.pastGrace()
	}
}
