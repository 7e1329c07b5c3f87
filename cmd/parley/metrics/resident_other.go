//go:build !linux

package metrics

import "runtime/metrics"

// residentBytes is what the Go runtime has of the system and did not give back: the nearest to the resident set that can
// be found out everywhere.
func residentBytes() int64 {
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(samples)
	return int64(samples[0].Value.Uint64() - samples[1].Value.Uint64())
}
