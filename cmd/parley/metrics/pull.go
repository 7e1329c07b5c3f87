package metrics

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"parley/actors/kernel"
	"parley/actors/platform"
	"parley/actors/session"
	"parley/transport/realtime/conn"
)

// pullTimeout bounds what one look asks the store.
const pullTimeout = 2 * time.Second

// sessionKind is the kind of the actors that are not in the directory.
const sessionKind = "session"

// Sources are asked when somebody looks. All are required.
type Sources struct {
	System   *kernel.System
	Actors   *kernel.Local
	Sessions *session.Registry
	Platform *platform.Platform
	Hub      *conn.Hub
}

// Watch begins to ask the sources; before, what they know is missing.
func (s *Set) Watch(from Sources) {
	for kind := range from.Actors.Census() {
		s.overloaded.WithLabelValues(string(kind)) // a rate needs its 0
	}
	s.sources.Store(&from)
}

// pull collects what is looked up and not told.
type pull struct{ set *Set }

// pulled are its metrics.
var pulled = func() map[string]*prometheus.Desc {
	out := map[string]*prometheus.Desc{}
	for _, name := range []string{framesSent, bytesSent, fanoutEvents, fanoutSent, fanoutSeconds, commitSeconds, commitBatches, queueBatches,
		queueBytes, readsWaiting, readsRunning, actorsAwake, mailboxDepth, mailboxMessages, mailboxDeepest, errandsPending} {
		m := find(name)
		out[name] = prometheus.NewDesc(m.name, m.help, m.labels, nil)
	}
	return out
}()

// Describe implements prometheus.Collector.
func (p *pull) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range pulled {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (p *pull) Collect(ch chan<- prometheus.Metric) {
	s := p.set
	send := func(kind prometheus.ValueType, name string, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(pulled[name], kind, v, labels...)
	}
	send(prometheus.CounterValue, fanoutEvents, float64(s.fanOutEvents.Load()))
	send(prometheus.CounterValue, fanoutSent, float64(s.fanOutSent.Load()))
	ch <- s.fanOutTook.collect(pulled[fanoutSeconds])
	ch <- s.depth.collect(pulled[mailboxDepth])
	ch <- s.commitTook.collect(pulled[commitSeconds])
	ch <- s.commitSize.collect(pulled[commitBatches])
	from := s.sources.Load()
	if from == nil {
		return
	}
	frames, bytes := from.Hub.Sent()
	send(prometheus.CounterValue, framesSent, float64(frames))
	send(prometheus.CounterValue, bytesSent, float64(bytes))
	q := from.System.Queues()
	send(prometheus.GaugeValue, queueBatches, float64(q.Batches))
	send(prometheus.GaugeValue, queueBytes, float64(q.BatchBytes))
	send(prometheus.GaugeValue, readsWaiting, float64(q.Reads))
	send(prometheus.GaugeValue, readsRunning, float64(q.ReadWorkers))
	for kind, h := range from.Actors.Census() {
		send(prometheus.GaugeValue, actorsAwake, float64(h.Awake), string(kind))
		send(prometheus.GaugeValue, mailboxMessages, float64(h.Waiting), string(kind))
		send(prometheus.GaugeValue, mailboxDeepest, float64(h.Deepest), string(kind))
	}
	send(prometheus.GaugeValue, actorsAwake, float64(from.Sessions.Len()), sessionKind)
	ctx, cancel := context.WithTimeout(context.Background(), pullTimeout)
	defer cancel()
	if n, err := from.Platform.PendingErrands(ctx); err == nil { // the store's failure shows elsewhere; the rest is worth showing
		send(prometheus.GaugeValue, errandsPending, float64(n))
	}
}
