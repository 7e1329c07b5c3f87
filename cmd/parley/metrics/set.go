// Package metrics is what a server measures of itself: it is told by the layers, asks them when somebody looks, and
// shows the result in the Prometheus format and as a JSON snapshot.
//
// Labels hold only what the program itself names (routes, operations, kinds, reasons), never ids or anything that a client
// sent, so that no client can make the number of series grow.
package metrics

import (
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"parley/actors/kernel"
	"parley/actors/mirror"
	"parley/transport/realtime"
	"parley/transport/rest"
)

// Build says what program this is.
type Build struct{ Version, Revision, Go string }

// Options of a Set.
type Options struct {
	Instance string
	Build    Build
	Logger   *slog.Logger // nil: slog.Default
}

// Set is all that one server measures. It is the Meter of every layer.
type Set struct {
	o       Options
	begun   time.Time
	own     *prometheus.Registry
	handler http.Handler
	sources atomic.Pointer[Sources]

	http        *prometheus.CounterVec
	httpSeconds *prometheus.HistogramVec

	live       map[mirror.Format]prometheus.Gauge
	accepted   map[mirror.Format]prometheus.Counter
	refused    map[string]prometheus.Counter
	ended      map[ending]prometheus.Counter
	operations map[outcome]prometheus.Counter
	took       map[string]prometheus.Observer

	commitTook, commitSize, fanOutTook, depth *tally
	batchesRefused, failures                  prometheus.Counter
	fanOutEvents, fanOutSent                  atomic.Uint64
	overloaded                                *prometheus.CounterVec
}

type (
	ending  struct{ format, reason string }
	outcome struct{ operation, result string }
)

var (
	_ kernel.Meter   = (*Set)(nil)
	_ realtime.Meter = (*Set)(nil)
	_ rest.Meter     = (*Set)(nil)
	_ rest.Metrics   = (*Set)(nil)
)

// New makes a set. Watch tells it where to look for what it is not told.
func New(o Options) *Set {
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	s := &Set{o: o, begun: time.Now(), own: prometheus.NewRegistry()}
	s.http = s.counters(httpRequests)
	s.httpSeconds = s.histograms(httpSeconds)
	s.bindRealtime()
	s.bindActors()
	build := s.gauges(buildInfo)
	build.WithLabelValues(o.Build.Version, o.Build.Revision, o.Build.Go).Set(1)
	s.own.MustRegister(&pull{s})
	process := prometheus.NewRegistry()
	process.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	s.handler = promhttp.HandlerFor(prometheus.Gatherers{s.own, process}, promhttp.HandlerOpts{
		ErrorLog: slog.NewLogLogger(o.Logger.Handler(), slog.LevelWarn), ErrorHandling: promhttp.ContinueOnError})
	return s
}

func (s *Set) bindRealtime() {
	live, accepts, refusals := s.gauges(connections), s.counters(accepted), s.counters(refused)
	ends, answers, took := s.counters(ended), s.counters(operations), s.histograms(operationTook)
	s.live, s.accepted = map[mirror.Format]prometheus.Gauge{}, map[mirror.Format]prometheus.Counter{}
	s.refused, s.ended = map[string]prometheus.Counter{}, map[ending]prometheus.Counter{}
	s.operations, s.took = map[outcome]prometheus.Counter{}, map[string]prometheus.Observer{}
	for _, f := range mirror.Formats() {
		s.live[f] = live.WithLabelValues(f.String())
		s.accepted[f] = accepts.WithLabelValues(f.String())
		for _, reason := range realtime.Endings() {
			s.ended[ending{f.String(), reason}] = ends.WithLabelValues(f.String(), reason)
		}
	}
	for _, reason := range realtime.Refusals() {
		s.refused[reason] = refusals.WithLabelValues(reason)
	}
	for _, op := range realtime.Operations() {
		s.took[op] = took.WithLabelValues(op)
		for _, result := range realtime.Results() {
			s.operations[outcome{op, result}] = answers.WithLabelValues(op, result)
		}
	}
}

func (s *Set) bindActors() {
	const nanosecond = 1e-9
	s.commitTook, s.commitSize = newTally(nanosecond, commitBounds), newTally(1, batchBounds)
	s.fanOutTook, s.depth = newTally(nanosecond, fanoutBounds), newTally(1, depthBounds)
	s.batchesRefused = s.counters(batchesRefused).WithLabelValues()
	s.failures = s.counters(actorFailures).WithLabelValues()
	s.overloaded = s.counters(callsOverloaded)
}

func (s *Set) counters(name string) *prometheus.CounterVec {
	m := find(name)
	v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: m.name, Help: m.help}, m.labels)
	s.own.MustRegister(v)
	return v
}

func (s *Set) gauges(name string) *prometheus.GaugeVec {
	m := find(name)
	v := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: m.name, Help: m.help}, m.labels)
	s.own.MustRegister(v)
	return v
}

func (s *Set) histograms(name string) *prometheus.HistogramVec {
	m := find(name)
	v := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: m.name, Help: m.help, Buckets: secondsBounds}, m.labels)
	s.own.MustRegister(v)
	return v
}

// ServeHTTP implements rest.Metrics.
func (s *Set) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// classes are the values of the label status.
var classes = [...]string{"none", "1xx", "2xx", "3xx", "4xx", "5xx"}

// Answered implements rest.Meter.
func (s *Set) Answered(method, route string, status int, took time.Duration) {
	class := classes[0]
	if status >= 100 && status/100 < len(classes) {
		class = classes[status/100]
	}
	s.http.WithLabelValues(method, route, class).Inc()
	s.httpSeconds.WithLabelValues(method, route, class).Observe(took.Seconds())
}

// count counts what the tables of the layers have; anything else would be a new series.
func count(c prometheus.Counter) {
	if c != nil {
		c.Inc()
	}
}

// Accepted implements realtime.Meter.
func (s *Set) Accepted(f mirror.Format) {
	s.live[f].Inc()
	s.accepted[f].Inc()
}

// Refused implements realtime.Meter.
func (s *Set) Refused(reason string) { count(s.refused[reason]) }

// Ended implements realtime.Meter.
func (s *Set) Ended(f mirror.Format, reason string) {
	s.live[f].Dec()
	count(s.ended[ending{f.String(), reason}])
}

// Operated implements realtime.Meter.
func (s *Set) Operated(operation, result string, took time.Duration) {
	count(s.operations[outcome{operation, result}])
	if h := s.took[operation]; h != nil {
		h.Observe(took.Seconds())
	}
}

// Committed implements kernel.Meter.
func (s *Set) Committed(batches, refused int, took time.Duration) {
	s.commitTook.observe(took.Nanoseconds())
	s.commitSize.observe(int64(batches))
	if refused > 0 {
		s.batchesRefused.Add(float64(refused))
	}
}

// Queued implements kernel.Meter.
func (s *Set) Queued(calls int) { s.depth.observe(int64(calls)) }

// Overloaded implements kernel.Meter.
func (s *Set) Overloaded(k kernel.Kind) { s.overloaded.WithLabelValues(string(k)).Inc() }

// Failed implements kernel.Meter.
func (s *Set) Failed() { s.failures.Inc() }

// FannedOut implements kernel.Meter.
func (s *Set) FannedOut(events, sockets int) {
	s.fanOutEvents.Add(uint64(events))
	s.fanOutSent.Add(uint64(events * sockets))
}

// FanOutTook implements kernel.Meter.
func (s *Set) FanOutTook(took time.Duration) { s.fanOutTook.observe(took.Nanoseconds()) }
