package rest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/transport/rest/scenario"
)

// gauges is a Metrics and a Meter of a test.
type gauges struct {
	hold chan struct{} // if not nil, a look at the server waits for it

	mu       sync.Mutex
	looking  int
	answered []string
}

func (g *gauges) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain")
	_, _ = w.Write([]byte("up 1\n"))
}

func (g *gauges) Vitals() (Vitals, error) {
	if g.hold != nil {
		g.mu.Lock()
		g.looking++
		g.mu.Unlock()
		<-g.hold
	}
	return Vitals{Instance: "i1", Uptime: 60, Memory: 100, Connections: 3, Counters: map[string]float64{`a_total{b="c"}`: 4},
		Latency: map[string]Latency{"d_seconds": {Count: 2, Avg: 1.5, P50: 1, P95: 2, P99: 2.25}}}, nil
}

func (g *gauges) Answered(method, route string, status int, took time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.answered = append(g.answered, fmt.Sprint(method, " ", route, " ", status, " ", took))
}

func measured(o *Options) *gauges {
	g := &gauges{}
	o.Metrics, o.Meter = g, g
	return g
}

func TestMetricsSnapshot(t *testing.T) {
	run(t, func(_ *bench, o *Options) { measured(o) }, []check{
		{step{URL: "/metrics/snapshot", Status: 200, Want: []string{`{"instance":"i1","uptime_seconds":60,"memory_mb":100,"connections":3,` +
			`"platform":{"total_users":1,"total_agents":2,"unclaimed_agents":3,"total_agencies":4,"total_messages":5,"total_memberships":6,"active_hooks":7,"pending_claims":8},` +
			`"counters":{"a_total{b=\"c\"}":4},"latency":{"d_seconds":{"count":2,"avg_ms":1.5,"p50_ms":1,"p95_ms":2,"p99_ms":2.25}}}`}}, ""},
		{step{Name: "HEAD", Method: "HEAD", URL: "/metrics/snapshot", Status: 200}, ""},
		{step{Name: "POST", Method: "POST", URL: "/metrics/snapshot", Status: 405, WantHeader: map[string]string{"Allow": "GET, HEAD, OPTIONS"}}, ""},
		{step{Name: "POST to the other", Method: "POST", URL: "/metrics", Status: 405}, ""},
		{step{Name: "below", URL: "/metrics/snapshot/x", Status: 404}, ""},
		{step{Name: "a credential is not looked at", URL: "/metrics/snapshot", Token: "stale", Status: 200}, ""},
	})
	run(t, func(b *bench, o *Options) { measured(o); b.ready = faults["unavailable"] }, []check{
		{step{Name: "without the store", URL: "/metrics/snapshot", Status: 503, Want: []string{`{"error":`}}, ""},
	})
	run(t, nil, []check{
		{step{Name: "nothing is measured", URL: "/metrics/snapshot", Status: 404}, ""},
		{step{Name: "nothing is measured", URL: "/metrics", Status: 404}, ""},
	})
}

func TestMetricsInText(t *testing.T) {
	b := setUp(t, func(o *Options) { measured(o) })
	w := httptest.NewRecorder()
	b.api.ServeHTTP(w, httptest.NewRequest("GET", "//metrics/", nil))
	if w.Code != 200 || w.Body.String() != "up 1\n" || w.Header().Get("Content-Type") != "text/plain" || w.Header().Get("X-Request-Id") == "" {
		t.Errorf("%d %v %q", w.Code, w.Header(), w.Body)
	}
}

// TestMetricsToken: once a token is set, nothing else opens the endpoints, and no budget is spent on trying.
func TestMetricsToken(t *testing.T) {
	const token = "let-me-in"
	guarded := func(_ *bench, o *Options) { measured(o); o.MetricsToken = token }
	h := func(k, v string) map[string]string { return map[string]string{k: v} }
	var checks []check
	for _, url := range []string{"/metrics", "/metrics/snapshot"} {
		for name, s := range map[string]step{
			"nothing":             {},
			"an empty one":        {Header: h("Authorization", "Bearer ")},
			"a wrong one":         {Token: "let-me-ix"},
			"a shorter one":       {Token: "let-me-i"},
			"a longer one":        {Token: token + "n"},
			"a user's session":    {Token: userToken},
			"another case":        {Token: strings.ToUpper(token)},
			"another scheme":      {Header: h("Authorization", "Basic "+token)},
			"a cookie":            {Header: h("Cookie", "acme_token="+token)},
			"a query":             {URL: url + "?token=" + token},
			"HEAD with a bad one": {Method: "HEAD", Token: "x"},
			"a huge one":          {Token: strings.Repeat("x", 20_000)},
		} {
			s.Name, s.Status = url+" with "+name, 401
			s.WantHeader = map[string]string{"WWW-Authenticate": "Bearer"}
			if s.URL == "" {
				s.URL = url
			}
			checks = append(checks, check{s, "-"})
		}
	}
	checks = append(checks, check{step{Name: "the token", URL: "/metrics/snapshot", Token: token, Status: 200, Want: []string{`"instance":"i1"`}}, ""},
		check{step{Name: "health stays open", URL: "/healthz", Status: 200}, ""})
	run(t, guarded, checks)

	b := setUp(t, func(o *Options) { guarded(nil, o) })
	target := scenario.Handler(described(t, b.api))
	for range 10 * RequestsPerMinute { // never 429
		scenario.Do(t, target, nil, step{URL: "/metrics/snapshot", Token: token, Status: 200})
		scenario.Do(t, target, nil, step{URL: "/metrics/snapshot", Token: "wrong", Status: 401})
	}
	w := httptest.NewRecorder()
	r := httptest.NewRequest("GET", "/metrics", nil)
	r.Header.Set("Authorization", "bearer "+token)
	b.api.ServeHTTP(w, r)
	if w.Code != 200 {
		t.Errorf("/metrics with the token: %d", w.Code)
	}
	if log := b.log.String(); strings.Contains(log, token) || strings.Contains(log, "wrong") {
		t.Error("the log holds a token")
	}
}

