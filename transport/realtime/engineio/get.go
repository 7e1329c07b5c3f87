package engineio

import (
	"encoding/base64"
	"errors"
	"math"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"parley/transport/realtime/conn"
)

// get serves a poll: it is answered when there is something for the client, which the next heartbeat is too.
func (s *Session) get(w http.ResponseWriter, r *http.Request) {
	p := s.poll
	if bad := s.beginGet(); bad != nil {
		refuse(w, bad)
		return
	}
	// Only the client may end the wait, not a limit that the HTTP server has on reading or writing.
	rc := http.NewResponseController(w)
	_ = rc.SetReadDeadline(time.Time{})
	_ = rc.SetWriteDeadline(time.Time{})
	frames, alive := s.await(r)
	if !alive {
		return
	}
	size := 0
	for _, f := range frames {
		size += f.Size()
	}
	err := s.server.answer(w, frames)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.writing -= size
	switch {
	case p.phase == closing && p.last == nil:
		s.finishLocked() // that was the last packet
	case errors.Is(err, os.ErrDeadlineExceeded):
		s.cutLocked()
	case err != nil:
		s.endLocked(err, nil, false)
	}
}

// beginGet checks that a poll may be held.
func (s *Session) beginGet() *Error {
	p := s.poll
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fresh = false
	switch {
	case s.conn.Load() != nil:
		return ErrRequest
	case p.phase == ended:
		return ErrSession
	case p.getting:
		s.endLocked(ErrOverlap, closeFrame, false)
		return ErrRequest
	case p.phase == open && s.overdue():
		s.endLocked(conn.ErrPingTimeout, closeFrame, false)
		return ErrSession
	}
	p.getting = true
	return nil
}

// await holds a poll until there is something for it. Not alive: the client has given up.
func (s *Session) await(r *http.Request) (frames []*conn.Frame, alive bool) {
	p := s.poll
	limit := answerLimit(r)
	p.mu.Lock()
	defer p.mu.Unlock()
	held := false // long enough for a client that tries a WebSocket
	for {
		switch {
		case len(p.queue) > 0 || p.last != nil:
			return p.take(limit, s.server.o.Hub.Now()), true
		case p.phase != open: // it ended without a word
			p.last = closeFrame
			return p.take(limit, s.server.o.Hub.Now()), true
		case held || s.conn.Load() != nil:
			p.queue = []*conn.Frame{noopFrame}
			p.bytes = noopFrame.Size()
			return p.take(limit, s.server.o.Hub.Now()), true
		}
		var release <-chan time.Time
		var timer *time.Timer
		if p.probed {
			timer = time.NewTimer(upgradeHold)
			release = timer.C
		}
		p.mu.Unlock()
		gone := false
		select {
		case <-p.wake:
		case <-release:
			held = true
		case <-r.Context().Done():
			gone = true
		}
		if timer != nil {
			timer.Stop()
		}
		p.mu.Lock()
		if gone {
			s.abandoned()
			return nil, false
		}
	}
}

// abandoned ends the session of a client that has gone away from its poll. It needs the lock.
func (s *Session) abandoned() {
	p := s.poll
	p.getting = false
	if p.phase == closing {
		s.finishLocked()
		return
	}
	s.endLocked(ErrPollAborted, nil, false)
}

// pythonPackets is how many packets python-engineio takes in one payload; it drops a larger one and stops to poll.
const pythonPackets = 16

// answerLimit is how many packets the client that polls takes at a time.
func answerLimit(r *http.Request) int {
	const python = "python" // python-requests/…, Python/… aiohttp/…
	agent := r.UserAgent()
	if len(agent) >= len(python) && strings.EqualFold(agent[:len(python)], python) {
		return pythonPackets
	}
	return math.MaxInt
}

// take moves what waits, up to a number of packets, into the answer of the poll that is held. The last packet travels alone,
// since clients look at it before they have handled what comes with it. It needs the lock.
func (p *polling) take(limit int, now int64) []*conn.Frame {
	p.getting = false // the client may send the next poll before this one's handler has returned
	if len(p.queue) == 0 {
		last := p.last
		p.last = nil
		p.writing += last.Size()
		return []*conn.Frame{last}
	}
	frames := p.queue
	if len(frames) <= limit {
		p.writing += p.bytes
		p.queue, p.bytes, p.since = nil, 0, 0
		return frames
	}
	frames, p.queue = frames[:limit:limit], frames[limit:]
	for _, f := range frames {
		p.bytes -= f.Size()
		p.writing += f.Size()
	}
	p.since = now // the client gets on with it
	return frames
}

// answer writes frames as one payload, for which the client has Options.MaxWait of the Hub.
func (s *Server) answer(w http.ResponseWriter, frames []*conn.Frame) error {
	size := len(frames) - 1
	for _, f := range frames {
		size += payloadSize(f)
	}
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=UTF-8")
	h.Set("Content-Length", strconv.Itoa(size))
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	rc := http.NewResponseController(w)
	_ = rc.SetWriteDeadline(time.Now().Add(s.o.Hub.Options().MaxWait))
	for i, f := range frames {
		if i > 0 {
			if _, err := w.Write([]byte{separator}); err != nil {
				return err
			}
		}
		b := f.Payload()
		if f.IsBinary() {
			b = base64.StdEncoding.AppendEncode([]byte{binaryPrefix}, b)
		}
		if _, err := w.Write(b); err != nil {
			return err
		}
	}
	if err := rc.Flush(); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	_ = rc.SetWriteDeadline(time.Time{})
	s.o.Hub.CountSent(len(frames), size)
	return nil
}

// payloadSize is the length of a frame in a payload in bytes.
func payloadSize(f *conn.Frame) int {
	n := len(f.Payload())
	if f.IsBinary() {
		return 1 + base64.StdEncoding.EncodedLen(n)
	}
	return n
}
