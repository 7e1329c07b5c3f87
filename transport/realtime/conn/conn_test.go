package conn

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
)

func echo() Handler {
	return &recorder{on: func(c *Conn, p []byte) { c.Push(Text(p)) }}
}

func TestEchoSizes(t *testing.T) {
	for name, serve := range map[string]func(http.Handler) *httptest.Server{"tcp": httptest.NewServer, "tls": httptest.NewTLSServer} {
		t.Run(name, func(t *testing.T) {
			r := newRigServer(t, Options{}, echo, serve)
			ws, _ := r.dial()
			for _, n := range []int{0, 1, 125, 126, 127, 4095, 16 << 10, 65535, 65536, 3 << 20, 8 << 20} {
				want := bytes.Repeat([]byte("é"), n/2+1)[:n/2*2]
				if err := ws.Write(within(t), websocket.MessageText, want); err != nil {
					t.Fatal(n, err)
				}
				typ, got, err := ws.Read(within(t))
				if err != nil || typ != websocket.MessageText || !bytes.Equal(got, want) {
					t.Fatalf("%d bytes: got %d, %v", n, len(got), err)
				}
			}
		})
	}
}

// TestMix sends data from several goroutines while both sides ping: frames stay whole and each
// sender's stay in order.
func TestMix(t *testing.T) {
	const senders, each = 4, 2000
	r := newRig(t, Options{Rate: 1 << 20}, func() Handler { return &recorder{} })
	ws, c := r.dial()
	var wg sync.WaitGroup
	for s := range senders {
		wg.Go(func() {
			for i := 0; i < each; {
				if c.Waiting() > 256<<10 {
					runtime.Gosched()
					continue
				}
				c.Push(Text(fmt.Appendf(nil, "%d %d %s", s, i, strings.Repeat("x", i%700))))
				if i%16 == 0 {
					c.Push(Ping())
				}
				i++
			}
		})
	}
	pinged := make(chan error, 1)
	go func() {
		var err error
		for range 200 {
			err = errors.Join(err, ws.Ping(within(t)))
		}
		pinged <- err
	}()
	next := make([]int, senders)
	for range senders * each {
		_, b, err := ws.Read(within(t))
		if err != nil {
			t.Fatal(err)
		}
		var s, i int
		var pad string
		if _, err := fmt.Sscanf(string(b)+" ", "%d %d %s", &s, &i, &pad); err != nil && i%700 != 0 {
			t.Fatalf("corrupt message %.40q: %v", b, err)
		}
		if next[s] != i || len(pad) != i%700 {
			t.Fatalf("sender %d: message %d with %d of padding, want message %d", s, i, len(pad), next[s])
		}
		next[s]++
	}
	wg.Wait()
	go func() { _, _, _ = ws.Read(within(t)) }() // for the pongs
	if err := <-pinged; err != nil {
		t.Fatal(err)
	}
}

func TestCloses(t *testing.T) {
	short := Options{CloseGrace: 300 * time.Millisecond}
	t.Run("by server", func(t *testing.T) {
		h := &recorder{}
		r := newRig(t, short, func() Handler { return h })
		ws, c := r.dial()
		c.Push(Text([]byte("last words")))
		c.Close(CodeServiceRestart, "restart")
		if c.Push(Text([]byte("late"))) {
			t.Fatal("pushed after close")
		}
		if _, b, err := ws.Read(within(t)); err != nil || string(b) != "last words" {
			t.Fatal(string(b), err)
		}
		_, _, err := ws.Read(within(t))
		if websocket.CloseStatus(err) != websocket.StatusServiceRestart || !strings.Contains(err.Error(), "restart") {
			t.Fatal(err)
		}
		expectEnd(t, h, func(err error) bool {
			var ce *CloseError
			return errors.As(err, &ce) && ce.Code == CodeServiceRestart && !ce.Remote
		})
		wait(t, "the connection to go", func() bool { return r.hub.Len() == 0 })
	})
	t.Run("by client", func(t *testing.T) {
		h := &recorder{}
		r := newRig(t, short, func() Handler { return h })
		ws, _ := r.dial()
		if err := ws.Close(4000, "bye"); err != nil {
			t.Fatal(err)
		}
		expectEnd(t, h, func(err error) bool {
			var ce *CloseError
			return errors.As(err, &ce) && ce.Code == 4000 && ce.Reason == "bye" && ce.Remote
		})
		wait(t, "the connection to go", func() bool { return r.hub.Len() == 0 })
	})
	t.Run("client that does not answer", func(t *testing.T) {
		h := &recorder{}
		r := newRig(t, short, func() Handler { return h })
		raw := dialRaw(t, r.srv.Listener.Addr().String())
		(<-r.conns).Close(CodeGoingAway, "")
		if code, _ := raw.expectClose(); code != CodeGoingAway {
			t.Fatal(code)
		}
		wait(t, "the connection to go", func() bool { return r.hub.Len() == 0 && len(h.ends()) == 1 })
	})
	t.Run("connection lost", func(t *testing.T) {
		h := &recorder{}
		r := newRig(t, short, func() Handler { return h })
		raw := dialRaw(t, r.srv.Listener.Addr().String())
		_ = raw.nc.Close()
		expectEnd(t, h, func(err error) bool { return errors.Is(err, io.EOF) })
	})
	t.Run("abort", func(t *testing.T) {
		h := &recorder{}
		r := newRig(t, short, func() Handler { return h })
		_, c := r.dial()
		c.Abort()
		c.Abort()
		expectEnd(t, h, func(err error) bool { return errors.Is(err, ErrAborted) })
	})
	t.Run("never served", func(t *testing.T) {
		hub := NewHub(short)
		defer hub.Close()
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if c, err := hub.Accept(w, r, AcceptOptions{}); err == nil {
				c.Close(4401, "no")
			}
		}))
		defer srv.Close()
		raw := dialRaw(t, srv.Listener.Addr().String())
		if code, reason := raw.expectClose(); code != 4401 || reason != "no" {
			t.Fatal(code, reason)
		}
		wait(t, "the connection to go", func() bool { return hub.Len() == 0 })
	})
}

