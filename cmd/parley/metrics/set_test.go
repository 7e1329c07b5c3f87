package metrics

import (
	"bytes"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"

	"parley/actors/mirror"
	"parley/transport/realtime"
	"parley/transport/rest"
)

// parse asks a handler for /metrics and reads the answer as Prometheus does.
func parse(t *testing.T, h http.Handler) map[string]*dto.MetricFamily {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if w.Code != http.StatusOK {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	var p expfmt.TextParser
	families, err := p.TextToMetricFamilies(bytes.NewReader(w.Body.Bytes()))
	if err != nil {
		t.Fatalf("the output can't be read: %v", err)
	}
	return families
}

// series counts the lines of our own metrics.
func series(t *testing.T, h http.Handler) int {
	n := 0
	for name, f := range parse(t, h) {
		if strings.HasPrefix(name, "parley_") {
			n += len(f.GetMetric())
		}
	}
	return n
}

// TestTally holds the cheap histogram against the library's.
func TestTally(t *testing.T) {
	ours := newTally(1e-9, commitBounds)
	theirs := prometheus.NewHistogram(prometheus.HistogramOpts{Name: "x", Buckets: commitBounds})
	var all sync.WaitGroup
	for g := range 4 {
		all.Go(func() {
			for i := range 1000 {
				took := time.Duration(i*i*i*(g+1)) * time.Nanosecond // 0 to 4 s
				ours.observe(took.Nanoseconds())
				theirs.Observe(took.Seconds())
			}
		})
	}
	ours.observe(time.Minute.Nanoseconds()) // above all bounds
	theirs.Observe(60)
	for _, exact := range []time.Duration{100 * time.Microsecond, time.Second, 250 * time.Millisecond} { // on a bound
		ours.observe(exact.Nanoseconds())
		theirs.Observe(exact.Seconds())
	}
	all.Wait()
	var a, b dto.Metric
	if err := ours.collect(prometheus.NewDesc("x", "", nil, nil)).Write(&a); err != nil {
		t.Fatal(err)
	}
	if err := theirs.Write(&b); err != nil {
		t.Fatal(err)
	}
	if a.Histogram.GetSampleCount() != 4004 || math.Abs(a.Histogram.GetSampleSum()-b.Histogram.GetSampleSum()) > 1e-6 {
		t.Errorf("%d observations of %f, want %d of %f", a.Histogram.GetSampleCount(), a.Histogram.GetSampleSum(),
			b.Histogram.GetSampleCount(), b.Histogram.GetSampleSum())
	}
	for i, want := range b.Histogram.GetBucket() {
		if got := a.Histogram.GetBucket()[i]; got.GetUpperBound() != want.GetUpperBound() || got.GetCumulativeCount() != want.GetCumulativeCount() {
			t.Errorf("bucket %d: %v, want %v", i, got, want)
		}
	}
}

func TestSummary(t *testing.T) {
	h := prometheus.NewHistogram(prometheus.HistogramOpts{Name: "x", Buckets: []float64{0.1, 0.2, 0.4}})
	var empty dto.Metric
	if err := h.Write(&empty); err != nil {
		t.Fatal(err)
	}
	if got := summarise(empty.Histogram); got != (rest.Latency{}) {
		t.Errorf("of nothing: %+v", got)
	}
	for i := range 100 { // 50 up to 100 ms, 45 up to 200, 4 up to 400, one above
		switch {
		case i < 50:
			h.Observe(0.05)
		case i < 95:
			h.Observe(0.15)
		case i < 99:
			h.Observe(0.3)
		default:
			h.Observe(7)
		}
	}
	var m dto.Metric
	if err := h.Write(&m); err != nil {
		t.Fatal(err)
	}
	want := rest.Latency{Count: 100, Avg: 174.5, P50: 100, P95: 200, P99: 400}
	if got := summarise(m.Histogram); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	for q, want := range map[float64]float64{0.25: 0.05, 0.999: 0.4, 1: 0.4, 0.97: 0.3} {
		if got := quantile(m.Histogram, q); math.Abs(got-want) > 1e-9 {
			t.Errorf("quantile %g is %g, want %g", q, got, want)
		}
	}
}

// TestWordsNobodyKnows: a layer that reports something that is not in its tables makes no series.
func TestWordsNobodyKnows(t *testing.T) {
	s := New(Options{Instance: "i"})
	s.Answered("GET", "/healthz", 200, 0)
	before := series(t, s)
	s.Refused("made up")
	s.Operated("made up", "ok", time.Second)
	s.Operated("send-message", "made up", time.Second)
	s.Accepted(mirror.Plain)
	s.Ended(mirror.Plain, "made up")
	if after := series(t, s); after != before {
		t.Errorf("%d series became %d", before, after)
	}
	s.Answered("GET", "/healthz", 0, 0)
	s.Answered("GET", "/healthz", 99, 0)
	s.Answered("GET", "/healthz", 1000, 0)
	if after := series(t, s); after != before+2 {
		t.Errorf("odd statuses made %d series, want one class of two metrics", after-before)
	}
}

// TestBeforeTheStart: the set can be looked at before anything else is there.
func TestBeforeTheStart(t *testing.T) {
	s := New(Options{Instance: "i1", Build: Build{Version: "v1", Revision: "abc", Go: "go1"}})
	families := parse(t, s)
	if families[buildInfo] == nil || families["go_goroutines"] == nil || families["process_start_time_seconds"] == nil {
		t.Error("build, runtime or process are missing")
	}
	v, err := s.Vitals()
	if err != nil || v.Instance != "i1" || v.Connections != 0 || v.Memory < 1 || len(v.Counters) == 0 {
		t.Errorf("%+v, %v", v, err)
	}
}

func TestSnapshotKeys(t *testing.T) {
	s := New(Options{})
	s.Operated("send-message", "ok", 3*time.Millisecond)
	s.Answered("GET", "/api/agencies/{id}", 404, 30*time.Millisecond)
	s.Committed(3, 1, 2*time.Millisecond)
	s.FannedOut(2, 10)
	s.Queued(3)
	s.FanOutTook(time.Microsecond)
	v, err := s.Vitals()
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]float64{
		`parley_realtime_operations_total{operation="send-message",result="ok"}`:           1,
		`parley_http_requests_total{method="GET",route="/api/agencies/{id}",status="4xx"}`: 1,
		`parley_fanout_events_total`: 2, `parley_fanout_deliveries_total`: 20, `parley_store_batches_refused_total`: 1,
	} {
		if got, ok := v.Counters[key]; !ok || got != want {
			t.Errorf("%s is %g (%v), want %g", key, got, ok, want)
		}
	}
	for key, avg := range map[string]float64{
		`parley_realtime_operation_seconds{operation="send-message"}`:                       3,
		`parley_http_request_seconds{method="GET",route="/api/agencies/{id}",status="4xx"}`: 30,
		`parley_store_commit_seconds`:                                                       2, `parley_fanout_seconds`: 0.001,
	} {
		if got := v.Latency[key]; got.Count != 1 || got.Avg != avg || got.P50 <= 0 || got.P99 < got.P50 {
			t.Errorf("%s is %+v, want one of %g ms", key, got, avg)
		}
	}
	for _, number := range []string{commitBatches, mailboxDepth} {
		if _, there := v.Latency[number]; there {
			t.Errorf("%s is shown as a time", number)
		}
	}
}

