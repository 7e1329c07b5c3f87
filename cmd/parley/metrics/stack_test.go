package metrics

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	dto "github.com/prometheus/client_model/go"

	"parley/actors/actortest"
	"parley/actors/agency"
	"parley/actors/kernel"
	"parley/persistence"
	"parley/transport/realtime"
	"parley/transport/realtime/conn"
	"parley/transport/rest"
)

// stack is a whole server in this process, measured.
type stack struct {
	t     *testing.T
	set   *Set
	world *actortest.World
	hub   *conn.Hub
	api   *rest.API
	srv   *httptest.Server
}

func newStack(t *testing.T) *stack {
	t.Helper()
	s := &stack{t: t, set: New(Options{Instance: "stack-1", Logger: actortest.Quiet(), Build: Build{Version: "v1", Revision: "r", Go: "go"}})}
	s.world = actortest.NewMetered(t, s.set)
	s.hub = conn.NewHub(conn.Options{Logger: actortest.Quiet()})
	s.srv = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.api.ServeHTTP(w, r) }))
	own, err := url.Parse(s.srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	live := realtime.New(realtime.Options{Hub: s.hub, Auth: s.world.Platform, Commands: s.world.Platform, System: s.world.System, Directory: s.world.Local,
		Registry: s.world.Registry, PublicURL: own, WebURL: own, PingInterval: conn.DefaultPingInterval, PingTimeout: conn.DefaultPingTimeout,
		MaxFrame: conn.DefaultMaxFrame, Logger: actortest.Quiet(), Meter: s.set})
	s.api, err = rest.New(rest.Options{Service: s.world.Platform, PublicURL: own, Logger: actortest.Quiet(), Metrics: s.set, Meter: s.set,
		Realtime: map[string]http.Handler{"/ws": live.Plain(), "/socket.io/": live.SocketIO()}})
	if err != nil {
		t.Fatal(err)
	}
	s.set.Watch(Sources{System: s.world.System, Actors: s.world.Local, Sessions: s.world.Registry, Platform: s.world.Platform, Hub: s.hub})
	t.Cleanup(func() { s.hub.Close(); s.srv.Close() })
	return s
}

// do makes a request and decodes the answer.
func (s *stack) do(method, path, token, body string, status int) map[string]any {
	s.t.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+token)
	w := httptest.NewRecorder()
	s.api.ServeHTTP(w, r)
	var out map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil || w.Code != status {
		s.t.Fatalf("%s %s: %d, %v: %s", method, path, w.Code, err, w.Body)
	}
	return out
}

// dial opens a connection in the plain format.
func (s *stack) dial(token string) *websocket.Conn {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 10*time.Second)
	defer cancel()
	c, _, err := websocket.Dial(ctx, s.srv.URL+"/ws", &websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer " + token}}})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = c.CloseNow() })
	return c
}

// say sends a frame and reads until one comes that holds a text.
func (s *stack) say(c *websocket.Conn, frame, until string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 10*time.Second)
	defer cancel()
	if frame != "" {
		if err := c.Write(ctx, websocket.MessageText, []byte(frame)); err != nil {
			s.t.Fatal(err)
		}
	}
	for {
		_, text, err := c.Read(ctx)
		if err != nil {
			s.t.Fatalf("waiting for %q: %v", until, err)
		}
		if strings.Contains(string(text), until) {
			return
		}
	}
}

// live brings life into the stack: two accounts, two connections of one, a room with both, messages and a refusal.
func (s *stack) live() (token string, socket *websocket.Conn) {
	s.t.Helper()
	ann := s.do("POST", "/api/auth/register", "", `{"username":"ann","password":"correct horse"}`, 201)
	token = ann["token"].(string)
	s.do("POST", "/api/agents/register", "", `{"name":"Echo Bot"}`, 201)
	room := s.do("POST", "/api/agencies", token, `{"name":"Room"}`, 201)["id"].(string)
	socket = s.dial(token)
	s.say(socket, "", `"ready"`)
	second := s.dial(token)
	s.say(second, "", `"ready"`)
	s.say(second, `{"event":"join-agency","data":{"agencyId":"`+room+`"}}`, "agency-joined")
	s.say(socket, `{"event":"join-agency","data":{"agencyId":"`+room+`"}}`, "agency-joined")
	for i := range 3 {
		s.say(socket, `{"event":"send-message","data":{"agencyId":"`+room+`","content":"m`+fmt.Sprint(i)+`"},"ack":1}`, fmt.Sprintf(`"content":"m%d"`, i))
		s.say(second, "", fmt.Sprintf(`"content":"m%d"`, i))
	}
	s.say(socket, `{"event":"no-such-event","data":{},"ack":2}`, `"ack":2`)
	return token, socket
}

// integer wants a field that is a whole number.
func integer(t *testing.T, in map[string]any, field string) int {
	t.Helper()
	v, ok := in[field].(float64)
	if !ok || v != float64(int(v)) {
		t.Errorf("%s is %v, want a whole number", field, in[field])
	}
	return int(v)
}