// TestScrapesAreBounded: more at once than there are places are refused, and the places come back.
func TestScrapesAreBounded(t *testing.T) {
	g := &gauges{hold: make(chan struct{})}
	b := setUp(t, func(o *Options) { o.Metrics = g })
	get := func() int {
		w := httptest.NewRecorder()
		b.api.ServeHTTP(w, httptest.NewRequest("GET", "/metrics/snapshot", nil))
		return w.Code
	}
	codes := make(chan int, maxScrapes)
	for range maxScrapes {
		go func() { codes <- get() }()
	}
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		g.mu.Lock()
		n := g.looking
		g.mu.Unlock()
		if n == maxScrapes {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("%d of %d are let in", n, maxScrapes)
		}
	}
	if code := get(); code != 503 {
		t.Errorf("one too many got %d", code)
	}
	close(g.hold)
	for range maxScrapes {
		if code := <-codes; code != 200 {
			t.Errorf("one of those let in got %d", code)
		}
	}
	if code := get(); code != 200 {
		t.Errorf("afterwards: %d", code)
	}
}

// TestMeterHearsPatterns: what a client makes up never reaches the meter.
func TestMeterHearsPatterns(t *testing.T) {
	var g *gauges
	b := setUp(t, func(o *Options) { g = measured(o) })
	for _, r := range []struct{ method, path, want string }{
		{"GET", "/api/agencies/g1/messages?limit=3", "GET /api/agencies/{id}/messages 401"},
		{"HEAD", "/healthz", "HEAD /healthz 200"},
		{"GET", "/secret-path", "GET unknown 404"},
		{"BREW", "/healthz", "other /healthz 405"},
		{"brew" + strings.Repeat("x", 100), "/x", "other unknown 404"},
		{"OPTIONS", "/api/auth/me", "OPTIONS /api/auth/me 200"},
	} {
		g.answered = nil
		b.api.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(r.method, r.path, nil))
		if want := []string{r.want + " 0s"}; !slices.Equal(g.answered, want) {
			t.Errorf("%s %s: heard %q, want %q", r.method, r.path, g.answered, want)
		}
	}
}

// TestSlowRequestsAreLogged: at warning level, with route and id; quick ones are not.
func TestSlowRequestsAreLogged(t *testing.T) {
	for wait, slow := range map[time.Duration]bool{slowRequest: false, slowRequest + time.Millisecond: true} {
		var g *gauges
		b := setUp(t, func(o *Options) { g = measured(o) })
		handler := b.api.observe(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			recordOf(r).route = "/api/agencies/{id}"
			b.clock.turn(wait)
			_ = write(w, http.StatusOK, done)
		}))
		r := httptest.NewRequest("GET", "/api/agencies/hush?token=hush", nil)
		r.Header.Set("X-Request-Id", "req-1")
		handler.ServeHTTP(httptest.NewRecorder(), r)
		log := b.log.String()
		if got := strings.Contains(log, "level=WARN") && strings.Contains(log, `msg="slow request"`); got != slow {
			t.Errorf("%s: slow %v:\n%s", wait, got, log)
		}
		if !strings.Contains(log, "request=req-1") || !strings.Contains(log, "route=/api/agencies/{id}") || strings.Contains(log, "hush") {
			t.Errorf("the line is not what it should be:\n%s", log)
		}
		if want := fmt.Sprint("GET /api/agencies/{id} 200 ", wait); !slices.Equal(g.answered, []string{want}) {
			t.Errorf("heard %q", g.answered)
		}
	}
}

// TestFailuresCarryTheirID: the id in the log of a failure is that of the answer, also when the client gave none.
func TestFailuresCarryTheirID(t *testing.T) {
	b := setUp(t, nil)
	w := httptest.NewRecorder()
	r := httptest.NewRequest("GET", "/api/agencies/internal", nil)
	r.Header.Set("Authorization", "Bearer "+userToken)
	b.api.ServeHTTP(w, r)
	id := w.Header().Get("X-Request-Id")
	if w.Code != 500 || id == "" || !json.Valid(w.Body.Bytes()) {
		t.Fatalf("%d %q %s", w.Code, id, w.Body)
	}
	if log := b.log.String(); !strings.Contains(log, `level=ERROR msg="request failed" request=`+id) {
		t.Errorf("the log does not have request %s:\n%s", id, log)
	}
}

// TestRealtimeHasRequestIDs: also a handshake that is refused can be found in the log.
func TestRealtimeHasRequestIDs(t *testing.T) {
	b := setUp(t, func(o *Options) {
		o.Realtime = map[string]http.Handler{"/ws": http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(426) })}
	})
	w := httptest.NewRecorder()
	r := httptest.NewRequest("GET", "/ws", nil)
	r.Header.Set("X-Request-Id", "from-proxy")
	b.api.ServeHTTP(w, r)
	if w.Code != 426 || w.Header().Get("X-Request-Id") != "from-proxy" {
		t.Errorf("%d %v", w.Code, w.Header())
	}
}
