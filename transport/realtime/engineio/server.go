package engineio

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"parley/transport/realtime/conn"
)

// Server makes sessions of requests, whatever their path.
type Server struct {
	o Options

	mu       sync.Mutex
	sessions map[ID]*Session
	polling  int        // sessions without a WebSocket
	halfOpen []*Session // those opened last without a WebSocket, the oldest first; some have made their request since
}

var _ http.Handler = (*Server)(nil)

// New makes a server.
func New(o Options) *Server {
	return &Server{o: o.withDefaults(), sessions: map[ID]*Session{}}
}

// Len is the number of live sessions, and how many of them poll.
func (s *Server) Len() (all, polling int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.sessions), s.polling
}

// ServeHTTP implements http.Handler: handshakes, polls, and changes to a WebSocket.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	socket := isWebSocket(r)
	if !socket {
		s.crossOrigin(w, r)
		if r.Method == http.MethodOptions {
			w.WriteHeader(http.StatusNoContent)
			return
		}
	}
	req, bad := ParseRequest(r.Method, r.URL.Query())
	switch {
	case bad != nil:
	case s.o.WebSocketOnly && req.Transport == Polling:
		bad = ErrTransport
	case socket && !s.o.OriginOK(r):
		bad = ErrForbidden
	case socket != (req.Transport == WebSocket):
		bad = ErrRequest
	}
	switch {
	case bad != nil:
		if req.SID == "" {
			s.o.Refused(w, bad)
		}
		refuse(w, bad)
	case req.SID != "":
		s.resume(w, r, req)
	case socket:
		s.openSocket(w, r)
	default:
		s.openPolling(w, r)
	}
}

// isWebSocket says whether a request asks for a WebSocket.
func isWebSocket(r *http.Request) bool {
	return strings.EqualFold(r.Header.Get("Upgrade"), "websocket")
}

// resume serves a request that names a session.
func (s *Server) resume(w http.ResponseWriter, r *http.Request, req Request) {
	session := s.find(req.SID)
	switch {
	case session == nil:
		refuse(w, ErrSession)
	case req.Transport == WebSocket:
		s.upgrade(w, r, session)
	case session.poll == nil:
		refuse(w, ErrRequest)
	case r.Method == http.MethodPost:
		session.post(w, r)
	default:
		session.get(w, r)
	}
}

// find returns the session with an id, nil if there is none.
func (s *Server) find(sid string) *Session {
	id, ok := parseID(sid)
	if !ok {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sessions[id]
}

// handshake is the first packet of a session.
func (s *Server) handshake(id ID, upgrades ...string) *conn.Frame {
	o := s.o.Hub.Options()
	b, err := AppendOpen(nil, Handshake{SID: id.String(), Upgrades: upgrades, PingInterval: o.PingInterval, PingTimeout: o.PingTimeout, MaxPayload: s.o.MaxPayload})
	if err != nil {
		panic(err) // a plain struct always encodes
	}
	return conn.Text(b)
}

// openSocket opens a session that is a WebSocket from its beginning.
func (s *Server) openSocket(w http.ResponseWriter, r *http.Request) {
	c, err := s.o.Hub.Accept(w, r, conn.AcceptOptions{OriginOK: s.o.OriginOK, Heartbeat: pingFrame})
	if err != nil {
		s.o.Refused(w, err)
		return
	}
	session := &Session{server: s, id: NewID()}
	session.conn.Store(c)
	c.SetReadLimit(s.o.MaxPayload)
	c.Push(s.handshake(session.id))
	session.handler = s.o.Open(session, r)
	s.mu.Lock()
	s.sessions[session.id] = session
	s.mu.Unlock()
	c.Serve((*socket)(session))
}

// openPolling opens a session that polls.
func (s *Server) openPolling(w http.ResponseWriter, r *http.Request) {
	session := &Session{server: s, id: NewID(), poll: &polling{wake: make(chan struct{}, 1), limit: s.o.MaxPayload, fresh: true}}
	p := session.poll
	p.opened = s.o.Hub.Now()
	p.heard.Store(p.opened)
	p.recv.Lock() // nobody hears of the end of a session before it has begun
	seat, err := s.join(session)
	if err != nil {
		p.recv.Unlock()
		s.o.Refused(w, err)
		overloaded(w)
		return
	}
	p.mu.Lock()
	p.seat = seat
	p.mu.Unlock()
	session.handler = s.o.Open(session, r)
	p.recv.Unlock()
	_ = s.answer(w, []*conn.Frame{s.handshake(session.id, WebSocket)})
}

// join finds room for a session that polls.
func (s *Server) join(session *Session) (*conn.Seat, error) {
	seat, err := s.o.Hub.Join((*guest)(session))
	if err != nil {
		return nil, err
	}
	now := session.poll.opened
	var oldest *Session
	s.mu.Lock()
	if s.polling >= s.o.MaxPolling {
		s.mu.Unlock()
		seat.Leave()
		return nil, conn.ErrFull
	}
	s.polling++
	s.sessions[session.id] = session
	for len(s.halfOpen) > 0 && time.Duration(now-s.halfOpen[0].poll.opened)*time.Millisecond > s.o.FirstRequest {
		s.popHalfOpen() // its time was up before
	}
	if len(s.halfOpen) >= s.o.MaxHalfOpen {
		oldest = s.popHalfOpen()
	}
	s.halfOpen = append(s.halfOpen, session)
	s.mu.Unlock()
	if oldest != nil {
		oldest.evict()
	}
	return seat, nil
}

// popHalfOpen needs the lock.
func (s *Server) popHalfOpen() *Session {
	first := s.halfOpen[0]
	s.halfOpen[0] = nil
	s.halfOpen = s.halfOpen[1:]
	return first
}

// forget takes a session out, which nobody finds any more then.
func (s *Server) forget(session *Session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sessions[session.id] != session {
		return
	}
	delete(s.sessions, session.id)
	if session.poll != nil && session.conn.Load() == nil {
		s.polling--
	}
}

// upgraded notes that a session polls no more.
func (s *Server) upgraded() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.polling--
}

// refuse answers with one of the protocol's refusals.
func refuse(w http.ResponseWriter, e *Error) {
	h := w.Header()
	h.Set("Content-Type", "application/json; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(e.Status())
	_ = json.NewEncoder(w).Encode(e)
}

// overloaded refuses a session for lack of room, which the protocol has no code for.
func overloaded(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Content-Type", "application/json; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("Retry-After", retryAfter)
	w.WriteHeader(http.StatusServiceUnavailable)
	_ = json.NewEncoder(w).Encode(map[string]string{"error": "the server takes no more connections now: try again later"})
}

// Why a session that polls ended, beside the errors of package conn; compare with errors.Is.
var (
	// ErrHalfOpen: no request followed the handshake in time, or too many such sessions were open.
	ErrHalfOpen = errors.New("no request behind the handshake")
	// ErrOverlap: two polls, or two posts, at the same time.
	ErrOverlap = errors.New("overlapping requests of one session")
	// ErrPollAborted: the client gave up a poll.
	ErrPollAborted = errors.New("poll given up by the client")
)
