package conn

import (
	"context"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// recorder is a Handler that remembers.
type recorder struct {
	mu     sync.Mutex
	texts  []string
	closed []error
	on     func(c *Conn, p []byte)
}

func (r *recorder) Message(c *Conn, p []byte) {
	if r.on != nil {
		r.on(c, p)
		return
	}
	r.mu.Lock()
	r.texts = append(r.texts, string(p))
	r.mu.Unlock()
}

func (r *recorder) Closed(_ *Conn, err error) {
	r.mu.Lock()
	r.closed = append(r.closed, err)
	r.mu.Unlock()
}

func (r *recorder) ends() []error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]error(nil), r.closed...)
}

func (r *recorder) got() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.texts...)
}

// rig is a hub behind an HTTP server.
type rig struct {
	t     *testing.T
	hub   *Hub
	srv   *httptest.Server
	conns chan *Conn
}

func newRig(t *testing.T, o Options, h func() Handler) *rig {
	t.Helper()
	return newRigServer(t, o, h, httptest.NewServer)
}

func newRigServer(t *testing.T, o Options, h func() Handler, serve func(http.Handler) *httptest.Server) *rig {
	t.Helper()
	before := runtime.NumGoroutine()
	r := &rig{t: t, hub: NewHub(o), conns: make(chan *Conn, 4096)}
	r.srv = serve(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		c, err := r.hub.Accept(w, req, AcceptOptions{})
		if err != nil {
			return
		}
		c.Serve(h())
		r.conns <- c
	}))
	t.Cleanup(func() {
		r.hub.Close()
		r.srv.CloseClientConnections()
		r.srv.Close()
		http.DefaultClient.CloseIdleConnections()
		wait(t, "goroutines to end", func() bool { return runtime.NumGoroutine() <= before })
	})
	return r
}

// dial connects a client of the library.
func (r *rig) dial() (*websocket.Conn, *Conn) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	ws, _, err := websocket.Dial(ctx, "ws"+strings.TrimPrefix(r.srv.URL, "http"), &websocket.DialOptions{HTTPClient: r.srv.Client()})
	if err != nil {
		r.t.Fatal(err)
	}
	ws.SetReadLimit(-1)
	r.t.Cleanup(func() { _ = ws.CloseNow() })
	return ws, <-r.conns
}

// wait polls until ok or fails after ten seconds.
func wait(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("waited too long for %s", what)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	t.Cleanup(cancel)
	return ctx
}
