package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"
)

// Limits of sockets.
const (
	dialTimeout  = 15 * time.Second
	writeTimeout = 15 * time.Second
	maxFrame     = 16 << 20 // bytes of an incoming frame
)

// ErrClosed means that a socket ended while something was waited for.
var ErrClosed = errors.New("the socket is closed")

// RefusedError is the server's refusal of a socket's credential: Socket.IO's CONNECT_ERROR.
type RefusedError struct{ Message string }

func (e *RefusedError) Error() string { return "connect refused: " + e.Message }

// Frame is what a socket received: an event, or with Ack the answer to a call.
type Frame struct {
	Event string
	Data  json.RawMessage // the first argument
	Args  int             // how many arguments came; every event has one
	Ack   uint64          // number of the call that this answers; 0 for events
}

// format is one of the two wire formats.
type format interface {
	name() string
	target(base string) string
	// greet authenticates: it returns when the server has accepted the credential.
	greet(ctx context.Context, c *line, token string) (Frame, error)
	encode(event string, data any, ack uint64) ([]byte, error)
	// decode reads a frame; answer, if not nil, has to be sent back. ok is false when the frame carries nothing.
	decode(text []byte) (f Frame, answer []byte, ok bool, err error)
}

// Socket is a live connection. Its methods may be called from any goroutine; Wait and Next from one at a time.
type Socket struct {
	conn   *line
	format format
	// Ready is what the server said when it accepted the credential.
	Ready Frame

	mu    sync.Mutex
	log   []Frame
	read  int // frames of the log that Next has returned
	calls uint64
	acks  map[uint64]chan Frame
	more  chan struct{} // replaced, and the old one closed, when the log grows
	err   error
	ended chan struct{}
}

// DialSocketIO opens a socket that speaks Socket.IO v4 over a WebSocket (clients.md 3.1).
func DialSocketIO(ctx context.Context, base, token string) (*Socket, error) {
	return dial(ctx, base, token, socketIO{})
}

// DialPlain opens a socket in the plain format (decisions 26, 45).
func DialPlain(ctx context.Context, base, token string) (*Socket, error) {
	return dial(ctx, base, token, plain{})
}

func dial(ctx context.Context, base, token string, f format) (*Socket, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	conn, err := DialRaw(ctx, f.target(base), nil)
	if err != nil {
		return nil, err
	}
	wire := newLine(conn, f)
	ready, err := f.greet(ctx, wire, token)
	if err != nil {
		_ = conn.CloseNow() // the refusal is what counts
		return nil, err
	}
	s := &Socket{conn: wire, format: f, Ready: ready, acks: map[uint64]chan Frame{}, more: make(chan struct{}), ended: make(chan struct{})}
	go s.receive()
	return s, nil
}

// DialRaw opens a WebSocket and says nothing on it. The address may begin with http.
func DialRaw(ctx context.Context, address string, header http.Header) (*websocket.Conn, error) {
	conn, res, err := websocket.Dial(ctx, strings.Replace(address, "http", "ws", 1), &websocket.DialOptions{HTTPHeader: header}) //nolint:bodyclose // the library closes it
	if err != nil {
		if res != nil && res.StatusCode != http.StatusSwitchingProtocols {
			return nil, &StatusError{res.StatusCode, err.Error()}
		}
		return nil, err
	}
	conn.SetReadLimit(maxFrame)
	return conn, nil
}

// receive puts what comes into the log, until the connection ends.
func (s *Socket) receive() {
	for {
		_, text, err := s.conn.read(context.Background())
		if err != nil {
			s.end(err)
			return
		}
		f, answer, ok, err := s.format.decode(text)
		if err != nil {
			_ = s.conn.CloseNow() // it talks nonsense
			s.end(err)
			return
		}
		if answer != nil {
			if err := s.WriteText(answer); err != nil {
				s.end(err)
				return
			}
		}
		if ok {
			s.put(f)
		}
	}
}

func (s *Socket) put(f Frame) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, f)
	if waiting := s.acks[f.Ack]; f.Ack != 0 && waiting != nil {
		waiting <- f // has room for one, and a call is answered once
		delete(s.acks, f.Ack)
	}
	close(s.more)
	s.more = make(chan struct{})
}

func (s *Socket) end(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
	close(s.ended)
}

// WriteText sends a text frame as it is.
func (s *Socket) WriteText(text []byte) error {
	ctx, cancel := context.WithTimeout(context.Background(), writeTimeout)
	defer cancel()
	return s.conn.write(ctx, text)
}

// Emit sends an event.
func (s *Socket) Emit(event string, data any) error {
	frame, err := s.format.encode(event, data, 0)
	if err != nil {
		return err
	}
	return s.WriteText(frame)
}

