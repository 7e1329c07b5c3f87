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

// member is what a wheel holds.
type member interface {
	comparable
	// beat sends a heartbeat; now is a hub time in ms.
	beat(now int64)
	// check ends the member if nothing came from it since its heartbeat at pinged, a hub time in ms.
	check(pinged int64)
	// at is the member's place, guarded by the wheel.
	at() *place
}

// place is where a member is in its wheel; slot -1: not there.
type place struct{ slot, index int32 }

// wheel holds live clients, spread over slots. It turns once in a PingInterval; a slot's members get a heartbeat when it
// passes and are checked when PingTimeout has gone by.
type wheel[M member] struct {
	mu      sync.Mutex
	slots   [][]M
	beaten  []int64 // hub time in ms of each slot's last heartbeat
	count   int
	closed  bool // takes no member in
	ended   bool // the hub was closed
	tick    time.Duration
	timeout time.Duration
	lag     int // slots between heartbeat and check
	turned  int // ticks so far
	scratch []M
}

func newWheel[M member](interval, timeout time.Duration) *wheel[M] {
	tick := min(max(interval/wheelSlots, minTick), maxTick).Truncate(time.Millisecond)
	n := max(int(interval/tick), 1)
	return &wheel[M]{
		slots: make([][]M, n), beaten: make([]int64, n),
		tick: tick, timeout: timeout, lag: int((timeout + tick - 1) / tick),
	}
}

// add takes a member in, whose first heartbeat is due after nearly a whole interval; it fails once the hub is closed.
func (w *wheel[M]) add(m M) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return ErrHubClosed
	}
	w.put(m, w.lateSlot())
	return nil
}

// slotSlack is how many members every slot takes before they are spread more evenly.
const slotSlack = 8

// lateSlot is the slot that passes last of those that have room: with many members at once, such as after a restart, the
// heartbeats of one moment would cost too much, and some of them begin earlier.
func (w *wheel[M]) lateSlot() int {
	n := len(w.slots)
	room := slotSlack + 2*w.count/n
	last := (w.turned + n - 1) % n
	for i := range (n + 1) / 2 {
		if s := (last + n - i) % n; len(w.slots[s]) < room {
			return s
		}
	}
	return last
}

// put needs the lock.
func (w *wheel[M]) put(m M, slot int) {
	*m.at() = place{int32(slot), int32(len(w.slots[slot]))}
	w.slots[slot] = append(w.slots[slot], m)
	w.count++
}

// move takes a member out of its slot and into another, so that its heartbeats go on as those of what it replaces.
func (w *wheel[M]) move(m M, slot int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if m.at().slot >= 0 && slot >= 0 {
		w.take(m)
		w.put(m, slot)
	}
}

// remove returns the slot in which the member was, -1 for none.
func (w *wheel[M]) remove(m M) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	slot := int(m.at().slot)
	if slot >= 0 {
		w.take(m)
	}
	return slot
}

// take needs the lock.
func (w *wheel[M]) take(m M) {
	var none M
	p := *m.at()
	slot := w.slots[p.slot]
	end := len(slot) - 1
	slot[p.index] = slot[end]
	slot[p.index].at().index = p.index
	slot[end] = none
	w.slots[p.slot] = slot[:end]
	m.at().slot = -1
	w.count--
}

func (w *wheel[M]) len() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.count
}

// all copies the live members.
func (w *wheel[M]) all() []M {
	w.mu.Lock()
	defer w.mu.Unlock()
	members := make([]M, 0, w.count)
	for _, s := range w.slots {
		members = append(members, s...)
	}
	return members
}

// close refuses members from now on.
func (w *wheel[M]) close() {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
}

// end is close for a hub that is closed.
func (w *wheel[M]) end() {
	w.mu.Lock()
	w.closed, w.ended = true, true
	w.mu.Unlock()
}

// reader counts what the end of the hub waits for; false: the hub has been closed.
func (w *wheel[M]) reader(n *sync.WaitGroup) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.ended {
		n.Add(1)
	}
	return !w.ended
}

// advance turns the wheel to the hub time now in ms. After a pause it turns once at most, so that
// nobody is beaten twice at the same moment.
func (w *wheel[M]) advance(now int64) {
	due := int(now / w.tick.Milliseconds())
	w.mu.Lock()
	if behind := due - w.turned; behind > len(w.slots) {
		w.turned = due - len(w.slots)
	}
	turn := w.turned
	w.mu.Unlock()
	for turn < due {
		turn++
		w.check(turn-w.lag, now)
		s := turn % len(w.slots)
		w.beaten[s] = now
		for _, m := range w.members(turn) {
			m.beat(now)
		}
	}
}

// check looks at the members that were beaten at the given turn.
func (w *wheel[M]) check(turn int, now int64) {
	if turn <= 0 {
		return
	}
	s := turn % len(w.slots)
	pinged := min(w.beaten[s], now-w.timeout.Milliseconds())
	for _, m := range w.members(turn) {
		m.check(pinged)
	}
}

// members copies the slot of a turn, which is noted if it is a new one; the copy is valid until the next call.
func (w *wheel[M]) members(turn int) []M {
	clear(w.scratch)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.turned = max(w.turned, turn)
	w.scratch = append(w.scratch[:0], w.slots[turn%len(w.slots)]...)
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
