package metrics

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	dto "github.com/prometheus/client_model/go"

	"parley/transport/rest"
)

// Vitals implements rest.Metrics: the same numbers as in the Prometheus format, without those of the Go runtime.
func (s *Set) Vitals() (rest.Vitals, error) {
	v := rest.Vitals{Instance: s.o.Instance, Uptime: int64(time.Since(s.begun).Seconds()), Memory: residentBytes() >> 20,
		Counters: map[string]float64{}, Latency: map[string]rest.Latency{}}
	if from := s.sources.Load(); from != nil {
		v.Connections = int64(from.Hub.Len())
	}
	families, err := s.own.Gather()
	if err != nil {
		return v, fmt.Errorf("gather metrics: %w", err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			key := f.GetName() + labelsOf(m)
			switch {
			case m.Counter != nil:
				v.Counters[key] = m.Counter.GetValue()
			case m.Histogram != nil && strings.HasSuffix(f.GetName(), "_seconds"):
				v.Latency[key] = summarise(m.Histogram)
			}
		}
	}
	return v, nil
}

// labelsOf writes labels as Prometheus does; nothing for none.
func labelsOf(m *dto.Metric) string {
	if len(m.GetLabel()) == 0 {
		return ""
	}
	parts := make([]string, 0, len(m.GetLabel()))
	for _, l := range m.GetLabel() {
		parts = append(parts, l.GetName()+"="+strconv.Quote(l.GetValue()))
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// summarise turns a histogram of seconds into milliseconds.
func summarise(h *dto.Histogram) rest.Latency {
	out := rest.Latency{Count: h.GetSampleCount()}
	if out.Count > 0 {
		out.Avg = milliseconds(h.GetSampleSum() / float64(out.Count))
		out.P50, out.P95, out.P99 = milliseconds(quantile(h, 0.5)), milliseconds(quantile(h, 0.95)), milliseconds(quantile(h, 0.99))
	}
	return out
}

// milliseconds keeps microseconds.
func milliseconds(seconds float64) float64 { return math.Round(seconds*1e6) / 1e3 }

// quantile interpolates within the bucket that the rank falls into. Above the highest bound it is that bound.
func quantile(h *dto.Histogram, q float64) float64 {
	rank := q * float64(h.GetSampleCount())
	low, below := 0.0, 0.0
	for _, b := range h.GetBucket() {
		high, upTo := b.GetUpperBound(), float64(b.GetCumulativeCount())
		if math.IsInf(high, 1) {
			break
		}
		if upTo >= rank && upTo > below {
			return low + (high-low)*(rank-below)/(upTo-below)
		}
		low, below = high, upTo
	}
	return low
}
