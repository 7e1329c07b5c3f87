package conformance

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
)

const engine = "/engine.io/"

func TestHandshakePolling(t *testing.T) {
	r := start(t, engine, Options{})
	a := r.do("GET", "?EIO=4&transport=polling", "")
	h := r.opened(a.body)
	if a.status != 200 || !slices.Equal(h.Upgrades, []string{"websocket"}) || h.PingInterval != 300 || h.PingTimeout != 200 || h.MaxPayload != 1_000_000 {
		t.Errorf("%d %+v", a.status, h)
	}
	if got := a.header.Get("Content-Type"); got != "text/plain; charset=UTF-8" {
		t.Errorf("Content-Type %s", got)
	}
	other := r.opened(r.do("GET", "?t=abc123&transport=polling&x=1&EIO=4", "").body) // order and cache busters do not count
	if other.SID == h.SID {
		t.Error("an id was given twice")
	}
}

func TestHandshakeWebSocket(t *testing.T) {
	r := start(t, engine, Options{})
	s := r.dial("?EIO=4&transport=websocket")
	text, _ := s.next()
	if h := r.opened(text); len(h.Upgrades) != 0 || !strings.Contains(text, `"upgrades":[]`) || h.PingInterval != 300 || h.PingTimeout != 200 || h.MaxPayload != 1_000_000 {
		t.Errorf("%+v", h)
	}
}

func TestRefusals(t *testing.T) {
	r := start(t, engine, calm)
	known := strings.TrimPrefix(r.open(), "?EIO=4&transport=polling&sid=")
	s := r.dial("?EIO=4&transport=websocket")
	text, _ := s.next()
	socket := r.opened(text).SID
	for _, c := range []struct {
		method, query string
		code          int
	}{
		{"GET", "?EIO=4", 0}, {"GET", "?EIO=4&transport=abc", 0}, {"GET", "?EIO=4&transport=constructor", 0}, {"GET", "", 0},
		{"GET", "?EIO=4&transport=polling&sid=nobody", 1}, {"POST", "?EIO=4&transport=polling&sid=nobody", 1},
		{"GET", "?EIO=4&transport=polling&sid=" + known[:19] + "!", 1}, {"GET", "?EIO=4&transport=polling&sid=AAAAAAAAAAAAAAAAAAAA", 1},
		{"POST", "?EIO=4&transport=polling", 2}, {"PUT", "?EIO=4&transport=polling", 2}, {"DELETE", "?EIO=4&transport=polling", 2},
		{"PUT", "?EIO=4&transport=polling&sid=" + known, 3}, {"POST", "?EIO=4&transport=websocket&sid=" + known, 3},
		{"GET", "?EIO=4&transport=websocket", 3}, // without an upgrade
		{"GET", "?EIO=4&transport=websocket&sid=" + known, 3},
		{"GET", "?EIO=4&transport=polling&sid=" + socket, 3}, {"POST", "?EIO=4&transport=polling&sid=" + socket, 3},
		{"GET", "?transport=polling", 5}, {"GET", "?EIO=abc&transport=polling", 5}, {"GET", "?EIO=3&transport=polling", 5},
	} {
		r.refused(c.method, c.query, c.code)
	}
	for _, query := range []string{"?transport=websocket", "?EIO=abc&transport=websocket", "?EIO=4", "?EIO=4&transport=abc", "?EIO=4&transport=polling",
		"?EIO=4&transport=websocket&sid=nobody"} {
		if c, res, err := websocket.Dial(t.Context(), r.base+query, nil); err == nil || res.StatusCode != 400 {
			t.Errorf("a WebSocket of %s: %v", query, err)
			_ = c.CloseNow()
		}
	}
	if a := r.do("HEAD", "?EIO=4&transport=polling", ""); a.status != 400 || a.body != "" {
		t.Errorf("HEAD: %d %q", a.status, a.body)
	}
	r.wants("POST", "?EIO=4&transport=polling&sid="+known, "4x", 200, "ok") // all that did nothing to the sessions
	r.wants("GET", "?EIO=4&transport=polling&sid="+known, "", 200, "4x")
	s.send("4x")
	s.wants("4x")
}

