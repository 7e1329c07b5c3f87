package engineio

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"parley/transport/realtime/conn"
)

const soon = 20 * time.Second

// rig is a server whose handlers remember, and may be told to push.
type rig struct {
	t      *testing.T
	hub    *conn.Hub
	server *Server
	http   *httptest.Server

	mu       sync.Mutex
	sessions map[string]*record // by id
}

// record is a Handler that remembers.
type record struct {
	*Session
	rig  *rig
	got  []string
	busy bool
	ends []error
}

func (r *record) Message(_ *Session, data []byte, binary bool) {
	r.rig.mu.Lock()
	if r.busy || len(r.ends) > 0 {
		r.rig.t.Error("the handler was called twice at a time, or after the end")
	}
	r.busy = true
	r.got = append(r.got, fmt.Sprintf("%s%v", data, binary)[:len(data)])
	r.rig.mu.Unlock()
	if string(data) == "panic" {
		defer r.done()
		panic("of a handler")
	}
	r.done()
}

func (r *record) done() {
	r.rig.mu.Lock()
	r.busy = false
	r.rig.mu.Unlock()
}

func (r *record) Closed(_ *Session, err error) {
	r.rig.mu.Lock()
	defer r.rig.mu.Unlock()
	if r.busy {
		r.rig.t.Error("the end was told while a message was being handled")
	}
	r.ends = append(r.ends, err)
}

func newRig(t *testing.T, h conn.Options, o Options) *rig {
	t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	h.Logger, o.Logger = quiet, quiet
	r := &rig{t: t, hub: conn.NewHub(h), sessions: map[string]*record{}}
	o.Hub = r.hub
	o.Open = func(s *Session, _ *http.Request) Handler {
		k := &record{Session: s, rig: r}
		r.mu.Lock()
		r.sessions[s.ID().String()] = k
		r.mu.Unlock()
		return k
	}
	r.server = New(o)
	r.http = httptest.NewServer(r.server)
	t.Cleanup(func() {
		r.hub.Close()
		r.http.Close()
		if all, polling := r.server.Len(); all != 0 || polling != 0 || r.hub.Len() != 0 {
			t.Errorf("%d sessions are left, %d of them polling, %d at the hub", all, polling, r.hub.Len())
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		for id, k := range r.sessions {
			if len(k.ends) != 1 {
				t.Errorf("session %s ended %d times: %v", id, len(k.ends), k.ends)
			}
		}
	})
	return r
}

// do sends a request; a failure has the status 0.
func (r *rig) do(method, sid string, body io.Reader) (int, string) {
	ctx, cancel := context.WithTimeout(context.Background(), soon)
	defer cancel()
	url := r.http.URL + "/?EIO=4&transport=polling"
	if sid != "" {
		url += "&sid=" + sid
	}
	req, err := http.NewRequestWithContext(ctx, method, url, body)
	if err != nil {
		return 0, err.Error()
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer func() { _ = res.Body.Close() }()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		return 0, err.Error()
	}
	return res.StatusCode, string(b)
}

func (r *rig) get(sid string) (int, string)        { return r.do("GET", sid, nil) }
func (r *rig) post(sid, body string) (int, string) { return r.do("POST", sid, strings.NewReader(body)) }

func (r *rig) open() *record {
	r.t.Helper()
	status, body := r.get("")
	var h struct{ SID string }
	if status != 200 || json.Unmarshal([]byte(strings.TrimPrefix(body, "0")), &h) != nil {
		r.t.Fatalf("handshake: %d %s", status, body)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.sessions[h.SID]
}

func (k *record) sid() string { return k.ID().String() }

// ended waits for the end and returns its reason.
func (k *record) ended() error {
	k.rig.t.Helper()
	var err error
	k.rig.until("the end of the session", func() bool {
		k.rig.mu.Lock()
		defer k.rig.mu.Unlock()
		if len(k.ends) > 0 {
			err = k.ends[0]
		}
		return len(k.ends) > 0
	})
	return err
}

func (r *rig) until(what string, done func() bool) {
	r.t.Helper()
	for end := time.Now().Add(soon); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			r.t.Fatalf("waited for this in vain: %s", what)
		}
	}
}

