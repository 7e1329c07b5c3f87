package engineio

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"runtime/debug"
	"slices"
	"time"

	"parley/transport/realtime/conn"
)

const (
	// napLimit is the longest sleep of a post that must slow down, so that it notices the end of its session.
	napLimit = 50 * time.Millisecond
	// bodyChunk is how many bytes of a body are read at a time.
	bodyChunk = 16 << 10
)

// post takes a payload of the client. It is answered when all of it was handled, so that a client which sends too much
// is slowed down.
func (s *Session) post(w http.ResponseWriter, r *http.Request) {
	limit, bad := s.beginPost(r)
	if bad != nil {
		refuse(w, bad)
		return
	}
	body, err := s.body(w, r, limit)
	if err == nil {
		err = s.handle(body)
	}
	p := s.poll
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(s.server.o.Hub.Options().MaxWait))
	p.mu.Lock()
	p.posting = false // the client may send the next one before this handler has returned
	p.mu.Unlock()
	var closed *conn.CloseError
	switch {
	case err == nil:
		h := w.Header()
		h.Set("Content-Type", "text/plain; charset=UTF-8")
		h.Set("Cache-Control", "no-store")
		_, _ = io.WriteString(w, "ok")
	case errors.As(err, &closed) && closed.Code == conn.CodeTooBig:
		s.end(err)
		w.Header().Set("Connection", "close") // nothing of the rest is worth reading
		w.WriteHeader(http.StatusRequestEntityTooLarge)
	default:
		s.end(err)
		refuse(w, ErrRequest)
	}
}

// beginPost checks that a post may be read, and returns its limit in bytes.
func (s *Session) beginPost(r *http.Request) (limit int, bad *Error) {
	p := s.poll
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fresh = false
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch {
	case s.conn.Load() != nil:
		return 0, ErrRequest
	case p.phase != open:
		return 0, ErrSession
	case p.posting:
		s.endLocked(ErrOverlap, closeFrame, false)
		return 0, ErrRequest
	case s.overdue():
		s.endLocked(conn.ErrPingTimeout, closeFrame, false)
		return 0, ErrSession
	case kind == "application/octet-stream": // the binary payload of an older version
		s.endLocked(protocolError("binary payloads are not of this version"), closeFrame, false)
		return 0, ErrRequest
	}
	p.posting = true
	return p.limit, nil
}

// body reads the payload. Memory grows with what has come, and what comes is a sign of life.
func (s *Session) body(w http.ResponseWriter, r *http.Request, limit int) ([]byte, error) {
	tooBig := &conn.CloseError{Code: conn.CodeTooBig, Reason: "payload is too big"}
	if r.ContentLength > int64(limit) {
		return nil, tooBig
	}
	rc := http.NewResponseController(w)
	_ = rc.SetReadDeadline(time.Now().Add(s.server.o.BodyTimeout))
	_ = rc.SetWriteDeadline(time.Time{}) // a client that is slowed down is answered late
	var body []byte
	for {
		body = slices.Grow(body, int(min(max(r.ContentLength-int64(len(body)), 512), bodyChunk)))
		n, err := r.Body.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		s.poll.heard.Store(s.server.o.Hub.Now())
		switch {
		case len(body) > limit:
			return nil, tooBig
		case errors.Is(err, io.EOF):
			return body, nil
		case err != nil:
			return nil, fmt.Errorf("read the payload: %w", err)
		}
	}
}

// handle gives the packets of a payload to the handler. An error ends the session.
func (s *Session) handle(body []byte) error {
	packets, err := DecodePayload(body)
	if err != nil {
		return protocolError(err.Error())
	}
	p := s.poll
	p.recv.Lock()
	defer p.recv.Unlock()
	work := func(on bool) {
		p.heard.Store(s.server.o.Hub.Now())
		p.mu.Lock()
		p.working = on
		p.mu.Unlock()
	}
	work(true)
	defer work(false)
	for i := range packets {
		if !s.slow() {
			return nil // it has ended, of which the client is told by its poll
		}
		switch k := &packets[i]; k.Type {
		case Message:
			s.call(k)
		case Pong, Noop:
		case Close:
			p.mu.Lock()
			s.endLocked(&conn.CloseError{Code: conn.CodeNormal, Remote: true}, noopFrame, false)
			p.mu.Unlock()
			return nil
		default:
			return protocolError(unexpected(k.Type))
		}
	}
	return nil
}

// call runs the handler. A panic in it costs this session alone.
func (s *Session) call(k *Packet) {
	defer func() {
		if v := recover(); v != nil {
			s.server.o.Logger.Error("panic in a message handler", "panic", v, "stack", string(debug.Stack()))
			s.Close(conn.CodeInternal, "internal error")
		}
	}()
	s.handler.Message(s, k.Data, k.Binary)
}

// slow takes an event from the rate and sleeps while there is none; false: the session is not open any more.
func (s *Session) slow() bool {
	p := s.poll
	live := func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.phase == open
	}
	wait := p.seat.Pace()
	for wait > 0 && live() {
		nap := min(wait, napLimit)
		time.Sleep(nap)
		wait -= nap
	}
	return live()
}

func protocolError(reason string) error {
	return &conn.CloseError{Code: conn.CodeProtocol, Reason: reason}
}