func TestOtherOrigins(t *testing.T) {
	r := start(t, engine, calm)
	r.s.EngineIO = trusting(r.s.Hub, "https://own.test")
	ask := func(method, origin string) http.Header {
		req, _ := http.NewRequest(method, r.base+"?EIO=4&transport=polling", nil)
		req.Header.Set("Origin", origin)
		req.Header.Set("Access-Control-Request-Headers", "x-own, content-type")
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != 200 && res.StatusCode != 204 {
			t.Errorf("%s from %s: %d", method, origin, res.StatusCode)
		}
		return res.Header
	}
	for _, method := range []string{"GET", "OPTIONS"} {
		if h := ask(method, "https://own.test"); h.Get("Access-Control-Allow-Origin") != "https://own.test" || h.Get("Access-Control-Allow-Credentials") != "true" {
			t.Errorf("%s of the own origin: %v", method, h)
		}
		h := ask(method, "https://other.test")
		if h.Get("Access-Control-Allow-Origin") != "*" || h.Get("Access-Control-Allow-Credentials") != "" || h.Get("Vary") != "Origin" {
			t.Errorf("%s of another origin: %v", method, h)
		}
		if method == "OPTIONS" && (h.Get("Access-Control-Allow-Methods") != "GET, POST" || h.Get("Access-Control-Allow-Headers") != "x-own, content-type") {
			t.Errorf("the preflight: %v", h)
		}
	}
	_, res, err := websocket.Dial(t.Context(), r.base+"?EIO=4&transport=websocket", &websocket.DialOptions{HTTPHeader: http.Header{"Origin": {"https://other.test"}}})
	if err == nil || res.StatusCode != 403 {
		t.Errorf("a WebSocket of another origin: %v", err)
	}
}

func TestMessagesPolling(t *testing.T) {
	r := start(t, engine, calm)
	q := r.open()
	for _, payload := range []string{"4hello", "4test1\x1e4test2\x1e4test3", "4hello\x1ebAQIDBA==", "4€\x1eb\x1e4"} {
		r.wants("POST", q, payload, 200, "ok")
		r.wants("GET", q, "", 200, payload)
	}
	held := later(func() answer { return r.do("GET", q, "") })
	r.wants("POST", q, "4later", 200, "ok")
	if a := held(); a.body != "4later" {
		t.Errorf("the poll that was held got %q", a.body)
	}
}

func TestBadPayloadsEndTheSession(t *testing.T) {
	r := start(t, engine, calm)
	for _, payload := range []string{"abc", "", "4a\x1e", "4a\x1e9", "bA", "4\xff", "0{}", "2", "2probe", "5", strings.Repeat("6\x1e", 1000) + "6"} {
		q := r.open()
		r.wants("POST", q, payload, 400, "")
		r.refused("GET", q, 1)
	}
	q := r.open()
	r.wants("POST", q, "4"+strings.Repeat("x", 1_000_000), 413, "")
	r.refused("GET", q, 1)
	q = r.open()
	r.wants("POST", q, "4"+strings.Repeat("x", 999_999), 200, "ok")
}

func TestOverlappingRequests(t *testing.T) {
	r := start(t, engine, calm)
	q := r.open()
	answers := []func() answer{}
	for range 2 {
		answers = append(answers, later(func() answer { return r.do("GET", q+"&t=burst", "") }))
	}
	a, b := answers[0](), answers[1]()
	if a.status != 200 {
		a, b = b, a
	}
	if a.status != 200 || a.body != "1" || b.status != 400 {
		t.Errorf("two polls got %d %q and %d %q", a.status, a.body, b.status, b.body)
	}
	r.refused("GET", q, 1)
}