func (k *record) wantEnd(want error) {
	k.rig.t.Helper()
	if err := k.ended(); !errors.Is(err, want) {
		k.rig.t.Errorf("ended with %v, want %v", err, want)
	}
	if status, body := k.rig.get(k.sid()); status != 400 || !strings.Contains(body, `"code":1`) {
		k.rig.t.Errorf("after the end, a poll is answered with %d %s", status, body)
	}
}

// Thousands of sessions that make no request behind their handshake keep out nobody who does.
func TestHalfOpenSessions(t *testing.T) {
	r := newRig(t, conn.Options{}, Options{MaxHalfOpen: 50, FirstRequest: time.Minute})
	first, good := r.open(), r.open()
	if status, _ := r.post(good.sid(), "4hello"); status != 200 {
		t.Fatal(status)
	}
	for range 200 {
		r.open()
	}
	first.wantEnd(ErrHalfOpen)
	if all, polling := r.server.Len(); all > 52 || polling != all {
		t.Errorf("%d sessions, %d polling", all, polling)
	}
	if status, _ := r.post(good.sid(), "4hello"); status != 200 {
		t.Errorf("the good one is answered with %d", status)
	}
}

func TestFirstRequestTimeout(t *testing.T) {
	r := newRig(t, conn.Options{}, Options{FirstRequest: 50 * time.Millisecond})
	r.open().wantEnd(ErrHalfOpen)
}

func TestMaxPolling(t *testing.T) {
	r := newRig(t, conn.Options{}, Options{MaxPolling: 3})
	k := r.open()
	for range 2 {
		r.open()
	}
	if status, body := r.get(""); status != 503 || !strings.Contains(body, "error") {
		t.Errorf("one too many: %d %s", status, body)
	}
	if status, _ := r.post(k.sid(), "1"); status != 200 {
		t.Errorf("the close is answered with %d", status)
	}
	k.ended()
	r.open() // finds room
}

// The sessions of the Hub count together, whatever they come by.
func TestMaxConnsCountsPolling(t *testing.T) {
	r := newRig(t, conn.Options{MaxConns: 2}, Options{})
	r.open()
	c, _, err := websocket.Dial(t.Context(), r.http.URL+"/?EIO=4&transport=websocket", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.CloseNow() }()
	r.until("both are there", func() bool { return r.hub.Len() == 2 })
	if status, _ := r.get(""); status != 503 {
		t.Errorf("polling: %d", status)
	}
	if _, res, err := websocket.Dial(t.Context(), r.http.URL+"/?EIO=4&transport=websocket", nil); err == nil || res.StatusCode != 503 {
		t.Errorf("a WebSocket: %v", err)
	}
}

// A client that does not poll is cut off by bytes and by time (decision 31); what is larger than the bound may wait alone.
func TestSlowPolling(t *testing.T) {
	r := newRig(t, conn.Options{MaxWaiting: 1 << 10, MaxWait: 300 * time.Millisecond}, Options{})
	big := r.open()
	if !big.Push(Text(make([]byte, 64<<10))) {
		t.Error("a large message may wait alone")
	}
	if big.Push(Text([]byte("x"))) {
		t.Error("too much waits")
	}
	big.wantEnd(conn.ErrSlowConsumer)
	late := r.open()
	r.post(late.sid(), "6")
	late.Push(Text([]byte("x")))
	late.wantEnd(conn.ErrSlowConsumer)
	many := r.open()
	r.post(many.sid(), "6")
	n := 0
	for many.Push(Text(make([]byte, 100))) {
		n++
	}
	if n < 35 || n > 41 { // four times the bound while it does not count as slow
		t.Errorf("%d messages of 100 bytes were taken", n)
	}
	many.wantEnd(conn.ErrSlowConsumer)
	if r.hub.Cut() != 3 {
		t.Errorf("%d were counted", r.hub.Cut())
	}
}

