package socketio_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"parley/transport/realtime/conn"
	"parley/transport/realtime/engineio"
	"parley/transport/realtime/socketio"
)

const soon = 20 * time.Second

// app is a server whose sockets the test can get hold of.
type app struct {
	t       *testing.T
	url     string
	sockets chan *socketio.Socket
	events  chan string
	closed  chan error
}

func (a *app) Event(_ *socketio.Socket, e socketio.Incoming) {
	a.events <- fmt.Sprintf("%s %s %d %q", e.Name, e.Args(), e.AckID, e.Attachments)
}

func (a *app) Disconnected(s *socketio.Socket, err error) {
	a.events <- fmt.Sprintf("gone from %s: %v", s.Namespace(), errors.Is(err, socketio.ErrDisconnected))
}

func start(t *testing.T, o socketio.Options) *app {
	t.Helper()
	a := &app{t: t, sockets: make(chan *socketio.Socket, 10), events: make(chan string, 100), closed: make(chan error, 10)}
	quiet := slog.New(slog.DiscardHandler)
	hub := conn.NewHub(conn.Options{Logger: quiet})
	o.Engine = engineio.Options{Hub: hub, Logger: quiet}
	o.Open = func(s *socketio.Session, r *http.Request) { s.Value = r.Header.Get("X-Name") }
	o.Closed = func(s *socketio.Session, err error) {
		if s.Value != "ann" {
			t.Errorf("the value is %v", s.Value)
		}
		a.closed <- err
	}
	enter := socketio.NamespaceFunc(func(s *socketio.Socket, auth json.RawMessage) {
		switch string(auth) {
		case `{"no":"1"}`:
			s.Refuse("not you")
		case `{"no":"2"}`:
		case `{"no":"3"}`:
			s.Leave()
			s.Close(4400, "go")
		default:
			s.Accept(a)
			a.sockets <- s
		}
	})
	srv := httptest.NewServer(socketio.New(o, map[string]socketio.Namespace{"/": enter, "/other": enter}))
	t.Cleanup(func() {
		hub.Close()
		srv.Close()
	})
	a.url = srv.URL + "/?EIO=4&transport=websocket"
	return a
}

// client is a WebSocket behind its handshake.
type client struct {
	t *testing.T
	c *websocket.Conn
}

func (a *app) dial(packets ...string) *client {
	a.t.Helper()
	c, _, err := websocket.Dial(a.t.Context(), a.url, &websocket.DialOptions{HTTPHeader: http.Header{"X-Name": {"ann"}}})
	if err != nil {
		a.t.Fatal(err)
	}
	a.t.Cleanup(func() { _ = c.CloseNow() })
	k := &client{a.t, c}
	k.wants(`0{"sid":`)
	k.send(packets...)
	return k
}

func (k *client) send(packets ...string) {
	k.t.Helper()
	for _, p := range packets {
		kind, text := websocket.MessageText, p
		if b, ok := strings.CutPrefix(p, "b:"); ok {
			kind, text = websocket.MessageBinary, b
		}
		if err := k.c.Write(k.t.Context(), kind, []byte(text)); err != nil {
			k.t.Fatal(err)
		}
	}
}

// wants reads packets that begin with what is given.
func (k *client) wants(prefixes ...string) {
	k.t.Helper()
	ctx, cancel := context.WithTimeout(k.t.Context(), soon)
	defer cancel()
	for _, want := range prefixes {
		if _, b, err := k.c.Read(ctx); err != nil || !strings.HasPrefix(string(b), want) {
			k.t.Fatalf("got %q, %v, want %s", b, err, want)
		}
	}
}

func (k *client) closes(want int) {
	k.t.Helper()
	ctx, cancel := context.WithTimeout(k.t.Context(), soon)
	defer cancel()
	if _, b, err := k.c.Read(ctx); int(websocket.CloseStatus(err)) != want {
		k.t.Fatalf("got %q, %v, want the close code %d", b, err, want)
	}
}

func (a *app) hears(want ...string) {
	a.t.Helper()
	for _, w := range want {
		select {
		case got := <-a.events:
			if got != w {
				a.t.Fatalf("heard %s, want %s", got, w)
			}
		case <-time.After(soon):
			a.t.Fatalf("heard nothing, want %s", w)
		}
	}
}

