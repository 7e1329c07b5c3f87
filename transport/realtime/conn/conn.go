package conn

import (
	"net"
	"sync/atomic"
	"syscall"
)

// Handler gets what a connection receives. Its methods are called by the one goroutine of the
// connection, in order; while one runs, nothing more is read from that client.
type Handler interface {
	// Message gets a text message, which is valid UTF-8. payload is valid during the call only
	// and may be changed.
	Message(c *Conn, payload []byte)
	// Closed is called once, last, when the connection has ended for the reader: with a
	// *CloseError when a close frame ended it, with one of this package's errors, io.EOF or an
	// error of the network else.
	Closed(c *Conn, err error)
}

// BinaryHandler is a Handler that takes binary messages too. Any other gets its connection closed
// with 1003 when the client sends one.
type BinaryHandler interface {
	Handler
	// Binary is Message for a binary message.
	Binary(c *Conn, payload []byte)
}

// state of a connection; it only grows.
type state = uint32

const (
	stateOpen    state = iota
	stateClosing       // a close frame is to be sent or was; nothing can be pushed
	stateClosed        // the network connection is closed
)

// Conn is one WebSocket connection. Push, Close and Abort may be called from any goroutine.
type Conn struct {
	hub       *Hub
	worker    *worker
	nc        net.Conn
	raw       syscall.RawConn // nil: not a TCP connection, the portable way
	handler   Handler
	heartbeat atomic.Pointer[Frame]
	phase     atomic.Uint32 // state; written under mu

	outbox

	// Owned by the goroutine that reads.
	in      reader
	tryRead func(fd uintptr) bool // bound once, so that waiting allocates nothing
	chunk   *chunk                // what tryRead read into
	chunkN  int
	readErr error
	early   []byte // bytes that came behind the HTTP request
	pace    pace
	ran     bool // this goroutine called a handler: its stack has grown
	renew   bool // tryRead found nothing and ran is set
	lingers bool // a read deadline is set, at which the goroutine is replaced
	discard bool // the client broke the protocol: nothing it sends is looked at

	lingerAt int64 // hub time in ms at which the deadline was set

	// Read by the wheel.
	lastRead atomic.Int64 // hub time in ms; busyReading while bytes are being worked on
	msgStart atomic.Int64 // hub time in ms at which an incomplete message began, 0: none
	serving  atomic.Bool
	place    place // in the wheel, guarded by it
}

// busyReading in lastRead means that the reader is at work, so the client is not to blame.
const busyReading = 1<<63 - 1

func newConn(h *Hub, nc net.Conn, early []byte, heartbeat *Frame) *Conn {
	if heartbeat == nil {
		heartbeat = pingFrame
	}
	c := &Conn{hub: h, nc: nc, raw: rawOf(nc), early: early, place: place{slot: -1}}
	c.heartbeat.Store(heartbeat)
	c.in.limit = h.o.MaxFrame
	c.worker = h.workers[h.next.Add(1)%uint64(len(h.workers))]
	c.tryRead = c.readNow
	c.lastRead.Store(h.now())
	return c
}

// RemoteAddr is the address of the other end of the network connection.
func (c *Conn) RemoteAddr() net.Addr { return c.nc.RemoteAddr() }

// SetReadLimit changes the largest message in bytes that the client may send; Options.MaxFrame is
// where it starts. Call it before Serve or from the handler.
func (c *Conn) SetReadLimit(n int) { c.in.limit = n }

// SetHandler lets h get what comes after the present message. Call it from the handler.
func (c *Conn) SetHandler(h Handler) { c.handler = h }

// SetHeartbeat changes the frame that is sent at every PingInterval.
func (c *Conn) SetHeartbeat(f *Frame) { c.heartbeat.Store(f) }

// at implements member.
func (c *Conn) at() *place { return &c.place }

// Open says whether frames can be pushed.
func (c *Conn) Open() bool { return c.phase.Load() == stateOpen }

