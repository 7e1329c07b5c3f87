package realtime

import (
	"context"
	"encoding/json"
	"net/http"
	"runtime"
	"strconv"
	"sync"
	"time"
)

// Limits of an Admission.
const (
	// AdmittedPerProcessor is how many new connections a second each processor lets in. A handshake with all that follows from
	// it costs about a third of a millisecond, so that this takes a quarter of a processor, and ten thousand clients that come
	// back at once to a server with two are in within seven seconds.
	AdmittedPerProcessor = 750
	// admittedAtOnce is how many may come at once before the pace counts, for each processor.
	admittedAtOnce = 100
	// maxAdmissionWait is the longest that a handshake is held back; the next ones are told to come again.
	maxAdmissionWait = 10 * time.Second
)

// AdmissionOptions are the settings of an Admission.
type AdmissionOptions struct {
	// PerSecond is the pace, in new connections. 0: AdmittedPerProcessor for each processor.
	PerSecond int
	// Pressure says, in a sentence for the log, why nobody can be let in at the moment; empty: nothing is in the way. nil: never.
	Pressure func() string
	// Refused is called for each handshake that is turned away. nil: nobody is told.
	Refused func(why string)
	// Now is the clock. nil: time.Now.
	Now func() time.Time
}

// Admission lets new connections in at a pace that leaves the processors to those that are there already: when all clients
// of a server that was restarted come back at once, nobody who is connected notices. Those that wait cost a handshake each.
type Admission struct {
	o        AdmissionOptions
	interval time.Duration
	burst    time.Duration // how far ahead of the pace connections may be

	mu   sync.Mutex
	next time.Time // when the pace lets the next one in
}

// NewAdmission makes one. It may be shared by handlers.
func NewAdmission(o AdmissionOptions) *Admission {
	processors := runtime.GOMAXPROCS(0)
	if o.PerSecond <= 0 {
		o.PerSecond = AdmittedPerProcessor * processors
	}
	if o.Pressure == nil {
		o.Pressure = func() string { return "" }
	}
	if o.Refused == nil {
		o.Refused = func(string) {}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	interval := time.Second / time.Duration(o.PerSecond)
	return &Admission{o: o, interval: interval, burst: interval * time.Duration(admittedAtOnce*processors)}
}

// Guard holds back the requests that begin a connection. Others, those of a session that is there and those that no
// connection comes of, pass.
func (a *Admission) Guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet || r.URL.Query().Get("sid") != "" || a.admit(r.Context(), w) {
			next.ServeHTTP(w, r)
		}
	})
}

// admit waits for a place; false: the request has been answered, or its client has gone.
func (a *Admission) admit(ctx context.Context, w http.ResponseWriter) bool {
	if why := a.o.Pressure(); why != "" {
		a.refuse(w, why, maxAdmissionWait)
		return false
	}
	wait, ok := a.take()
	if !ok {
		a.refuse(w, "too many new connections", wait)
		return false
	}
	if wait <= 0 {
		return true
	}
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// take books a place and returns how long it is until then; false: longer than anybody waits, and none was booked.
func (a *Admission) take() (time.Duration, bool) {
	now := a.o.Now()
	a.mu.Lock()
	defer a.mu.Unlock()
	if earliest := now.Add(-a.burst); a.next.Before(earliest) {
		a.next = earliest
	}
	wait := a.next.Sub(now)
	if wait > maxAdmissionWait {
		return wait, false
	}
	a.next = a.next.Add(a.interval)
	return wait, true
}

// refuse tells a client to come again. It is an answer to the handshake: clients take it for a fault of the line and try
// again, where a refusal of their session would end them for good (clients.md 6.1).
func (a *Admission) refuse(w http.ResponseWriter, why string, after time.Duration) {
	a.o.Refused(why)
	h := w.Header()
	h.Set("Retry-After", strconv.Itoa(int((after+time.Second-1)/time.Second)))
	h.Set("Content-Type", "application/json; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusServiceUnavailable)
	_ = json.NewEncoder(w).Encode(map[string]string{"error": "the server takes no new connections at the moment; try again later"})
}