// A poll whose answer is not read ends its session, and holds nothing up.
func TestUnreadPoll(t *testing.T) {
	r := newRig(t, conn.Options{MaxWaiting: 64 << 20, MaxWait: 300 * time.Millisecond}, Options{})
	k := r.open()
	c, err := net.Dial("tcp", r.http.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	_, _ = fmt.Fprintf(c, "GET /?EIO=4&transport=polling&sid=%s HTTP/1.1\r\nHost: x\r\n\r\n", k.sid())
	k.Push(Text(make([]byte, 32<<20)))
	k.wantEnd(conn.ErrSlowConsumer)
}

// python-engineio takes 16 packets at a time and no more.
func TestPythonTakesFewPackets(t *testing.T) {
	r := newRig(t, conn.Options{}, Options{})
	k := r.open()
	for i := range 40 {
		k.Push(Text(fmt.Appendf(nil, "%d", i)))
	}
	next := 0
	for _, want := range []int{16, 16, 8} {
		req, _ := http.NewRequestWithContext(t.Context(), "GET", r.http.URL+"/?EIO=4&transport=polling&sid="+k.sid(), nil)
		req.Header.Set("User-Agent", "python-requests/2.28.1")
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		b, _ := io.ReadAll(res.Body)
		_ = res.Body.Close()
		packets := strings.Split(string(b), "\x1e")
		if len(packets) != want {
			t.Fatalf("%d packets, want %d", len(packets), want)
		}
		for _, p := range packets {
			if p != fmt.Sprintf("4%d", next) {
				t.Fatalf("packet %d is %q", next, p)
			}
			next++
		}
	}
	r.until("nothing waits", func() bool {
		k.poll.mu.Lock()
		defer k.poll.mu.Unlock()
		return k.poll.bytes == 0 && k.poll.writing == 0 && k.poll.since == 0
	})
}

// A client that goes away from its poll has gone: what is sent to it now would be lost.
func TestAbandonedPoll(t *testing.T) {
	r := newRig(t, conn.Options{}, Options{})
	k := r.open()
	c, err := net.Dial("tcp", r.http.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	_, _ = fmt.Fprintf(c, "GET /?EIO=4&transport=polling&sid=%s HTTP/1.1\r\nHost: x\r\n\r\n", k.sid())
	r.until("the poll is held", func() bool {
		k.poll.mu.Lock()
		defer k.poll.mu.Unlock()
		return k.poll.getting
	})
	_ = c.Close()
	k.wantEnd(ErrPollAborted)
}

func TestSlowBody(t *testing.T) {
	r := newRig(t, conn.Options{}, Options{BodyTimeout: 200 * time.Millisecond})
	k := r.open()
	c, err := net.Dial("tcp", r.http.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	_, _ = fmt.Fprintf(c, "POST /?EIO=4&transport=polling&sid=%s HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n4ab", k.sid())
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil || res.StatusCode != 400 {
		t.Errorf("answered with %v, %v", res, err)
	}
	k.ended()
}

// A body is bounded whether it says its length or not, and so is a limit that the handler has set.
func TestHugePayloads(t *testing.T) {
	r := newRig(t, conn.Options{}, Options{MaxPayload: 1000})
	for name, body := range map[string]io.Reader{
		"with a length": strings.NewReader("4" + strings.Repeat("x", 1000)), "without": io.MultiReader(strings.NewReader("4" + strings.Repeat("x", 1000))),
	} {
		k := r.open()
		if status, _ := r.do("POST", k.sid(), body); status != 413 {
			t.Errorf("%s: %d", name, status)
		}
		k.ended()
	}
	k := r.open()
	k.SetReadLimit(10)
	if status, _ := r.post(k.sid(), "4123456789"); status != 200 {
		t.Errorf("within the limit: %d", status)
	}
	if status, _ := r.post(k.sid(), "4123456789x"); status != 413 {
		t.Errorf("over the limit: %d", status)
	}
}

// A flood is slowed down and nothing of it dropped; a post beside another ends the session.
func TestPostFlood(t *testing.T) {
	r := newRig(t, conn.Options{Rate: 100, Burst: 10}, Options{})
	k := r.open()
	begun := time.Now()
	if status, _ := r.post(k.sid(), "4"+strings.Repeat("x\x1e4", 39)+"x"); status != 200 {
		t.Fatal(status)
	}
	if took := time.Since(begun); took < 250*time.Millisecond {
		t.Errorf("40 events at 100 a second and a burst of 10 took %s", took)
	}
	if len(k.got) != 40 {
		t.Errorf("%d of 40 arrived", len(k.got))
	}
	slow := make(chan int, 1)
	go func() {
		status, _ := r.post(k.sid(), "4"+strings.Repeat("x\x1e4", 500)+"x")
		slow <- status
	}()
	r.until("it is handled", func() bool {
		k.poll.mu.Lock()
		defer k.poll.mu.Unlock()
		return k.poll.working
	})
	if status, _ := r.post(k.sid(), "4y"); status != 400 {
		t.Errorf("the second is answered with %d", status)
	}
	<-slow
	k.wantEnd(ErrOverlap)
}

// Polls at the same time end the session, however many there are.
func TestManyPolls(t *testing.T) {
	r := newRig(t, conn.Options{}, Options{})
	k := r.open()
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() { r.get(k.sid()) })
	}
	wg.Wait()
	k.wantEnd(ErrOverlap)
}

func TestPanicOfAHandler(t *testing.T) {
	r := newRig(t, conn.Options{}, Options{})
	k := r.open()
	r.post(k.sid(), "4panic\x1e4after")
	if status, body := r.get(k.sid()); status != 200 || body != "1" {
		t.Errorf("the poll got %d %q", status, body)
	}
	var closed *conn.CloseError
	if err := k.ended(); !errors.As(err, &closed) || closed.Code != conn.CodeInternal || len(k.got) != 1 {
		t.Errorf("ended with %v after %v", err, k.got)
	}
}

// An upgrade that is not finished ends, and the session goes on.
func TestUpgradeTimeout(t *testing.T) {
	r := newRig(t, conn.Options{}, Options{UpgradeTimeout: 100 * time.Millisecond})
	k := r.open()
	c, _, err := websocket.Dial(t.Context(), r.http.URL+"/?EIO=4&transport=websocket&sid="+k.sid(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.CloseNow() }()
	if _, _, err := c.Read(t.Context()); websocket.CloseStatus(err) != websocket.StatusPolicyViolation {
		t.Errorf("closed with %v", err)
	}
	if status, _ := r.post(k.sid(), "4hello"); status != 200 {
		t.Errorf("the session answers with %d", status)
	}
}

// While one side floods the other over an upgrade, everything arrives once and in order, both ways.
func TestUpgradeUnderLoad(t *testing.T) {
	for round := range 5 {
		r := newRig(t, conn.Options{Rate: 1 << 20, Burst: 1 << 20}, Options{})
		k := r.open()
		stop := make(chan struct{})
		count := make(chan int, 1)
		go func() {
			n := 0
			for ; ; n++ {
				select {
				case <-stop:
					count <- n
					return
				case <-time.After(10 * time.Microsecond):
					k.Push(Text(fmt.Appendf(nil, "%d", n)))
				}
			}
		}()
		var got []string
		take := func(payload string) {
			for p := range strings.SplitSeq(payload, "\x1e") {
				if text, ok := strings.CutPrefix(p, "4"); ok {
					got = append(got, text)
				}
			}
		}
		for i := range round * 3 {
			_, body := r.get(k.sid())
			take(body)
			r.post(k.sid(), fmt.Sprintf("4%d", i))
		}
		c, _, err := websocket.Dial(t.Context(), r.http.URL+"/?EIO=4&transport=websocket&sid="+k.sid(), nil)
		if err != nil {
			t.Fatal(err)
		}
		send := func(text string) { _ = c.Write(t.Context(), websocket.MessageText, []byte(text)) }
		send("2probe")
		for probed := false; !probed; {
			_, b, err := c.Read(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			probed = string(b) == "3probe"
		}
		_, body := r.get(k.sid())
		take(body)
		send("5")
		for i := range 100 {
			send(fmt.Sprintf("4%d", round*3+i))
		}
		close(stop)
		for total := <-count; len(got) < total; {
			_, b, err := c.Read(t.Context())
			if err != nil {
				t.Fatalf("after %d: %v", len(got), err)
			}
			take(string(b))
		}
		for i, text := range got {
			if text != fmt.Sprint(i) {
				t.Fatalf("message %d is %s", i, text)
			}
		}
		r.until("all has come", func() bool { r.mu.Lock(); defer r.mu.Unlock(); return len(k.got) == round*3+100 })
		for i, text := range k.got {
			if text != fmt.Sprint(i) {
				t.Fatalf("the client's message %d is %s", i, text)
			}
		}
		_ = c.CloseNow()
	}
}