// TestSnapshotOfARunningStack looks at every field (rest.md, Observability).
func TestSnapshotOfARunningStack(t *testing.T) {
	s := newStack(t)
	_, socket := s.live()
	snap := s.do("GET", "/metrics/snapshot", "", "", 200)
	if len(snap) != 7 || snap["instance"] != "stack-1" {
		t.Errorf("fields: %v", snap)
	}
	if up := integer(t, snap, "uptime_seconds"); up < 0 || up > 600 {
		t.Errorf("up for %d s", up)
	}
	if mb := integer(t, snap, "memory_mb"); mb < 5 || mb > 4096 {
		t.Errorf("%d MB", mb)
	}
	if n := integer(t, snap, "connections"); n != 2 {
		t.Errorf("%d connections", n)
	}
	totals := snap["platform"].(map[string]any)
	for field, want := range map[string]int{"total_users": 1, "total_agents": 1, "unclaimed_agents": 1, "total_agencies": 3, // the Lobby, the agent's, Room
		"total_messages": 3, "total_memberships": 4, "active_hooks": 0, "pending_claims": 0} {
		if got := integer(t, totals, field); got != want {
			t.Errorf("%s is %d, want %d", field, got, want)
		}
	}
	if len(totals) != 8 {
		t.Errorf("platform: %v", totals)
	}
	counters := snap["counters"].(map[string]any)
	for key, want := range map[string]float64{
		`parley_realtime_accepted_total{format="plain"}`: 2, `parley_realtime_accepted_total{format="socketio"}`: 0,
		`parley_realtime_operations_total{operation="send-message",result="ok"}`:            3,
		`parley_realtime_operations_total{operation="join-agency",result="ok"}`:             2,
		`parley_realtime_operations_total{operation="unknown",result="invalid"}`:            1,
		`parley_http_requests_total{method="POST",route="/api/auth/register",status="2xx"}`: 1,
		`parley_fanout_events_total`: 3, `parley_fanout_deliveries_total`: 6, `parley_actor_failures_total`: 0,
	} {
		if got, ok := counters[key].(float64); !ok || got != want {
			t.Errorf("%s is %v, want %g", key, counters[key], want)
		}
	}
	latency := snap["latency"].(map[string]any)
	for key, least := range map[string]int{`parley_realtime_operation_seconds{operation="send-message"}`: 3, `parley_store_commit_seconds`: 5,
		`parley_fanout_seconds`: 1, `parley_http_request_seconds{method="POST",route="/api/auth/register",status="2xx"}`: 1} {
		sum, ok := latency[key].(map[string]any)
		if !ok || len(sum) != 5 || integer(t, sum, "count") < least {
			t.Errorf("%s is %v", key, latency[key])
			continue
		}
		if avg, p50, p99 := sum["avg_ms"].(float64), sum["p50_ms"].(float64), sum["p99_ms"].(float64); avg <= 0 || p50 <= 0 || p99 < p50 || sum["p95_ms"].(float64) < p50 {
			t.Errorf("%s is %v", key, sum)
		}
	}
	_ = socket.Close(websocket.StatusNormalClosure, "")
	actortest.Eventually(t, "one connection left", func() bool {
		snap := s.do("GET", "/metrics/snapshot", "", "", 200)
		return integer(t, snap, "connections") == 1 && snap["counters"].(map[string]any)[`parley_realtime_ended_total{format="plain",reason="client"}`] == 1.0
	})
}

// TestEveryDocumentedMetricIsThere holds the table against what a parser reads, both ways.
func TestEveryDocumentedMetricIsThere(t *testing.T) {
	s := newStack(t)
	s.live()
	s.do("GET", "/healthz", "", "", 200)
	families := parse(t, s.api)
	kinds := map[string]dto.MetricType{counter: dto.MetricType_COUNTER, gauge: dto.MetricType_GAUGE, histogram: dto.MetricType_HISTOGRAM}
	for _, m := range table {
		f := families[m.name]
		if f == nil || f.GetType() != kinds[m.kind] || f.GetHelp() != m.help || len(f.GetMetric()) == 0 {
			t.Errorf("%s is not there as documented: %v", m.name, f)
			continue
		}
		want := slices.Sorted(slices.Values(m.labels))
		for _, series := range f.GetMetric() {
			var labels []string
			for _, l := range series.GetLabel() {
				labels = append(labels, l.GetName())
			}
			if slices.Sort(labels); !slices.Equal(labels, want) {
				t.Errorf("%s has labels %q, documented are %q", m.name, labels, want)
			}
		}
	}
	for name := range families {
		own := slices.ContainsFunc(table, func(m metric) bool { return m.name == name })
		if !own && !strings.HasPrefix(name, "go_") && !strings.HasPrefix(name, "process_") {
			t.Errorf("%s is not documented", name)
		}
	}
	for _, name := range []string{"go_goroutines", "go_memstats_heap_inuse_bytes", "process_resident_memory_bytes", "process_open_fds", "process_max_fds"} {
		if families[name] == nil {
			t.Errorf("%s, which the page for operators names, is missing", name)
		}
	}
	for what, v := range map[string]float64{
		"live":   families[connections].GetMetric()[0].GetGauge().GetValue(),
		"frames": families[framesSent].GetMetric()[0].GetCounter().GetValue(),
		"bytes":  families[bytesSent].GetMetric()[0].GetCounter().GetValue(),
	} {
		if v < 2 {
			t.Errorf("%s: %g", what, v)
		}
	}
	if awake := value(families[actorsAwake], "session"); awake != 2 {
		t.Errorf("%g sessions are awake", awake)
	}
}

