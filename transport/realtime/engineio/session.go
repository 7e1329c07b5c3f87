package engineio

import (
	"sync/atomic"

	"parley/transport/realtime/conn"
)

// Frames of packets without data.
var (
	closeFrame = conn.Text([]byte{'0' + byte(Close)})
	pingFrame  = conn.Text([]byte{'0' + byte(Ping)})
	probeFrame = conn.Text([]byte("3probe"))
	noopFrame  = conn.Text([]byte{'0' + byte(Noop)})
)

// Session is one client, over a WebSocket or by polling, which may become a WebSocket once. Push, Close and Abort may be
// called from any goroutine.
type Session struct {
	server  *Server
	handler Handler
	conn    atomic.Pointer[conn.Conn] // nil while it polls
	poll    *polling                  // nil when it began as a WebSocket
	id      ID
}

// ID is the session's id.
func (s *Session) ID() ID { return s.id }

// Polling says whether the session has no WebSocket now.
func (s *Session) Polling() bool { return s.conn.Load() == nil }

// Text makes a text message of the parts, joined, which must be valid UTF-8. It may be pushed to any number of sessions.
func Text(parts ...[]byte) *conn.Frame {
	return conn.Text(append([][]byte{{'0' + byte(Message)}}, parts...)...)
}

// Binary makes a binary message.
func Binary(data []byte) *conn.Frame { return conn.Binary(data) }

// Push lets a message, made by Text or Binary, be sent after everything that was pushed before. It never blocks. False: the
// session is ending or was just cut off because too much waits.
func (s *Session) Push(f *conn.Frame) bool {
	if c := s.conn.Load(); c != nil {
		return c.Push(f)
	}
	return s.push(f)
}

// PushAll is Push for messages between which no other may come.
func (s *Session) PushAll(frames ...*conn.Frame) bool {
	if c := s.conn.Load(); c != nil {
		return c.PushAll(frames...)
	}
	return s.push(frames...)
}

// Waiting is the number of bytes that were pushed and not yet taken by the kernel or by a poll.
func (s *Session) Waiting() int {
	if c := s.conn.Load(); c != nil {
		return c.Waiting()
	}
	s.poll.mu.Lock()
	defer s.poll.mu.Unlock()
	return s.poll.bytes + s.poll.writing
}

// Close sends what waits, and ends the session: a WebSocket with code and reason, a polling session with a close packet. It
// does not wait, and does nothing if the session is ending already.
func (s *Session) Close(code int, reason string) {
	if c := s.conn.Load(); c != nil {
		c.Close(code, reason)
		return
	}
	s.closePolling(code, reason)
}

// SetReadLimit changes the largest message in bytes that the client may send; Options.MaxPayload is where it starts. Call it
// from Options.Open or from the handler.
func (s *Session) SetReadLimit(n int) {
	if s.poll != nil {
		s.poll.mu.Lock()
		s.poll.limit = n
		s.poll.mu.Unlock()
	}
	if c := s.conn.Load(); c != nil {
		c.SetReadLimit(n)
	}
}

// socket is a Session as its WebSocket knows it.
type socket Session

var _ conn.BinaryHandler = (*socket)(nil)

// Message implements conn.Handler.
func (k *socket) Message(c *conn.Conn, payload []byte) {
	p, err := Decode(payload)
	if err != nil {
		c.Close(conn.CodeProtocol, err.Error())
		return
	}
	switch p.Type {
	case Message:
		k.handler.Message((*Session)(k), p.Data, false)
	case Pong, Noop:
	case Close:
		c.Close(conn.CodeNormal, "")
	default:
		c.Close(conn.CodeProtocol, unexpected(p.Type))
	}
}

// unexpected is the reason for which a packet ends its session.
func unexpected(t Type) string { return "unexpected " + t.String() + " packet" }

// Binary implements conn.BinaryHandler.
func (k *socket) Binary(_ *conn.Conn, payload []byte) {
	k.handler.Message((*Session)(k), payload, true)
}

// Closed implements conn.Handler.
func (k *socket) Closed(_ *conn.Conn, err error) {
	s := (*Session)(k)
	s.server.forget(s)
	k.handler.Closed(s, err)
}
