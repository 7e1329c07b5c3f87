package engineio

import (
	"net/http"

	"parley/transport/realtime/conn"
)

// upgrade takes a WebSocket that wants to become a session's. What comes too late or twice is accepted and closed, as the
// reference implementation does, since some clients take a refused handshake for a reason to crash.
func (s *Server) upgrade(w http.ResponseWriter, r *http.Request, session *Session) {
	c, err := s.o.Hub.Accept(w, r, conn.AcceptOptions{OriginOK: s.o.OriginOK})
	if err != nil {
		s.o.Refused(w, err)
		return
	}
	t := &trial{session: session}
	c.SetReadLimit(maxProbe)
	if p := session.poll; p != nil {
		p.mu.Lock()
		if p.phase == open && session.conn.Load() == nil && p.probe == nil {
			p.probe, p.probeAt, p.fresh = c, s.o.Hub.Now(), false
			t.wanted = true
		}
		p.mu.Unlock()
	}
	if !t.wanted {
		c.Close(conn.CodePolicy, "the session is not to be upgraded")
	}
	c.Serve(t)
}

// trial is a WebSocket that is not the session's yet.
type trial struct {
	session *Session
	wanted  bool
	probed  bool
}

// Message implements conn.Handler: a ping, which is answered, and then the word to change over.
func (t *trial) Message(c *conn.Conn, payload []byte) {
	switch {
	case !t.wanted:
	case string(payload) == "2probe":
		c.Push(probeFrame)
		t.probed = true
		p := t.session.poll
		p.mu.Lock()
		p.probed = true
		p.rouse() // so that a held poll is released soon
		p.mu.Unlock()
	case t.probed && string(payload) == "5":
		t.session.switchTo(c)
	default:
		c.Close(conn.CodeProtocol, "the session is not upgraded yet")
	}
}

// Closed implements conn.Handler: the session goes on polling.
func (t *trial) Closed(*conn.Conn, error) {
	if !t.wanted {
		return
	}
	p := t.session.poll
	p.mu.Lock()
	defer p.mu.Unlock()
	p.probe, p.probed = nil, false
}

// switchTo makes a WebSocket the session's. Posts that came before it have been handled then, and what waits for a poll
// goes out first. It is called by the reader of the WebSocket.
func (s *Session) switchTo(c *conn.Conn) {
	p := s.poll
	p.recv.Lock()
	defer p.recv.Unlock()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.phase != open {
		c.Close(conn.CodeNormal, "")
		return
	}
	c.SetHandler((*socket)(s))
	c.SetHeartbeat(pingFrame)
	c.SetReadLimit(p.limit)
	for _, f := range p.queue {
		c.Push(f)
	}
	p.queue, p.bytes, p.since, p.probe = nil, 0, 0, nil
	s.conn.Store(c)
	s.server.upgraded()
	p.seat.HandOver(c)
	p.rouse()
}
