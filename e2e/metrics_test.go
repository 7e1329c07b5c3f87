package e2e

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"

	"parley/e2e/client"
	"parley/transport/rest/scenario"
)

// metricsToken guards the metrics of the server that measures.
const metricsToken = "metrics-token-of-the-test"

// scrape reads /metrics as Prometheus does.
func scrape(t *testing.T, base string) map[string]*dto.MetricFamily {
	t.Helper()
	r, err := http.NewRequestWithContext(soon(t), http.MethodGet, base+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+metricsToken)
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = io.Copy(io.Discard, res.Body); _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		t.Fatal(res.Status)
	}
	var p expfmt.TextParser
	families, err := p.TextToMetricFamilies(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return families
}

// sum adds up the series of a metric that have some labels; histograms count their observations.
func sum(families map[string]*dto.MetricFamily, name string, labels ...string) float64 {
	total := 0.0
	for _, m := range families[name].GetMetric() {
		has := map[string]bool{}
		for _, l := range m.GetLabel() {
			has[l.GetValue()] = true
		}
		all := true
		for _, l := range labels {
			all = all && has[l]
		}
		if all {
			total += m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	return total
}

// snapshot is the answer of /metrics/snapshot.
type snapshot struct {
	Instance    string             `json:"instance"`
	Uptime      *int64             `json:"uptime_seconds"`
	Memory      int64              `json:"memory_mb"`
	Connections int64              `json:"connections"`
	Platform    map[string]int64   `json:"platform"`
	Counters    map[string]float64 `json:"counters"`
	Latency     map[string]struct {
		Count int64   `json:"count"`
		Avg   float64 `json:"avg_ms"`
		P50   float64 `json:"p50_ms"`
		P95   float64 `json:"p95_ms"`
		P99   float64 `json:"p99_ms"`
	} `json:"latency"`
}

// TestMetricsMove: what people do shows in the counters, in both forms, and only to those who have the token.
func TestMetricsMove(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "parley.yaml")
	if err := os.WriteFile(file, []byte("metrics-token: "+metricsToken+"\ninstance: measured-1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	server := own(t, "--config", file)
	api := client.API{Base: server.URL()}
	scenario.Run(t, scenario.Server(api.Base), nil, []step{
		{Name: "the guard of the text", URL: "/metrics", Status: 401, WantHeader: map[string]string{"WWW-Authenticate": "Bearer"}},
		{Name: "the guard of the snapshot", URL: "/metrics/snapshot", Token: "wrong", Status: 401},
		{Name: "health is open", URL: "/healthz", Status: 200},
		{URL: "/metrics/snapshot", Token: metricsToken, Status: 200, Want: []string{`"instance":"measured-1"`, `"connections":0`, `"total_users":0`}},
	})
	before := scrape(t, api.Base)

	ann, ben := user(t, api, "ann"), user(t, api, "ben")
	room := ann.room(t, "Room", false)
	ben.enter(t, room)
	a, b := ann.plain(t), ben.socketIO(t)
	joined(t, a, room)
	joined(t, b, room)
	const messages = 5
	for i := range messages {
		content := string(rune('a' + i))
		if _, err := a.Send(soon(t), room.ID, content, ""); err != nil {
			t.Fatal(err)
		}
		message(t, b, content)
	}
	ann.post(t, room, "over REST")
	message(t, a, "over REST")
	message(t, b, "over REST")
	var ack client.Ack
	if err := b.Call(soon(t), "send-message", map[string]string{"agencyId": room.ID}, &ack); err != nil || ack.OK {
		t.Fatalf("an empty message: %v, %+v", err, ack)
	}

	after := scrape(t, api.Base)
	for _, c := range []struct {
		name   string
		labels []string
		want   float64
	}{
		{"parley_realtime_connections", []string{"plain"}, 1},
		{"parley_realtime_connections", []string{"socketio"}, 1},
		{"parley_realtime_accepted_total", nil, 2},
		{"parley_realtime_ended_total", nil, 0},
		{"parley_realtime_operations_total", []string{"send-message", "ok"}, messages},
		{"parley_realtime_operations_total", []string{"send-message", "invalid"}, 1},
		{"parley_realtime_operations_total", []string{"join-agency", "ok"}, 2},
		{"parley_realtime_operation_seconds", []string{"send-message"}, messages + 1},
		{"parley_http_requests_total", []string{"POST", "/api/auth/register", "2xx"}, 2},
		{"parley_http_request_seconds", []string{"POST", "/api/agencies/{id}/messages", "2xx"}, 1},
		{"parley_actors_awake", []string{"session"}, 2},
		{"parley_actors_awake", []string{"mirror"}, 1},
		{"parley_actor_failures_total", nil, 0},
		{"parley_calls_overloaded_total", nil, 0},
		{"parley_errands_pending", nil, 0},
	} {
		if got := sum(after, c.name, c.labels...) - sum(before, c.name, c.labels...); got != c.want {
			t.Errorf("%s %v moved by %g, want %g", c.name, c.labels, got, c.want)
		}
	}
	for name, least := range map[string]float64{
		"parley_store_commit_seconds": messages + 2, "parley_store_commit_batches": messages + 2, "parley_fanout_events_total": messages + 1,
		"parley_fanout_deliveries_total": 2 * (messages + 1), "parley_fanout_seconds": 1, "parley_realtime_frames_sent_total": 3 * messages,
		"parley_realtime_bytes_sent_total": 1000,
	} {
		if got := sum(after, name) - sum(before, name); got < least {
			t.Errorf("%s moved by %g, want at least %g", name, got, least)
		}
	}
	if sum(after, "parley_build_info") != 1 || sum(after, "process_open_fds") < 5 || sum(after, "go_goroutines") < 5 {
		t.Error("build, process or runtime are missing")
	}

	look := func() snapshot {
		return must[snapshot](t, api.As(metricsToken), http.MethodGet, "/metrics/snapshot", nil)
	}
	s := look()
	if s.Connections != 2 || s.Uptime == nil || s.Memory < 5 || len(s.Platform) != 8 || s.Platform["total_users"] != 2 ||
		s.Platform["total_messages"] != messages+1 || s.Platform["total_memberships"] != 4 || s.Platform["total_agencies"] != 2 {
		t.Errorf("the snapshot says %+v", s)
	}
	if n := s.Counters[`parley_realtime_operations_total{operation="send-message",result="ok"}`]; n != messages {
		t.Errorf("the snapshot counts %g messages", n)
	}
	if l := s.Latency[`parley_realtime_operation_seconds{operation="send-message"}`]; l.Count != messages+1 || l.Avg <= 0 || l.P50 <= 0 || l.P95 < l.P50 || l.P99 < l.P95 {
		t.Errorf("the snapshot measures %+v", l)
	}
	a.Close()
	b.Close()
	eventually(t, "both connections ended", func() bool { return look().Connections == 0 })
	eventually(t, "both ends counted", func() bool { return sum(scrape(t, api.Base), "parley_realtime_ended_total") == 2 })
}

// TestMetricsAreOpenWithoutAToken: a server of the defaults shows them to everybody.
func TestMetricsAreOpenWithoutAToken(t *testing.T) {
	t.Parallel()
	api := common(t)
	if s := must[snapshot](t, api, http.MethodGet, "/metrics/snapshot", nil); s.Instance == "" || s.Memory == 0 {
		t.Errorf("%+v", s)
	}
	if f := scrape(t, api.Base); sum(f, "parley_build_info") != 1 {
		t.Error("no build info")
	}
}
