package rest

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"parley/actors/platform"
)

// library is a service that reads transcripts as long as it is told to.
type library struct {
	Service
	reading, most atomic.Int64
	release       chan struct{}
}

func (l *library) Run(ctx context.Context, id *platform.Identity, runID string) (*platform.RunDetail, error) {
	n := l.reading.Add(1)
	defer l.reading.Add(-1)
	for seen := l.most.Load(); n > seen && !l.most.CompareAndSwap(seen, n); seen = l.most.Load() {
	}
	<-l.release
	return l.Service.Run(ctx, id, runID)
}

// No more transcripts are in memory at once than there are places; the others wait for one, or go when their time is over.
func TestTranscriptsAtOnce(t *testing.T) {
	l := &library{release: make(chan struct{})}
	b := setUp(t, func(o *Options) { l.Service, o.Service = o.Service, l })
	get := func(ctx context.Context) int {
		r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/api/runs/r1", nil)
		r.Header.Set("Authorization", "Bearer "+userToken)
		w := httptest.NewRecorder()
		b.api.ServeHTTP(w, r)
		return w.Code
	}
	var readers sync.WaitGroup
	for range 2 * maxTranscripts {
		readers.Go(func() {
			if code := get(t.Context()); code != http.StatusOK {
				t.Errorf("status %d", code)
			}
		})
	}
	for end := time.Now().Add(20 * time.Second); l.reading.Load() < maxTranscripts; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d transcripts are read", l.reading.Load())
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if code := get(ctx); code != http.StatusServiceUnavailable && code != http.StatusTooManyRequests {
		t.Errorf("one whose time is over: %d", code)
	}
	close(l.release)
	readers.Wait()
	if l.most.Load() != maxTranscripts || len(b.api.transcripts) != 0 {
		t.Errorf("%d at once, %d places are held", l.most.Load(), len(b.api.transcripts))
	}
}