// value finds the gauge whose one label has a value; -1 for none.
func value(f *dto.MetricFamily, label string) float64 {
	for _, m := range f.GetMetric() {
		if m.GetLabel()[0].GetValue() == label {
			return m.GetGauge().GetValue()
		}
	}
	return -1
}

// TestThePageForOperators: it holds the table as it is.
func TestThePageForOperators(t *testing.T) {
	page, err := os.ReadFile("../../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	if want := Reference(); !strings.Contains(string(page), want) {
		t.Errorf("docs/operations.md does not have the table of metrics as it is:\n%s", want)
	}
}

// TestSeriesDoNotGrow hammers the server with all that a client can make up.
func TestSeriesDoNotGrow(t *testing.T) {
	s := newStack(t)
	token, socket := s.live()
	random := rand.New(rand.NewPCG(1, 2))
	hammer := func(rounds int) {
		for i := range rounds {
			word := fmt.Sprintf("%x-%d", random.Uint64(), i)
			for _, r := range []struct{ method, path string }{
				{"GET", "/" + word}, {"GET", "/api/" + word}, {"GET", "/api/agencies/" + word}, {"GET", "/api/agencies/lookup/" + word},
				{"POST", "/api/agencies/" + word + "/join"}, {"X" + strings.ToUpper(word), "/healthz"}, {"X" + strings.ToUpper(word), "/" + word},
				{"GET", "/metrics/" + word}, {"OPTIONS", "/" + word},
			} {
				req := httptest.NewRequest(r.method, r.path+"?q="+word, nil)
				req.Header.Set("Authorization", "Bearer "+token)
				req.Header.Set("X-Request-Id", word)
				s.api.ServeHTTP(httptest.NewRecorder(), req)
			}
			s.say(socket, `{"event":"`+word+`","data":{},"ack":7}`, `"ack":7`)
			s.say(socket, `{"event":"join-agency","data":{"agencyId":"`+word+`"},"ack":8}`, `"ack":8`)
			bad := s.dial(word)
			_, _, _ = bad.Read(t.Context()) // the server closes
			if res, err := http.Get(s.srv.URL + "/ws?x=" + word); err == nil {
				_, _ = io.Copy(io.Discard, res.Body)
				_ = res.Body.Close()
			}
		}
	}
	hammer(1)
	parse(t, s.api) // counts itself the next time
	before := series(t, s.api)
	hammer(20)
	if after := series(t, s.api); after != before {
		t.Errorf("%d series became %d", before, after)
	}
	if before > 1000 {
		t.Errorf("%d series are too many for so little", before)
	}
}

// TestErrandsPending shows work that is promised and not done; without the store the rest of the page stays.
func TestErrandsPending(t *testing.T) {
	s := newStack(t)
	ann := s.world.User("ann")
	room := s.world.Room(ann, "Room", false)
	pending := func() float64 { return parse(t, s.api)[errandsPending].GetMetric()[0].GetGauge().GetValue() }
	if n := pending(); n != 0 {
		t.Errorf("%g errands wait at the start", n)
	}
	if _, err := kernel.Ask[kernel.Done](t.Context(), s.world.Local, agency.Ref(room), agency.Dissolve{By: ann.Sender}); err != nil {
		t.Fatal(err)
	}
	if n := pending(); n != 1 {
		t.Errorf("%g errands wait, want that of the dissolved agency", n)
	}
	if err := s.world.Faults.Close(); err != nil {
		t.Fatal(err)
	}
	families := parse(t, s.api)
	if families[errandsPending] != nil || families[actorsAwake] == nil || families[fanoutSeconds] == nil {
		t.Error("without the store: the errands are known, or the rest is not")
	}
	s.do("GET", "/metrics/snapshot", "", "", 503)
	if _, err := s.world.Platform.Totals(t.Context()); !strings.Contains(fmt.Sprint(err), persistence.ErrClosed.Error()) {
		t.Errorf("totals: %v", err)
	}
	if _, err := s.world.Platform.PendingErrands(t.Context()); kernel.AsError(err) == nil {
		t.Error("errands of a closed store")
	}
}
