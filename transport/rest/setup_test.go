package rest

import (
	"bytes"
	"log/slog"
	"net/url"
	"sync"
	"testing"
	"time"

	"parley/transport/rest/scenario"
)

func mustURL(t testing.TB, s string) *url.URL {
	t.Helper()
	u, err := url.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// logs is a log that a test reads.
type logs struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// clock is a clock that a test turns.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) turn(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// bench is a transport over a fake service.
type bench struct {
	*fake
	api   *API
	log   *logs
	clock *clock
}

func setUp(t testing.TB, change func(*Options)) *bench {
	t.Helper()
	b := &bench{fake: &fake{}, log: &logs{}, clock: &clock{at: time.Unix(1_000_000, 0)}}
	o := Options{
		Service: b.fake, Vendors: []string{"Acme", "Service"}, PublicURL: mustURL(t, "https://chat.example"),
		WebURL: mustURL(t, "https://web.example/app"), Now: b.clock.now,
		Logger: slog.New(slog.NewTextHandler(b.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	if change != nil {
		change(&o)
	}
	api, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	b.api = api
	return b
}

// check is a scenario with what the service must have heard.
type check struct {
	scenario.Step
	Call string // the last call; "-": none at all; empty: not looked at
}

// run takes each check with a transport of its own.
func run(t *testing.T, change func(*bench, *Options), checks []check) {
	t.Helper()
	for _, c := range checks {
		name := c.Name
		if name == "" {
			name = c.Method + " " + c.URL
		}
		t.Run(name, func(t *testing.T) {
			var b *bench
			b = setUp(t, func(o *Options) {
				if change != nil {
					change(&bench{fake: o.Service.(*fake)}, o)
				}
			})
			scenario.Do(t, scenario.Handler(described(t, b.api)), map[string]string{}, c.Step)
			switch {
			case c.Call == "-" && b.last() != "":
				t.Errorf("the service was called: %s", b.last())
			case c.Call != "" && c.Call != "-" && b.last() != c.Call:
				t.Errorf("the service heard %q, want %q", b.last(), c.Call)
			}
		})
	}
}
