package load

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// readBuffer is shared by all connections of a loop, in bytes: it holds the largest frame.
	readBuffer = maxFrame + 64<<10
	// maxEvents is the number of ready sockets taken from the poller at once.
	maxEvents = 512
	// pollEvery is how long a loop sleeps at most, and so how late it sees a change of phase.
	pollEvery = 20 * time.Millisecond
	// dueEvery is the number of ready sockets after which due posts are looked for.
	dueEvery = 32
	// timerSlot marks the timer among the poller's events.
	timerSlot = -1
)

// loop serves a share of the connections from one goroutine: no locks, one read buffer.
type loop struct {
	*engine
	tally   *tally
	conns   []*conn
	poll    int
	timer   int
	armed   int64 // what the timer is set to, ns since the run began; 0 when it is not
	buf     []byte
	content []byte
	text    []byte
	wire    []byte
	turns   turns
	undone  int // the next connection to dial
	opening int // connections between dial and join
	maxOpen int
	planned bool
	swept   int64
	stormed bool
	back    []*conn // to be dialed again, in order
	away    int     // dropped by the storm and not back yet
}

func newLoop(e *engine, conns []*conn, share int) (*loop, error) {
	l := &loop{engine: e, tally: newTally(), conns: conns, maxOpen: max(1, maxOpening/share), buf: make([]byte, readBuffer)}
	for slot, c := range conns {
		c.slot = slot
	}
	var err error
	if l.poll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return nil, fmt.Errorf("create poller: %w", err)
	}
	if l.timer, err = unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC); err != nil {
		return nil, errors.Join(fmt.Errorf("create timer: %w", err), unix.Close(l.poll))
	}
	// Edge-triggered, so that the timer needs no reading.
	ev := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLET, Fd: timerSlot}
	if err := unix.EpollCtl(l.poll, unix.EPOLL_CTL_ADD, l.timer, &ev); err != nil {
		return nil, errors.Join(fmt.Errorf("add timer to poller: %w", err), l.release())
	}
	return l, nil
}

// release gives the loop's own descriptors back.
func (l *loop) release() error {
	return errors.Join(unix.Close(l.timer), unix.Close(l.poll))
}

// run serves the connections until the phase is phaseClose. An error means that the poller itself
// failed, and no single connection.
func (l *loop) run() error {
	events := make([]unix.EpollEvent, maxEvents)
	for {
		phase := l.phase.Load()
		now := l.now()
		switch phase {
		case phaseConnect:
			l.dialDue(now)
			l.sweep(now)
		case phasePost:
			l.plan()
			l.postDue(now)
			l.storm(now)
		case phaseClose:
			l.closeAll()
			return l.release()
		}
		l.rest(phase)
		n, err := unix.EpollWait(l.poll, events, l.wait(phase))
		if err != nil && err != unix.EINTR {
			return errors.Join(fmt.Errorf("wait for sockets: %w", err), l.release())
		}
		for i := range max(n, 0) {
			if i%dueEvery == dueEvery-1 {
				l.postDue(l.now())
			}
			if events[i].Fd != timerSlot {
				l.serve(l.conns[events[i].Fd], events[i].Events)
			}
		}
	}
}

// rest sleeps for --coalesce, but not beyond the next post: what arrives meanwhile is handled in one
// go, several frames to a read.
func (l *loop) rest(phase int32) {
	pause := int64(l.opts.Coalesce)
	if pause == 0 || phase != phasePost {
		return
	}
	if len(l.turns) > 0 {
		pause = min(pause, l.turns[0].due-l.now())
	}
	time.Sleep(time.Duration(pause))
}

// wait arms the timer for what is due next and answers the poller's limit in milliseconds.
func (l *loop) wait(phase int32) int {
	var due int64
	switch {
	case phase == phasePost && len(l.turns) > 0:
		due = l.turns[0].due
	case phase == phaseConnect && l.undone < len(l.conns) && l.opening < l.maxOpen:
		due = l.dialAt(l.undone)
	default:
		return int(pollEvery / time.Millisecond)
	}
	in := due - l.now()
	if in <= 0 {
		return 0
	}
	if in < int64(pollEvery) && due != l.armed {
		l.armed = due
		spec := unix.ItimerSpec{Value: unix.NsecToTimespec(in)}
		if err := unix.TimerfdSettime(l.timer, 0, &spec, nil); err != nil {
			return 1 // without the timer the poller's own resolution has to do
		}
	}
	return int(pollEvery / time.Millisecond)
}