// expectEnd waits for exactly one Closed.
func expectEnd(t *testing.T, h *recorder, ok func(error) bool) {
	t.Helper()
	wait(t, "Closed", func() bool { return len(h.ends()) > 0 })
	time.Sleep(5 * time.Millisecond) // room for a second call, which would be wrong
	if ends := h.ends(); len(ends) != 1 || !ok(ends[0]) {
		t.Fatalf("ended with %v", ends)
	}
}

func TestConcurrentEnds(t *testing.T) {
	r := newRig(t, Options{CloseGrace: 200 * time.Millisecond}, func() Handler { return &recorder{} })
	for range 100 {
		raw := dialRaw(t, r.srv.Listener.Addr().String())
		c := <-r.conns
		var wg sync.WaitGroup
		for _, f := range []func(){
			func() { c.Close(CodeNormal, "") }, c.Abort,
			func() { raw.send(masked(finBit|opClose, []byte{3, 232})) },
			func() { _ = raw.nc.Close() },
			func() {
				for range 50 {
					c.Push(Text([]byte(strings.Repeat("x", 5000))))
				}
			},
		} {
			wg.Go(f)
		}
		wg.Wait()
	}
	wait(t, "all connections to go", func() bool { return r.hub.Len() == 0 })
}

func TestPanicCostsOneConnection(t *testing.T) {
	h := &recorder{on: func(*Conn, []byte) { panic("boom") }}
	r := newRig(t, Options{Logger: quiet()}, func() Handler { return h })
	raw := dialRaw(t, r.srv.Listener.Addr().String())
	raw.send(text("x"))
	if code, _ := raw.expectClose(); code != CodeInternal {
		t.Fatal(code)
	}
}

func TestEarlyBytes(t *testing.T) {
	r := newRig(t, Options{}, echo)
	raw := dialRaw(t, r.srv.Listener.Addr().String(), text("early")...)
	if _, p, err := raw.recv(); err != nil || string(p) != "early" {
		t.Fatal(string(p), err)
	}
}

// TestOneGoroutine: an idle connection is one goroutine, also after it has run its handler.
func TestOneGoroutine(t *testing.T) {
	const n = 200
	r := newRig(t, Options{}, echo)
	before := runtime.NumGoroutine()
	clients := make([]*rawClient, n)
	for i := range clients {
		clients[i] = dialRaw(t, r.srv.Listener.Addr().String(), text("a")...)
		if _, _, err := clients[i].recv(); err != nil {
			t.Fatal(err)
		}
	}
	wait(t, "one goroutine a connection", func() bool { return runtime.NumGoroutine() <= before+n })
}

func TestReadRateSlowsDown(t *testing.T) {
	r := newRig(t, Options{Rate: 100, Burst: 10}, echo)
	raw := dialRaw(t, r.srv.Listener.Addr().String())
	begun := time.Now()
	for i := range 40 {
		raw.send(text(fmt.Sprint(i)))
	}
	for i := range 40 {
		if _, p, err := raw.recv(); err != nil || string(p) != fmt.Sprint(i) {
			t.Fatal(i, string(p), err)
		}
	}
	if took := time.Since(begun); took < 280*time.Millisecond {
		t.Fatalf("40 events in %v, want 10 at once and 30 at 100/s", took)
	}
}

func TestRateSleepEndsWithClose(t *testing.T) {
	h := &recorder{}
	r := newRig(t, Options{Rate: 1, Burst: 1}, func() Handler { return h })
	raw := dialRaw(t, r.srv.Listener.Addr().String())
	for range 100 {
		raw.send(text("x"))
	}
	wait(t, "the first message", func() bool { return len(h.got()) > 0 })
	(<-r.conns).Abort()
	begun := time.Now()
	wait(t, "Closed", func() bool { return len(h.ends()) == 1 })
	if took := time.Since(begun); took > time.Second {
		t.Fatalf("the reader slept on for %v", took)
	}
}

func TestPace(t *testing.T) {
	var p pace
	step := 20 * time.Millisecond
	now := int64(time.Hour)
	for i := range 200 {
		if w := p.take(now, step, 200); w != 0 {
			t.Fatalf("token %d: wait %v", i, w)
		}
	}
	if w := p.take(now, step, 200); w != step {
		t.Fatalf("wait %v, want %v", w, step)
	}
	now += int64(time.Hour)
	for i := range 200 {
		if w := p.take(now, step, 200); w != 0 {
			t.Fatalf("after a pause, token %d: wait %v", i, w)
		}
	}
}
