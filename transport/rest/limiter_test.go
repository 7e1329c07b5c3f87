package rest

import (
	"context"
	"fmt"
	"net/http/httptest"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"parley/transport/rest/scenario"
)

var (
	loginStep    = step{URL: "/api/auth/login", Body: `{"username":"a","password":"b"}`, Status: 200}
	registerStep = step{URL: "/api/auth/register", Body: `{"username":"a","password":"b"}`, Status: 201}
	agentStep    = step{URL: "/api/agents/register", Body: `{"name":"n"}`, Status: 201}
	exchangeStep = step{URL: "/api/auth/agent", Body: `{"agentToken":"sk"}`, Status: 200}
)

func from(s step, addr string) step { s.From = addr; return s }

func refused(s step) step {
	s.Status, s.Want, s.WantHeader = 429, []string{`{"error":`}, map[string]string{"Retry-After": "60"}
	return s
}

func TestRateLimits(t *testing.T) {
	b := setUp(t, nil)
	target := scenario.Handler(described(t, b.api))
	do := func(times int, s step) {
		t.Helper()
		for range times {
			scenario.Do(t, target, nil, s)
		}
	}
	do(RequestsPerMinute, loginStep)
	do(2, refused(loginStep))
	do(RequestsPerMinute, exchangeStep) // a budget of its own
	do(1, refused(exchangeStep))
	do(6, registerStep) // two share one
	do(4, agentStep)
	do(1, refused(agentStep))
	do(1, refused(registerStep))
	do(1, from(loginStep, "192.0.2.2:1")) // another client
	b.clock.turn(59 * time.Second)
	last := refused(loginStep)
	last.WantHeader = map[string]string{"Retry-After": "1"}
	do(1, last)
	b.clock.turn(time.Second)
	do(RequestsPerMinute, loginStep)
	do(1, refused(loginStep))
	do(20, step{URL: "/api/auth/me", Token: userToken, Status: 200}) // no limit
}

func TestRateLimitsOfTokensAndMails(t *testing.T) {
	for name, s := range map[string]step{
		"bootstrap": {URL: "/api/agents/self/bootstrap", Token: "sk_1", Status: 200},
		"claim":     {URL: "/api/agents/claim", Token: userToken, Body: `{"code":"c","email":"a@b.test"}`, Status: 200},
	} {
		t.Run(name, func(t *testing.T) {
			target := scenario.Handler(setUp(t, nil).api)
			for range RequestsPerMinute {
				scenario.Do(t, target, nil, s)
			}
			scenario.Do(t, target, nil, refused(s))
			scenario.Do(t, target, nil, exchangeStep)
			scenario.Do(t, target, nil, from(s, "192.0.2.2:1"))
		})
	}
}

func TestRateLimitCountsBadRequests(t *testing.T) {
	b := setUp(t, nil)
	target := scenario.Handler(described(t, b.api))
	for range RequestsPerMinute {
		scenario.Do(t, target, nil, step{URL: "/api/auth/login", Body: "{", Status: 400})
	}
	scenario.Do(t, target, nil, refused(loginStep))
	scenario.Do(t, target, nil, step{Method: "GET", URL: "/api/auth/login", Status: 405})
}

