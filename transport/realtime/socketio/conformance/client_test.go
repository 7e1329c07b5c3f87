package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// soon bounds everything that a test waits for.
const soon = 20 * time.Second

// calm are options of a server that sends no heartbeat while a test looks at something else.
var calm = Options{PingInterval: time.Minute, PingTimeout: time.Minute}

// rig is a server, and a client of one of its paths.
type rig struct {
	t    *testing.T
	s    *Server
	base string // with the path
}

func start(t *testing.T, path string, o Options) *rig {
	t.Helper()
	o.Logger = slog.New(slog.DiscardHandler)
	s := New(o)
	srv := httptest.NewServer(s)
	t.Cleanup(func() {
		s.Hub.Close()
		srv.Close()
	})
	return &rig{t, s, srv.URL + path}
}

type answer struct {
	status int
	body   string
	header http.Header
}

func (r *rig) do(method, query, body string) answer {
	r.t.Helper()
	a, err := r.try(method, query, body)
	if err != nil {
		r.t.Error(err)
	}
	return a
}

func (r *rig) try(method, query, body string) (a answer, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), soon)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, r.base+query, strings.NewReader(body))
	if err != nil {
		return a, err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return a, err
	}
	defer func() { _ = res.Body.Close() }()
	b, err := io.ReadAll(res.Body)
	return answer{res.StatusCode, string(b), res.Header}, err
}

// handshake is the open packet.
type handshake struct {
	SID                                   string
	Upgrades                              []string
	PingInterval, PingTimeout, MaxPayload int
}

func (r *rig) opened(packet string) (h handshake) {
	r.t.Helper()
	if !strings.HasPrefix(packet, "0{") || json.Unmarshal([]byte(packet[1:]), &h) != nil || h.SID == "" {
		r.t.Fatalf("the handshake is %q", packet)
	}
	return h
}

// open begins a session that polls, and returns the part of the query that names it.
func (r *rig) open() string {
	r.t.Helper()
	a := r.do("GET", "?EIO=4&transport=polling", "")
	return "?EIO=4&transport=polling&sid=" + r.opened(a.body).SID
}

// wants sends a request and looks at its answer.
func (r *rig) wants(method, query, body string, status int, want string) {
	r.t.Helper()
	if a := r.do(method, query, body); a.status != status || want != "" && a.body != want {
		r.t.Errorf("%s %q is answered with %d %q, want %d %q", method, body, a.status, a.body, status, want)
	}
}

// refused wants a refusal of the protocol.
func (r *rig) refused(method, query string, code int) {
	r.t.Helper()
	var e struct {
		Code    *int
		Message string
	}
	a := r.do(method, query, "")
	if json.Unmarshal([]byte(a.body), &e) != nil || e.Code == nil || *e.Code != code || e.Message == "" || a.status != 400 ||
		!strings.HasPrefix(a.header.Get("Content-Type"), "application/json") {
		r.t.Errorf("%s %s is refused with %d %s, want code %d", method, query, a.status, a.body, code)
	}
}

// later does something at the same time and returns a function that waits for its answer.
func later[T any](f func() T) func() T {
	c := make(chan T, 1)
	go func() { c <- f() }()
	return func() T { return <-c }
}

// socket is a WebSocket.
type socket struct {
	r *rig
	c *websocket.Conn
}

func (r *rig) dial(query string) *socket {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), soon)
	defer cancel()
	c, _, err := websocket.Dial(ctx, r.base+query, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	c.SetReadLimit(16 << 20)
	r.t.Cleanup(func() { _ = c.CloseNow() })
	return &socket{r, c}
}

func (s *socket) send(packets ...string) {
	s.r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), soon)
	defer cancel()
	for _, p := range packets {
		kind, text := websocket.MessageText, p
		if b, ok := strings.CutPrefix(p, "b:"); ok {
			kind, text = websocket.MessageBinary, b
		}
		if err := s.c.Write(ctx, kind, []byte(text)); err != nil {
			s.r.t.Fatalf("send %q: %v", p, err)
		}
	}
}

// next reads a packet; a binary one begins with "b:".
func (s *socket) next() (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), soon)
	defer cancel()
	kind, b, err := s.c.Read(ctx)
	if kind == websocket.MessageBinary {
		return "b:" + string(b), err
	}
	return string(b), err
}

func (s *socket) wants(packets ...string) {
	s.r.t.Helper()
	for _, want := range packets {
		if got, err := s.next(); err != nil || got != want {
			s.r.t.Fatalf("got %q, %v, want %q", got, err, want)
		}
	}
}

// closes wants the end, whatever comes before it, and returns its code.
func (s *socket) closes() websocket.StatusCode {
	s.r.t.Helper()
	for {
		_, err := s.next()
		if errors.Is(err, context.DeadlineExceeded) {
			s.r.t.Fatal("the connection stays open")
		}
		if err != nil {
			return websocket.CloseStatus(err)
		}
	}
}