func TestWebSocketMessages(t *testing.T) {
	r := start(t, engine, calm)
	s := r.dial("?EIO=4&transport=websocket")
	s.next()
	s.send("4hello", "b:\x01\x02\x03\x04", "3", "6", "4€")
	s.wants("4hello", "b:\x01\x02\x03\x04", "4€")
	for _, bad := range []string{"abc", "", "9", "2", "2probe", "5", "0{}"} {
		s := r.dial("?EIO=4&transport=websocket")
		s.next()
		s.send(bad)
		if code := s.closes(); code != websocket.StatusProtocolError {
			t.Errorf("%q closes with %d", bad, code)
		}
	}
}

func TestHeartbeatPolling(t *testing.T) {
	r := start(t, engine, Options{PingInterval: 300 * time.Millisecond, PingTimeout: 5 * time.Second})
	q := r.open()
	for range 3 {
		r.wants("GET", q, "", 200, "2")
		r.wants("POST", q, "3", 200, "ok")
	}
}

func TestPingTimeoutPolling(t *testing.T) {
	r := start(t, engine, Options{})
	q := r.open()
	time.Sleep(500 * time.Millisecond) // the rule itself is about time: ping interval and ping timeout
	r.refused("GET", q, 1)
	q = r.open()
	time.Sleep(500 * time.Millisecond)
	r.refused("POST", q, 1)
	r = start(t, engine, Options{PingInterval: 100 * time.Millisecond, PingTimeout: 3 * time.Second})
	q = r.open() // one that polls, and does not answer
	r.wants("GET", q, "", 200, "2")
	for a := (answer{body: "2"}); a.body != "1"; {
		if a = r.do("GET", q, ""); a.status != 200 || strings.Trim(a.body, "2\x1e") != "" && a.body != "1" {
			t.Fatalf("the poll got %d %q", a.status, a.body)
		}
	}
	r.refused("GET", q, 1)
}

func TestHeartbeatWebSocket(t *testing.T) {
	r := start(t, engine, Options{PingInterval: 300 * time.Millisecond, PingTimeout: 5 * time.Second})
	s := r.dial("?EIO=4&transport=websocket")
	s.next()
	for range 3 {
		s.wants("2")
		s.send("3")
	}
	r = start(t, engine, Options{})
	s = r.dial("?EIO=4&transport=websocket")
	s.next()
	s.closes()
}

// The first heartbeat comes after nearly a whole interval, so that clients which expect none before are right.
func TestFirstHeartbeatIsNotEarly(t *testing.T) {
	r := start(t, engine, Options{PingInterval: 600 * time.Millisecond, PingTimeout: 5 * time.Second})
	begun := time.Now()
	s := r.dial("?EIO=4&transport=websocket")
	s.next()
	s.wants("2")
	if took := time.Since(begun); took < 500*time.Millisecond {
		t.Errorf("the first ping came after %s", took)
	}
}

func TestCloseByTheClient(t *testing.T) {
	r := start(t, engine, calm)
	q := r.open()
	held := later(func() answer { return r.do("GET", q, "") })
	r.until("the poll is held", func() bool { _, err := r.try("POST", q, "6"); return err == nil })
	r.wants("POST", q, "1", 200, "ok")
	if a := held(); a.status != 200 && a.status != 400 || a.status == 200 && a.body != "6" {
		t.Errorf("the poll that was held got %d %q", a.status, a.body)
	}
	r.refused("GET", q, 1)
	s := r.dial("?EIO=4&transport=websocket")
	s.next()
	s.send("1")
	s.closes()
}

// until polls for something that happens soon.
func (r *rig) until(what string, done func() bool) {
	r.t.Helper()
	for end := time.Now().Add(soon); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			r.t.Fatalf("waited for this in vain: %s", what)
		}
	}
}

func (r *rig) upgrade(q string) *socket {
	return r.dial(strings.Replace(q, "polling", "websocket", 1))
}

