package metrics

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
)

// Buckets.
var (
	// secondsBounds are for what a client waits for.
	secondsBounds = []float64{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20}
	// commitBounds are for one round trip to the store.
	commitBounds = []float64{0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5, 10}
	// fanoutBounds are for work in memory.
	fanoutBounds = []float64{1e-6, 2.5e-6, 5e-6, 1e-5, 2.5e-5, 5e-5, 1e-4, 2.5e-4, 5e-4, 1e-3, 5e-3, 0.01, 0.05, 0.25}
	// depthBounds are for numbers up to what one mailbox may hold.
	depthBounds = []float64{0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096}
	// batchBounds are for numbers up to what one round trip may carry.
	batchBounds = []float64{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024}
)

// tally is a histogram of whole numbers for the hot paths: an observation is two atomic additions, where that of the
// library takes a handful and a loop over a floating-point sum.
type tally struct {
	unit    float64 // of the numbers, such as 1e-9 for nanoseconds
	bounds  []int64 // in the unit, ascending
	sum     atomic.Int64
	buckets []atomic.Uint64 // the last is above all bounds
	shown   []float64       // bounds as they are exposed
}

func newTally(unit float64, bounds []float64) *tally {
	t := &tally{unit: unit, shown: bounds, buckets: make([]atomic.Uint64, len(bounds)+1)}
	for _, b := range bounds {
		t.bounds = append(t.bounds, int64(b/unit+0.5))
	}
	return t
}

func (t *tally) observe(v int64) {
	i := 0
	for i < len(t.bounds) && v > t.bounds[i] {
		i++
	}
	t.buckets[i].Add(1)
	t.sum.Add(v)
}

// collect makes a metric of it. What is observed meanwhile may be in the sum and not yet in the buckets.
func (t *tally) collect(d *prometheus.Desc) prometheus.Metric {
	cumulative := make(map[float64]uint64, len(t.shown))
	var count uint64
	for i, b := range t.shown {
		count += t.buckets[i].Load()
		cumulative[b] = count
	}
	count += t.buckets[len(t.shown)].Load()
	return prometheus.MustNewConstHistogram(d, count, float64(t.sum.Load())*t.unit, cumulative)
}