// Begin sends an event that wants an answer, and returns the number of the call and where the answer will come.
func (s *Socket) Begin(event string, data any) (uint64, <-chan Frame, error) {
	answer := make(chan Frame, 1)
	s.mu.Lock()
	s.calls++
	call := s.calls
	s.acks[call] = answer
	s.mu.Unlock()
	frame, err := s.format.encode(event, data, call)
	if err == nil {
		err = s.WriteText(frame)
	}
	return call, answer, err
}

// Call sends an event and waits for its answer, which it decodes into out.
func (s *Socket) Call(ctx context.Context, event string, data, out any) error {
	_, answer, err := s.Begin(event, data)
	if err != nil {
		return fmt.Errorf("%s: %w", event, err)
	}
	select {
	case f := <-answer:
		if f.Args != 1 {
			return fmt.Errorf("%s: the ack has %d arguments, want one", event, f.Args)
		}
		return json.Unmarshal(f.Data, out)
	case <-s.ended:
		return fmt.Errorf("%s: no ack: %w (%w)", event, ErrClosed, s.Err())
	case <-ctx.Done():
		return fmt.Errorf("%s: no ack: %w", event, ctx.Err())
	}
}

// Send posts a message and waits until it is durable.
func (s *Socket) Send(ctx context.Context, agencyID, content, clientID string) (Ack, error) {
	var a Ack
	body := map[string]string{"agencyId": agencyID, "content": content}
	if clientID != "" {
		body["clientId"] = clientID
	}
	err := s.Call(ctx, "send-message", body, &a)
	return a, err
}

// Join enters a room and waits for agency-joined or error; since, if not nil, asks for what came after it. Frames that
// come before the answer stay in the log but are not returned by Next any more.
func (s *Socket) Join(ctx context.Context, agencyID string, since *uint64) (*Joined, error) {
	body := map[string]any{"agencyId": agencyID}
	if since != nil {
		body["since"] = *since
	}
	if err := s.Emit("join-agency", body); err != nil {
		return nil, err
	}
	f, err := s.Wait(ctx, "agency-joined or error", func(f Frame) bool { return f.Event == "agency-joined" || f.Event == "error" })
	if err != nil {
		return nil, err
	}
	if f.Event == "error" {
		return nil, fmt.Errorf("join %s: %s", agencyID, f.Data)
	}
	var j Joined
	if err := json.Unmarshal(f.Data, &j); err != nil {
		return nil, err
	}
	return &j, nil
}

// Next returns the next frame that was not returned before.
func (s *Socket) Next(ctx context.Context) (Frame, error) {
	for {
		s.mu.Lock()
		if s.read < len(s.log) {
			f := s.log[s.read]
			s.read++
			s.mu.Unlock()
			return f, nil
		}
		more := s.more
		s.mu.Unlock()
		select {
		case <-more:
		case <-s.ended:
			if s.unread() == 0 {
				return Frame{}, fmt.Errorf("%w: %w", ErrClosed, s.Err())
			}
		case <-ctx.Done():
			return Frame{}, ctx.Err()
		}
	}
}

func (s *Socket) unread() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.log) - s.read
}

// Wait passes over frames until one matches. what says in errors what was expected.
func (s *Socket) Wait(ctx context.Context, what string, match func(Frame) bool) (Frame, error) {
	passed := 0
	for {
		f, err := s.Next(ctx)
		if err != nil {
			return f, fmt.Errorf("waiting for %s, %d other frames came: %w", what, passed, err)
		}
		if match(f) {
			return f, nil
		}
		passed++
	}
}

// WaitEvent is Wait for an event by its name, decoded into out, which may be nil.
func (s *Socket) WaitEvent(ctx context.Context, event string, out any) error {
	f, err := s.Wait(ctx, event, func(f Frame) bool { return f.Event == event })
	if err != nil || out == nil {
		return err
	}
	return json.Unmarshal(f.Data, out)
}

// Log is everything that came so far, in its order.
func (s *Socket) Log() []Frame {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Frame(nil), s.log...)
}

// Ended is closed when the connection has ended.
func (s *Socket) Ended() <-chan struct{} { return s.ended }

// Err is why the connection ended; nil before.
func (s *Socket) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// CloseCode waits for the end of the connection and returns the code of the server's close frame, -1 without one.
func (s *Socket) CloseCode(ctx context.Context) (int, error) {
	select {
	case <-s.ended:
		return int(websocket.CloseStatus(s.Err())), nil
	case <-ctx.Done():
		return 0, fmt.Errorf("waiting for the server to close: %w", ctx.Err())
	}
}

// Conn is the connection itself, for what the protocol does not have.
func (s *Socket) Conn() *websocket.Conn { return s.conn.Conn }

// Close ends the connection without a farewell.
func (s *Socket) Close() { _ = s.conn.CloseNow() }
