package engineio

import (
	"sync"
	"sync/atomic"
	"time"

	"parley/transport/realtime/conn"
)

// phase of a session that polls; it only grows.
type phase int

const (
	open    phase = iota
	closing       // what waits and a last packet are for the next poll
	ended
)

// polling is what a session needs while it has no WebSocket. Times are hub times in ms, 0 for never.
type polling struct {
	recv  sync.Mutex // held while the handler runs; taken before mu
	heard atomic.Int64
	wake  chan struct{} // capacity 1: there is something for the poll that is held

	opened int64 // never changes

	mu      sync.Mutex
	seat    *conn.Seat // nil before it is taken, and when it was handed over
	phase   phase
	cause   error         // why it ends
	last    *conn.Frame   // the packet behind everything
	until   int64         // while closing: when to wait for a poll no longer
	queue   []*conn.Frame // what waits for a poll
	bytes   int           // of the queue
	writing int           // bytes that are being written
	since   int64         // when the first message of the queue began to wait
	pinged  int64         // when the last heartbeat was sent
	limit   int           // of a body in bytes
	fresh   bool          // no request was made yet
	getting bool          // a poll is held
	posting bool          // a post is being read or handled
	working bool          // and is being handled
	probe   *conn.Conn    // a WebSocket that may become the session's
	probeAt int64         // when it came
	probed  bool          // it has been tried with success
}

// push is PushAll while there is no WebSocket.
func (s *Session) push(frames ...*conn.Frame) bool {
	p := s.poll
	p.mu.Lock()
	defer p.mu.Unlock()
	if c := s.conn.Load(); c != nil {
		return c.PushAll(frames...)
	}
	for _, f := range frames {
		if p.phase != open {
			return false
		}
		if !s.fits(f.Size()) {
			s.cutLocked()
			return false
		}
		p.enqueue(f)
	}
	return true
}

// fits says whether a message may wait, by the bounds of the Hub (decision 31), and notes that one waits.
func (s *Session) fits(size int) bool {
	p, hub := s.poll, s.server.o.Hub
	o, now := hub.Options(), hub.Now()
	if p.since == 0 {
		p.since = now
	}
	waited := time.Duration(now-p.since) * time.Millisecond
	bound := o.MaxBurst()
	if waited > stallTime {
		bound = o.MaxWaiting
	}
	waiting := p.bytes + p.writing
	return waited <= o.MaxWait && (waiting == 0 || waiting+size <= bound)
}

// enqueue needs the lock.
func (p *polling) enqueue(f *conn.Frame) {
	p.queue = append(p.queue, f)
	p.bytes += f.Size()
	p.rouse()
}

// rouse lets a poll that is held look again.
func (p *polling) rouse() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// cutLocked gives up on a client that does not poll.
func (s *Session) cutLocked() {
	s.server.o.Hub.CountCut()
	s.endLocked(conn.ErrSlowConsumer, closeFrame, false)
}

// closePolling is Close while there is no WebSocket.
func (s *Session) closePolling(code int, reason string) {
	s.poll.mu.Lock()
	c := s.conn.Load()
	if c == nil {
		s.endLocked(&conn.CloseError{Code: code, Reason: reason}, closeFrame, true)
	}
	s.poll.mu.Unlock()
	if c != nil {
		c.Close(code, reason)
	}
}

// end ends a session that polls at once.
func (s *Session) end(cause error) {
	s.poll.mu.Lock()
	defer s.poll.mu.Unlock()
	s.endLocked(cause, closeFrame, false)
}

// endLocked ends a session that polls. A poll that is held, and with linger the next one, gets the last packet.
func (s *Session) endLocked(cause error, last *conn.Frame, linger bool) {
	p := s.poll
	if p.phase == ended || p.phase == closing && linger || s.conn.Load() != nil {
		return
	}
	if p.cause == nil {
		p.cause = cause
	}
	p.last = last
	if p.probe != nil {
		p.probe.Close(conn.CodeNormal, "")
	}
	if !linger {
		p.queue, p.bytes, p.since = nil, 0, 0
		s.server.forget(s)
	}
	if !p.getting && !linger {
		s.finishLocked()
		return
	}
	hub := s.server.o.Hub
	p.phase = closing
	p.until = hub.Now() + hub.Options().CloseGrace.Milliseconds()
	p.rouse()
}

// finishLocked lets the handler know of the end.
func (s *Session) finishLocked() {
	p := s.poll
	p.phase = ended
	p.last, p.queue = nil, nil
	s.server.forget(s)
	go func() {
		p.recv.Lock()
		defer p.recv.Unlock()
		p.mu.Lock()
		seat := p.seat
		p.mu.Unlock()
		defer seat.Leave()
		s.handler.Closed(s, p.cause)
	}()
}

// overdue says whether the client has not answered the last heartbeat in time. One that has never said anything is held to
// the time at which its first heartbeat was due, however late the wheel may be. It needs the lock.
func (s *Session) overdue() bool {
	p, hub := s.poll, s.server.o.Hub
	o, now, heard := hub.Options(), hub.Now(), p.heard.Load()
	timeout := o.PingTimeout.Milliseconds()
	switch {
	case p.working:
		return false
	case heard == p.opened && now-p.opened >= o.PingInterval.Milliseconds()+timeout:
		return true
	}
	return p.pinged != 0 && heard < p.pinged && now-p.pinged >= timeout
}

// evict ends a session if no request has been made in it.
func (s *Session) evict() {
	s.poll.mu.Lock()
	defer s.poll.mu.Unlock()
	if s.poll.fresh {
		s.endLocked(ErrHalfOpen, nil, false)
	}
}

// guest is a Session as the Hub knows it while it polls.
type guest Session

var _ conn.Guest = (*guest)(nil)

// Beat implements conn.Guest.
func (g *guest) Beat(now int64) {
	s, p := (*Session)(g), g.poll
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.phase == open && s.conn.Load() == nil {
		p.pinged = now
		p.enqueue(pingFrame)
	}
}

// Check implements conn.Guest.
func (g *guest) Check(beaten int64) {
	s, p := (*Session)(g), g.poll
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.phase == open && p.pinged != 0 && !p.working && p.heard.Load() < beaten {
		s.endLocked(conn.ErrPingTimeout, closeFrame, false)
	}
}

// Tick implements conn.Guest.
func (g *guest) Tick(now int64) {
	s, p := (*Session)(g), g.poll
	o := &g.server.o
	over := func(since int64, limit time.Duration) bool { return since != 0 && now-since > limit.Milliseconds() }
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.phase == ended || s.conn.Load() != nil:
	case p.phase == closing:
		if now > p.until {
			s.finishLocked()
		}
	case p.fresh && over(p.opened, o.FirstRequest):
		s.endLocked(ErrHalfOpen, nil, false)
	case over(p.since, o.Hub.Options().MaxWait):
		s.cutLocked()
	case p.probe != nil && over(p.probeAt, o.UpgradeTimeout):
		p.probe.Close(conn.CodePolicy, "no upgrade in time")
	}
}

// Close implements conn.Guest.
func (g *guest) Close(code int, reason string) { (*Session)(g).Close(code, reason) }

// Abort implements conn.Guest.
func (g *guest) Abort() {
	g.poll.mu.Lock()
	defer g.poll.mu.Unlock()
	if s := (*Session)(g); s.poll.phase == closing {
		s.finishLocked()
	} else {
		s.endLocked(conn.ErrHubClosed, closeFrame, false)
	}
}
