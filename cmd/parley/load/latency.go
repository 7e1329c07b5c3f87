package load

import "github.com/HdrHistogram/hdrhistogram-go"

// Range of the latency histograms in microseconds; what lies outside counts as the nearer end.
const (
	minLatency    = 1
	maxLatency    = 120_000_000
	latencyDigits = 3
)

// latencies gathers durations. It belongs to one loop until the loops have ended.
type latencies struct{ h *hdrhistogram.Histogram }

func newLatencies() latencies {
	return latencies{hdrhistogram.New(minLatency, maxLatency, latencyDigits)}
}

// add books a duration in nanoseconds.
func (l latencies) add(ns int64) {
	// The value is inside of the range, so that there is no error to handle.
	_ = l.h.RecordValue(min(max(ns/1000, minLatency), maxLatency))
}

func (l latencies) merge(other latencies) { l.h.Merge(other.h) }

// Latency is a summary of durations, in milliseconds with three fractional digits of resolution.
type Latency struct {
	Count int64   `json:"count"`
	P50   float64 `json:"p50_ms"`
	P90   float64 `json:"p90_ms"`
	P99   float64 `json:"p99_ms"`
	P999  float64 `json:"p999_ms"`
	Max   float64 `json:"max_ms"`
}

func (l latencies) summary() Latency {
	ms := func(us int64) float64 { return float64(us) / 1000 }
	return Latency{
		Count: l.h.TotalCount(),
		P50:   ms(l.h.ValueAtQuantile(50)),
		P90:   ms(l.h.ValueAtQuantile(90)),
		P99:   ms(l.h.ValueAtQuantile(99)),
		P999:  ms(l.h.ValueAtQuantile(99.9)),
		Max:   ms(l.h.Max()),
	}
}