func TestRateLimitKnowsClients(t *testing.T) {
	for name, c := range map[string]struct{ a, b string }{
		"one /64":            {"[2001:db8:0:1::1]:1", "[2001:db8:0:1:ffff::2]:2"},
		"mapped":             {"192.0.2.9:1", "[::ffff:192.0.2.9]:2"},
		"behind the proxy":   {"10.0.0.1:1", "10.0.0.2:1"},
		"no address at all":  {"@", "@"},
		"zone of link local": {"[fe80::1%eth0]:1", "[fe80::1%eth1]:1"},
	} {
		t.Run(name, func(t *testing.T) {
			b := setUp(t, func(o *Options) { o.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")} })
			target := scenario.Handler(described(t, b.api))
			via := func(s step) step {
				s.Header = map[string]string{"X-Forwarded-For": "6.6.6.6, 203.0.113.5, 10.9.9.9"}
				return s
			}
			for range RequestsPerMinute {
				scenario.Do(t, target, nil, via(from(loginStep, c.a)))
			}
			scenario.Do(t, target, nil, via(from(refused(loginStep), c.b)))
		})
	}
}

// No minute has more than its budget, wherever it begins.
func TestRateLimitSlides(t *testing.T) {
	c := &clock{at: time.Unix(1, 0)}
	l := NewLimiter(c.now)
	var granted []time.Time
	for range 600 {
		if l.Take(context.Background(), BudgetLogin, "a") == 0 {
			granted = append(granted, c.now())
		}
		c.turn(700 * time.Millisecond)
	}
	if len(granted) < 6*RequestsPerMinute {
		t.Errorf("only %d requests were granted in seven minutes", len(granted))
	}
	for i := RequestsPerMinute; i < len(granted); i++ {
		if d := granted[i].Sub(granted[i-RequestsPerMinute]); d < time.Minute {
			t.Fatalf("%d requests within %s", RequestsPerMinute+1, d)
		}
	}
}

func TestRateLimitExempt(t *testing.T) {
	b := setUp(t, func(o *Options) { o.RateLimitExempt = []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")} })
	for range 3 * RequestsPerMinute {
		scenario.Do(t, scenario.Handler(described(t, b.api)), nil, loginStep)
	}
}

func TestClientIP(t *testing.T) {
	a := &API{o: Options{TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("::1/128")}}}
	for _, c := range []struct{ peer, forwarded, want string }{
		{"192.0.2.1:5", "1.1.1.1", "192.0.2.1"}, // not a proxy: its word does not count
		{"10.0.0.1:5", "", "10.0.0.1"},
		{"10.0.0.1:5", "1.1.1.1", "1.1.1.1"},
		{"10.0.0.1:5", "9.9.9.9, 1.1.1.1, 10.0.0.2", "1.1.1.1"},
		{"10.0.0.1:5", "10.0.0.3, 10.0.0.2", "10.0.0.3"},
		{"10.0.0.1:5", "1.1.1.1, junk, 10.0.0.2", "10.0.0.2"},
		{"10.0.0.1:5", "junk", "10.0.0.1"},
		{"10.0.0.1:5", "1.1.1.1:8080", "1.1.1.1"},
		{"[::1]:5", "[2001:db8::1]:8080", "2001:db8::1"},
		{"[::1]:5", "::ffff:1.1.1.1", "1.1.1.1"},
		{"@", "1.1.1.1", "invalid IP"},
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = c.peer
		r.Header.Set("X-Forwarded-For", c.forwarded)
		if got := a.clientIP(r).String(); got != c.want {
			t.Errorf("%s forwarded %q: %s, want %s", c.peer, c.forwarded, got, c.want)
		}
	}
	r := httptest.NewRequest("GET", "/", nil)
	r.RemoteAddr = "10.0.0.1:5"
	r.Header["X-Forwarded-For"] = []string{"1.1.1.1", "2.2.2.2"}
	if got := a.clientIP(r).String(); got != "2.2.2.2" {
		t.Errorf("of two headers: %s", got)
	}
}

func TestLimiterIsBoundedAndExact(t *testing.T) {
	l := NewLimiter((&clock{at: time.Unix(1, 0)}).now).(*localLimiter)
	for i := range MaxLimited + 100 {
		l.Take(context.Background(), BudgetLogin, fmt.Sprint(i))
	}
	if n := l.clients.Len(); n != MaxLimited {
		t.Errorf("%d clients are kept", n)
	}
	var granted atomic.Int64
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			if l.Take(context.Background(), BudgetLogin, "crowd") == 0 {
				granted.Add(1)
			}
		})
	}
	wg.Wait()
	if granted.Load() != RequestsPerMinute {
		t.Errorf("%d requests were granted", granted.Load())
	}
}