// TestConcurrentUse lets every layer report while others look.
func TestConcurrentUse(t *testing.T) {
	s := New(Options{})
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for i := range 500 {
				s.Accepted(mirror.SocketIO)
				s.Refused(realtime.Refusals()[i%len(realtime.Refusals())])
				s.Operated("join-agency", "ok", time.Millisecond)
				s.Answered("GET", fmt.Sprint("/r", i%5), 200, time.Millisecond)
				s.Committed(i, 0, time.Millisecond)
				s.FannedOut(1, 10)
				s.FanOutTook(time.Microsecond)
				s.Overloaded("agency")
				s.Failed()
				s.Ended(mirror.SocketIO, "client")
			}
		})
		all.Go(func() {
			for range 20 {
				parse(t, s)
				if _, err := s.Vitals(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	v, err := s.Vitals()
	if err != nil || v.Counters[fanoutSent] != 20_000 || v.Counters[`parley_realtime_ended_total{format="socketio",reason="client"}`] != 2000 ||
		v.Counters[actorFailures] != 2000 || v.Latency[commitSeconds].Count != 2000 {
		t.Errorf("lost something: %v, %+v", err, v)
	}
	if live := parse(t, s)[connections].GetMetric(); len(live) != 2 || live[0].GetGauge().GetValue() != 0 || live[1].GetGauge().GetValue() != 0 {
		t.Errorf("live connections: %v", live)
	}
}

// BenchmarkFannedOut is what measuring adds to one fan-out, but for the clock at one in eight.
func BenchmarkFannedOut(b *testing.B) {
	s := New(Options{})
	for b.Loop() {
		s.FannedOut(1, 10)
	}
}

// BenchmarkFanOutTook is what measuring adds to one fan-out in eight, clock included.
func BenchmarkFanOutTook(b *testing.B) {
	s := New(Options{})
	for b.Loop() {
		begun := time.Now()
		s.FanOutTook(time.Since(begun))
	}
}

// BenchmarkOperated is what measuring adds to one operation of a client.
func BenchmarkOperated(b *testing.B) {
	s := New(Options{})
	b.ReportAllocs()
	for b.Loop() {
		begun := time.Now()
		s.Operated("send-message", "ok", time.Since(begun))
	}
}

// BenchmarkAnswered is what measuring adds to one request.
func BenchmarkAnswered(b *testing.B) {
	s := New(Options{})
	b.ReportAllocs()
	for b.Loop() {
		s.Answered("GET", "/api/agencies/{id}/messages", 200, time.Millisecond)
	}
}
