package rest

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"time"

	"parley/actors/kernel"
	"parley/actors/platform"
)

// maxScrapes is how many requests for metrics are answered at once. They are not rate limited (rest.md, Observability),
// and each looks at every actor that is awake.
const maxScrapes = 4

// Meter is told of every request that was answered. It is called from any goroutine and must not wait.
type Meter interface {
	// Answered gets the method (one of Methods), the pattern of the path ("unknown" for none), the status (0: the answer
	// was broken off before it began) and the time that it took.
	Answered(method, route string, status int, took time.Duration)
}

type noMeter struct{}

func (noMeter) Answered(string, string, int, time.Duration) {}

// Vitals are what one server knows of itself, for GET /metrics/snapshot.
type Vitals struct {
	Instance    string             `json:"instance"`
	Uptime      int64              `json:"uptime_seconds"`
	Memory      int64              `json:"memory_mb"`   // resident set
	Connections int64              `json:"connections"` // live realtime ones of the whole deployment (decision 25)
	Counters    map[string]float64 `json:"-"`           // by name and labels
	Latency     map[string]Latency `json:"-"`           // by name and labels
}

// Latency summarises a histogram. Percentiles are interpolated within its buckets.
type Latency struct {
	Count uint64  `json:"count"`
	Avg   float64 `json:"avg_ms"`
	P50   float64 `json:"p50_ms"`
	P95   float64 `json:"p95_ms"`
	P99   float64 `json:"p99_ms"`
}

// Metrics are where the two endpoints get their answers from.
type Metrics interface {
	// Vitals looks at the server.
	Vitals() (Vitals, error)
	// ServeHTTP answers in the Prometheus format.
	http.Handler
}

func (a *API) bindMetrics(t *table) {
	t.add(http.MethodGet, "/metrics", Public, a.scrape(a.prometheus))
	t.add(http.MethodGet, "/metrics/snapshot", Public, a.scrape(a.snapshot))
}

// scrape lets those in who show the token, if there is one, and only so many at once.
func (a *API) scrape(handle func(*call) error) func(*call) error {
	return func(c *call) error {
		if a.o.Metrics == nil {
			return errNoPath
		}
		if err := a.checkScraper(c.r); err != nil {
			return err
		}
		select {
		case a.scrapes <- struct{}{}:
			defer func() { <-a.scrapes }()
		default:
			return kernel.ErrOverloaded
		}
		return handle(c)
	}
}

var errNoScraper = kernel.Fail(kernel.CodeUnauthorized, "this needs an Authorization: Bearer header with the metrics token")

// checkScraper compares digests, so that neither the token's bytes nor its length show in the time.
func (a *API) checkScraper(r *http.Request) error {
	if a.o.MetricsToken == "" {
		return nil
	}
	shown, byCookie := a.credential(r)
	if byCookie {
		shown = ""
	}
	want, got := sha256.Sum256([]byte(a.o.MetricsToken)), sha256.Sum256([]byte(shown))
	if subtle.ConstantTimeCompare(want[:], got[:]) != 1 {
		return errNoScraper
	}
	return nil
}

func (a *API) prometheus(c *call) error {
	a.o.Metrics.ServeHTTP(c.w, c.r)
	return nil
}

func (a *API) snapshot(c *call) error {
	totals, err := a.o.Service.Totals(c.ctx())
	if err != nil {
		return err
	}
	v, err := a.o.Metrics.Vitals()
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, with{v, struct {
		Platform platform.Totals    `json:"platform"`
		Counters map[string]float64 `json:"counters"`
		Latency  map[string]Latency `json:"latency"`
	}{totals, v.Counters, v.Latency}})
}

// otherMethod stands for all methods that no route takes: clients must not be able to make up names.
const otherMethod = "other"

// Methods are the names that Answered may be given.
func Methods() []string {
	return []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
		http.MethodOptions, otherMethod}
}

func methodLabel(m string) string {
	for _, known := range Methods() {
		if m == known {
			return known
		}
	}
	return otherMethod
}