// dialAt is the time at which --connect-rate lets the connection in that slot be dialed.
func (l *loop) dialAt(slot int) int64 {
	if l.opts.ConnectRate <= 0 {
		return 0
	}
	return int64(float64(l.conns[slot].index) / l.opts.ConnectRate * 1e9)
}

func (l *loop) dialDue(now int64) {
	for l.undone < len(l.conns) && l.opening < l.maxOpen && l.dialAt(l.undone) <= now {
		c := l.conns[l.undone]
		l.undone++
		c.dialedAt = l.now()
		l.dial(c)
	}
}

func (l *loop) dial(c *conn) {
	l.opening++
	c.state = stateConnecting
	l.tally.dialed.Add(1)
	fd, err := dialSocket(c.account.source, l.target.addr, c.slow)
	if err != nil {
		l.drop(c, err.Error())
		return
	}
	c.fd = fd
	c.wantOut = true
	ev := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLOUT, Fd: int32(c.slot)}
	if err := unix.EpollCtl(l.poll, unix.EPOLL_CTL_ADD, fd, &ev); err != nil {
		l.drop(c, "add to poller: "+err.Error())
	}
}

// sweep drops, once a second, the connections that take too long to join.
func (l *loop) sweep(now int64) {
	if l.opening == 0 || now-l.swept < int64(time.Second) {
		return
	}
	l.swept = now
	for _, c := range l.conns[:l.undone] {
		if c.state < stateJoined && now-c.dialedAt > int64(openTimeout) {
			l.drop(c, fmt.Sprintf("not joined after %s, still %s", openTimeout, c.state))
		}
	}
}

// plan gives the posters their schedules, once.
func (l *loop) plan() {
	if l.planned {
		return
	}
	l.planned = true
	for _, c := range l.conns {
		if c.poster != nil && c.state == stateJoined {
			l.pace(c)
			l.turns.push(turn{c.poster.pace.due, c.slot})
		}
	}
}

func (l *loop) postDue(now int64) {
	for len(l.turns) > 0 && l.turns[0].due <= now {
		l.post(l.conns[l.turns.pop().slot], now)
	}
}

// post sends the poster's next message, or notes that it has to wait.
func (l *loop) post(c *conn, now int64) {
	p := c.poster
	if c.state != stateJoined || p.pace.over(now) {
		return
	}
	if p.blocked = len(c.unsent) > 0 || len(p.sent.pending) >= maxPending; p.blocked {
		return
	}
	due := p.pace.posted(now)
	seq := p.sent.post(due)
	if p.pace.fixed() {
		l.turns.push(turn{p.pace.due, c.slot})
		if l.measured(due) {
			l.tally.lag.add(now - due)
		}
	}
	m := marker{room: uint32(c.room.index), poster: p.index, seq: seq, due: due}
	l.content = append(appendMarker(l.content[:0], l.needle, m), l.pad...)
	l.text = l.dialect.post(l.text[:0], seq, c.room.id, l.content)
	l.tally.posted.Add(1)
	l.send(c, opText, l.text)
}

// closeAll says goodbye to every connection that is still there. Their states stay, because the
// final count asks who was connected at the end.
func (l *loop) closeAll() {
	l.wire = appendFrame(l.wire[:0], opClose, []byte{1000 >> 8, 1000 & 0xFF})
	for _, c := range l.conns {
		if c.fd >= 0 {
			if c.state == stateJoined && len(c.unsent) == 0 {
				_, _ = unix.Write(c.fd, l.wire) // a courtesy: the socket is closed in any case
			}
			_ = unix.Close(c.fd)
			c.fd = -1
		}
	}
}