// Serve starts the goroutine of the connection, which calls h until the connection ends, and
// returns. It may be called once.
func (c *Conn) Serve(h Handler) {
	c.handler = h
	c.lastRead.Store(c.hub.now())
	c.serving.Store(true)
	if !c.hub.conns.reader(&c.hub.readers) {
		c.shutdown(ErrHubClosed)
		h.Closed(c, ErrHubClosed)
		return
	}
	go c.loop()
}

// Close sends what waits and a close frame, then ends the connection when the client has answered
// or after Options.CloseGrace. It does not wait. The code and reason are made valid as CloseFrame
// says. It does nothing if the connection is closing already.
func (c *Conn) Close(code int, reason string) {
	c.startClose(CloseFrame(code, reason), &CloseError{Code: code, Reason: reason})
}

// Abort ends the connection at once; what waits is lost.
func (c *Conn) Abort() { c.shutdown(ErrAborted) }

// startClose lets f be the last frame of the connection and gives it CloseGrace to get through.
func (c *Conn) startClose(f *Frame, cause error) {
	c.mu.Lock()
	wake := c.startCloseLocked(f, cause)
	c.mu.Unlock()
	if wake {
		c.worker.add(c)
	}
}

func (c *Conn) startCloseLocked(f *Frame, cause error) (wake bool) {
	if c.phase.Load() != stateOpen {
		return false
	}
	c.phase.Store(stateClosing)
	c.cause = cause
	c.last = f
	c.hub.closing.add(c)
	return c.claim()
}

// peerClosed notes that the client sent a close frame, and answers it if it is the first.
func (c *Conn) peerClosed(answer *Frame, cause error) {
	c.mu.Lock()
	c.peerDone = true
	wake := c.startCloseLocked(answer, cause)
	over := !wake && !c.busy && c.phase.Load() == stateClosing
	c.mu.Unlock()
	switch {
	case wake:
		c.worker.add(c)
	case over:
		c.shutdown(nil)
	}
}

// shutdown closes the network connection; cause counts if nothing else ended it before.
func (c *Conn) shutdown(cause error) {
	c.mu.Lock()
	if c.phase.Load() == stateClosed {
		c.mu.Unlock()
		return
	}
	c.phase.Store(stateClosed)
	if c.cause == nil {
		c.cause = cause
	}
	c.clearQueue()
	c.last = nil
	cut := c.cut
	c.mu.Unlock()
	c.hub.conns.remove(c)
	if t, ok := c.nc.(interface{ SetLinger(sec int) error }); ok && cut {
		// What the client did not read would stay with the system, megabytes for minutes.
		_ = t.SetLinger(0)
	}
	if c.raw == nil {
		// A TLS connection says goodbye first and may take seconds over it.
		go func() { _ = c.nc.Close() }()
		return
	}
	_ = c.nc.Close()
}

// why is the reason for the end, or err when nothing was noted.
func (c *Conn) why(err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cause != nil {
		return c.cause
	}
	return err
}

// pastGrace ends a close that took too long.
func (c *Conn) pastGrace() { c.shutdown(nil) }

// check closes the connection if nothing was read since its heartbeat at pinged, a hub time in ms.
func (c *Conn) check(pinged int64) {
	if c.serving.Load() && c.phase.Load() == stateOpen && c.lastRead.Load() < pinged {
		c.shutdown(ErrPingTimeout)
	}
}

// beat sends the heartbeat, unless a message of the client has taken too long to arrive. now is a
// hub time in ms.
func (c *Conn) beat(now int64) {
	if !c.serving.Load() {
		return
	}
	if start := c.msgStart.Load(); start != 0 && now-start > c.hub.o.MessageTimeout.Milliseconds() {
		c.startClose(CloseFrame(CodePolicy, ErrMessageTimeout.Error()), ErrMessageTimeout)
		return
	}
	c.Push(c.heartbeat.Load())
}