func TestUpgrade(t *testing.T) {
	r := start(t, engine, calm)
	q := r.open()
	held := later(func() answer { return r.do("GET", q, "") })
	s := r.upgrade(q)
	s.send("2probe")
	s.wants("3probe")
	if a := held(); a.status != 200 || a.body != "6" {
		t.Errorf("the poll that was held got %d %q", a.status, a.body)
	}
	r.wants("GET", q, "", 200, "6")
	r.wants("POST", q, "4a\x1e4b", 200, "ok") // waits for a poll that does not come
	s.send("5", "4c")
	s.wants("4a", "4b", "4c")
	r.refused("GET", q, 3)
	r.refused("POST", q, 3)
	r.upgrade(q).closes()
	s.send("4d", "b:\x00")
	s.wants("4d", "b:\x00")
	if all, polling := r.s.EngineIO.Len(); all != 1 || polling != 0 {
		t.Errorf("%d sessions, %d polling", all, polling)
	}
	s.send("1")
	s.closes()
	r.until("the session is gone", func() bool { all, _ := r.s.EngineIO.Len(); return all == 0 })
	r.refused("GET", q, 1)
}

func TestUpgradeWithoutWaiting(t *testing.T) {
	r := start(t, engine, calm)
	q := r.open()
	s := r.upgrade(q)
	s.send("2probe", "5", "4hello")
	s.wants("3probe", "4hello")
	r.refused("GET", q, 3)
}

// A trial that fails costs the session nothing.
func TestFailedUpgrade(t *testing.T) {
	r := start(t, engine, calm)
	q := r.open()
	for _, packet := range []string{"5", "2", "4hello", "x", "b:x", strings.Repeat("y", 100)} {
		s := r.upgrade(q)
		s.send(packet)
		s.closes()
		r.until("the trial is over", func() bool { _, polling := r.s.EngineIO.Len(); return polling == 1 && r.s.Hub.Len() == 1 })
	}
	s := r.upgrade(q)
	s.send("2probe")
	s.wants("3probe")
	r.upgrade(q).closes() // one at a time
	_ = s.c.CloseNow()
	r.until("the trial is over", func() bool { return r.s.Hub.Len() == 1 })
	r.wants("POST", q, "4hello", 200, "ok")
	r.wants("GET", q, "", 200, "4hello")
}

// The heartbeat goes on over an upgrade as it would have without: no client sees a gap longer than an interval.
func TestHeartbeatOverUpgrade(t *testing.T) {
	t.Parallel()
	r := start(t, engine, Options{PingInterval: 2 * time.Second, PingTimeout: 10 * time.Second})
	q := r.open()
	r.wants("GET", q, "", 200, "2")
	pinged := time.Now()
	r.wants("POST", q, "3", 200, "ok")
	time.Sleep(1200 * time.Millisecond) // so that the WebSocket is much younger than the last heartbeat
	s := r.upgrade(q)
	s.send("2probe", "5")
	s.wants("3probe", "2")
	if gap := time.Since(pinged); gap > 2900*time.Millisecond {
		t.Errorf("there are %s between two heartbeats", gap)
	}
	s.send("3")
	s.wants("2")
}

// A drain tells sessions that poll too, and the end of the Hub waits for none of them.
func TestDrain(t *testing.T) {
	r := start(t, engine, calm)
	held, idle := r.open(), r.open()
	first := later(func() answer { return r.do("GET", held, "") })
	r.wants("POST", idle, "4last words", 200, "ok")
	done := later(func() error { return r.s.Hub.Drain(t.Context(), 1012, "restart", 0) })
	if a := first(); a.body != "1" {
		t.Errorf("the poll that was held got %q", a.body)
	}
	r.until("the session closes", func() bool { a, _ := r.try("POST", idle, "4no more"); return a.status == 400 })
	r.wants("GET", idle, "", 200, "4last words")
	r.wants("GET", idle, "", 200, "1")
	if err := done(); err != nil {
		t.Error(err)
	}
	if a := r.do("GET", "?EIO=4&transport=polling", ""); a.status != 503 || a.header.Get("Retry-After") == "" {
		t.Errorf("a handshake while draining: %d %v", a.status, a.header)
	}
}
