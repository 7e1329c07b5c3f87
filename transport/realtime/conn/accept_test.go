package conn

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestAcceptRefuses(t *testing.T) {
	good := http.Header{"Connection": {"Upgrade"}, "Upgrade": {"websocket"}, "Sec-Websocket-Version": {"13"}, "Sec-Websocket-Key": {"dGhlIHNhbXBsZSBub25jZQ=="}}
	with := func(k, v string) http.Header {
		h := good.Clone()
		if v == "" {
			h.Del(k)
		} else {
			h.Set(k, v)
		}
		return h
	}
	never := func(*http.Request) bool { return false }
	cases := map[string]struct {
		method string
		header http.Header
		o      AcceptOptions
		status int
		text   string
	}{
		"plain GET":          {header: http.Header{}, status: 426, text: "upgrade request"},
		"no Connection":      {header: with("Connection", ""), status: 426, text: "upgrade request"},
		"other Upgrade":      {header: with("Upgrade", "h2c"), status: 426, text: "upgrade request"},
		"POST":               {method: http.MethodPost, header: good, status: 405, text: "GET"},
		"old version":        {header: with("Sec-WebSocket-Version", "8"), status: 400, text: "version"},
		"no key":             {header: with("Sec-WebSocket-Key", ""), status: 400, text: "Sec-WebSocket-Key"},
		"short key":          {header: with("Sec-WebSocket-Key", "YWJj"), status: 400, text: "Sec-WebSocket-Key"},
		"foreign origin":     {header: with("Origin", "https://evil.example"), status: 403, text: "origin"},
		"opaque origin":      {header: with("Origin", "null"), status: 403, text: "origin"},
		"origin by function": {header: good, o: AcceptOptions{OriginOK: never}, status: 403, text: "origin"},
	}
	hub := NewHub(Options{})
	defer hub.Close()
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			seen := make(chan error, 1)
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, err := hub.Accept(w, r, tc.o)
				seen <- err
			}))
			defer srv.Close()
			method := tc.method
			if method == "" {
				method = http.MethodGet
			}
			req, err := http.NewRequestWithContext(within(t), method, srv.URL, nil)
			if err != nil {
				t.Fatal(err)
			}
			req.Header = tc.header
			res, err := http.DefaultTransport.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = res.Body.Close() }()
			var body struct{ Error string }
			if err := json.NewDecoder(res.Body).Decode(&body); err != nil {
				t.Fatal(err)
			}
			if res.StatusCode != tc.status || !strings.Contains(body.Error, tc.text) || !strings.HasPrefix(res.Header.Get("Content-Type"), "application/json") {
				t.Errorf("got %d %q %s", res.StatusCode, body.Error, res.Header.Get("Content-Type"))
			}
			var he *HandshakeError
			if err := <-seen; !errors.As(err, &he) || he.Status != tc.status {
				t.Errorf("error %v", err)
			}
		})
	}
	if hub.Len() != 0 {
		t.Errorf("%d connections", hub.Len())
	}
}

func TestAcceptOrigins(t *testing.T) {
	cases := map[string]struct {
		origin string
		o      AcceptOptions
	}{
		"pattern":  {"https://web.example", AcceptOptions{OriginPatterns: []string{"https://web.example"}}},
		"function": {"https://other.example", AcceptOptions{OriginOK: func(*http.Request) bool { return true }}},
		"none":     {"", AcceptOptions{}},
	}
	hub := NewHub(Options{})
	defer hub.Close()
	for name, tc := range cases {
		w := &hijackless{httptest.NewRecorder()}
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header = http.Header{"Connection": {"Upgrade"}, "Upgrade": {"websocket"}, "Sec-Websocket-Version": {"13"}, "Sec-Websocket-Key": {"dGhlIHNhbXBsZSBub25jZQ=="}}
		if tc.origin != "" {
			r.Header.Set("Origin", tc.origin)
		}
		// The recorder can't be hijacked, so a request that is admitted ends with 500, not 403.
		if _, err := hub.Accept(w, r, tc.o); err == nil || w.Code == http.StatusForbidden {
			t.Errorf("%s: %d %v", name, w.Code, err)
		}
	}
}

type hijackless struct{ *httptest.ResponseRecorder }

func TestAcceptBounds(t *testing.T) {
	r := newRig(t, Options{MaxConns: 1}, echo)
	dialRaw(t, r.srv.Listener.Addr().String())
	c := <-r.conns
	status := func() int {
		res, err := http.Get(r.srv.URL)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		return res.StatusCode
	}
	if got := status(); got != http.StatusServiceUnavailable {
		t.Fatal("full:", got)
	}
	c.Abort()
	wait(t, "room", func() bool { return status() == http.StatusUpgradeRequired })
	if err := r.hub.Drain(within(t), CodeServiceRestart, "", time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if got := status(); got != http.StatusServiceUnavailable {
		t.Fatal("draining:", got)
	}
}
