package rest

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"time"

	"parley/actors/kernel"
	"parley/actors/platform"
	"parley/transport/rest/openapi"
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
	guarded := []string{schemeMetrics}
	t.add(http.MethodGet, "/metrics", Public, a.scrape(a.prometheus)).doc(op{
		Tag: tagServer, Summary: "Metrics for Prometheus", Security: guarded, Anonymous: true,
		About:   "A token is needed only when the operator has set one. Errors are JSON.",
		Answers: []answer{{Status: http.StatusOK, Type: "text/plain", Schema: openapi.Text(0, 0)}},
		Errors:  []answer{fails(http.StatusNotFound, "This server has no metrics.")},
	})
	t.add(http.MethodGet, "/metrics/snapshot", Public, a.scrape(a.snapshot)).doc(op{
		Tag: tagServer, Summary: "Metrics as JSON", Security: guarded, Anonymous: true,
		About:   "A token is needed only when the operator has set one.",
		Answers: ok(snapshotSchema),
		Errors:  []answer{fails(http.StatusNotFound, "This server has no metrics.")},
	})
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

var snapshotSchema = openapi.Object(
	has("instance", textSchema, "The name of this server."),
	has("uptime_seconds", openapi.Count(), ""),
	has("memory_mb", openapi.Count(), "The resident set."),
	has("connections", openapi.Count(), "Live realtime connections of the whole deployment."),
	has("platform", openapi.Object(
		has("total_users", openapi.Count(), ""), has("total_agents", openapi.Count(), ""), has("unclaimed_agents", openapi.Count(), ""),
		has("total_agencies", openapi.Count(), ""), has("total_messages", openapi.Count(), ""), has("total_memberships", openapi.Count(), ""),
		has("active_hooks", openapi.Count(), ""), has("pending_claims", openapi.Count(), ""),
	), "What there is."),
	has("counters", openapi.Map(openapi.Number()), "By name and labels."),
	has("latency", openapi.Map(latencySchema), "Histograms by name and labels."),
).Named("Snapshot", "What a server knows of itself.")

var latencySchema = openapi.Object(
	has("count", openapi.Count(), ""), has("avg_ms", openapi.Number(), ""),
	has("p50_ms", openapi.Number(), ""), has("p95_ms", openapi.Number(), ""), has("p99_ms", openapi.Number(), ""),
).Named("Latency", "A histogram in short.")