func TestAcksOfTheClient(t *testing.T) {
	a := start(t, socketio.Options{})
	k := a.dial("40/other")
	k.wants(`40/other,{"sid":"`)
	s := <-a.sockets
	answers := make(chan string, 10)
	ask := func(attachments ...[]byte) error {
		return s.EmitWithAck(func(args json.RawMessage, attachments [][]byte, err error) {
			answers <- fmt.Sprintf("%s %q %v", args, attachments, err)
		}, "ask", attachments, json.RawMessage(`1`))
	}
	for range 2 {
		if err := ask(); err != nil {
			t.Fatal(err)
		}
	}
	if err := ask([]byte("x")); err != nil {
		t.Fatal(err)
	}
	k.wants(`42/other,0["ask",1]`, `42/other,1["ask",1]`, `451-/other,2["ask",1]`, "x")
	k.send(`43/other,1["b",2]`, `43/other,1["again"]`, `43/other,99[]`, `461-/other,2[{"_placeholder":true,"num":0}]`, "b:y", `42/other,["done"]`)
	a.hears(`done [] -1 []`)
	for _, want := range []string{`["b",2] [] <nil>`, `[{"_placeholder":true,"num":0}] ["y"] <nil>`} {
		if got := <-answers; got != want {
			t.Errorf("answered %s, want %s", got, want)
		}
	}
	k.send(`41/other,`)
	a.hears("gone from /other: true")
	if got := <-answers; !strings.Contains(got, "disconnected by the client") {
		t.Errorf("the ack that never came: %s", got)
	}
	if err := ask(); !errors.Is(err, socketio.ErrGone) {
		t.Errorf("after the end: %v", err)
	}
	if s.Emit("x", nil) || s.Ack(1, nil) {
		t.Error("something is sent after the end")
	}
}

func TestPendingAcksAreBounded(t *testing.T) {
	a := start(t, socketio.Options{})
	k := a.dial("40")
	k.wants(`40{"sid":"`)
	s := <-a.sockets
	ended := make(chan error, socketio.MaxPendingAcks)
	for i := range socketio.MaxPendingAcks + 1 {
		err := s.EmitWithAck(func(_ json.RawMessage, _ [][]byte, err error) { ended <- err }, "ask", nil)
		if (i < socketio.MaxPendingAcks) != (err == nil) || err != nil && !errors.Is(err, socketio.ErrManyAcks) {
			t.Fatalf("ack %d: %v", i, err)
		}
	}
	_ = k.c.CloseNow()
	for range socketio.MaxPendingAcks {
		if err := <-ended; err == nil {
			t.Fatal("an ack came from nowhere")
		}
	}
	a.hears("gone from /: false")
	<-a.closed
}

func TestAdmission(t *testing.T) {
	a := start(t, socketio.Options{})
	k := a.dial(`40{"no":"1"}`, `40{"no":"2"}`, `40/other,{"no":"1"}`)
	k.wants(`44{"message":"not you"}`, `44{"message":"not admitted"}`, `44/other,{"message":"not you"}`)
	k.send("40", `420["x"]`)
	k.wants(`40{"sid":`)
	a.hears(`x [] 0 []`)
	k.send(`40/other,{"no":"3"}`)
	k.closes(4400)
	a.hears("gone from /: false")
	if err := <-a.closed; err == nil {
		t.Error("closed without a reason")
	}
}

// What the client has sent before it knew that the server put it out is dropped; it may come back.
func TestDisconnectByTheServer(t *testing.T) {
	a := start(t, socketio.Options{})
	k := a.dial("40", "40/other")
	k.wants(`40{"sid":`, `40/other,{"sid":`)
	<-a.sockets
	s := <-a.sockets
	s.Disconnect()
	s.Disconnect()
	k.send(`42/other,["late"]`, `451-/other,["late",{"_placeholder":true,"num":0}]`, "b:x", `42["here"]`)
	k.wants(`41/other,`)
	a.hears(`here [] -1 []`)
	k.send("40/other")
	k.wants(`40/other,{"sid":`)
	k.send(`42/other,["back"]`)
	a.hears(`back [] -1 []`)
}

func TestConnectTimeout(t *testing.T) {
	a := start(t, socketio.Options{ConnectTimeout: 100 * time.Millisecond})
	a.dial().closes(1008)
	a.dial(`40/nowhere`).wants(`44/nowhere`)
	k := a.dial("40")
	k.wants(`40{"sid":`)
	k.send(`41`)
	k.closes(1008)
}

// Packets with attachments that are sent at the same time do not mix.
func TestAttachmentsStayTogether(t *testing.T) {
	a := start(t, socketio.Options{})
	k := a.dial("40")
	k.wants(`40{"sid":"`)
	s := <-a.sockets
	var wg sync.WaitGroup
	const each = 50
	for i := range 4 {
		wg.Go(func() {
			for range each {
				s.Emit("e", [][]byte{{byte(i)}, {byte(i)}}, json.RawMessage(fmt.Sprint(i)))
			}
		})
	}
	for range 4 * each {
		_, head, err := k.c.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			kind, b, err := k.c.Read(t.Context())
			if want := fmt.Sprintf(`452-["e",%d]`, b[0]); err != nil || kind != websocket.MessageBinary || want != string(head) {
				t.Fatalf("behind %s comes %q, %v", head, b, err)
			}
		}
	}
	wg.Wait()
}
