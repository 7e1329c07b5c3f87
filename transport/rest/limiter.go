package rest

import (
	"context"
	"net/http"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"parley/actors/kernel"
)

// Budgets of requests (rest.md, Limits; decision 44). The two registrations share one.
const (
	BudgetRegister = "register"
	BudgetLogin    = "login"
	BudgetAgent    = "agent"

	BudgetBootstrap = "bootstrap" // like the exchange, whose credential it takes
	BudgetClaim     = "claim"     // each claim sends a mail
)

const (
	// RequestsPerMinute is each budget of each client address.
	RequestsPerMinute = 10
	// MaxLimited is how many clients and budgets a Limiter of NewLimiter keeps in mind, at about 450 bytes each. Those
	// that were quiet for the longest are forgotten first, which gives them a fresh budget.
	MaxLimited = 50_000
)

// Limiter counts requests of clients against budgets of RequestsPerMinute. An implementation may be shared by several
// servers; when it can't tell, it lets the request through.
type Limiter interface {
	// Take spends one request and returns 0, or spends nothing and returns how long the client has to wait.
	Take(ctx context.Context, budget, client string) time.Duration
}

type limitKey struct{ budget, client string }

// recent are the times of a client's latest requests, as a ring.
type recent struct {
	sync.Mutex
	at   [RequestsPerMinute]time.Time // zero: none yet
	next int                          // the oldest, which the next request takes the place of
}

// take spends a request, or returns how long it takes until the oldest one is a minute old.
func (r *recent) take(now time.Time) time.Duration {
	r.Lock()
	defer r.Unlock()
	if oldest := r.at[r.next]; !oldest.IsZero() {
		if wait := oldest.Add(time.Minute).Sub(now); wait > 0 {
			return wait
		}
	}
	r.at[r.next] = now
	r.next = (r.next + 1) % len(r.at)
	return 0
}

// localLimiter is a Limiter of this process.
type localLimiter struct {
	now     func() time.Time
	clients *lru.Cache[limitKey, *recent]
}

// NewLimiter makes a Limiter of this process alone: no minute has more than RequestsPerMinute requests of one client, be
// it at once or spread. It is safe for concurrent use.
func NewLimiter(now func() time.Time) Limiter {
	clients, err := lru.New[limitKey, *recent](MaxLimited)
	if err != nil {
		panic(err) // only for a size below one
	}
	return &localLimiter{now: now, clients: clients}
}

// Take implements Limiter.
func (l *localLimiter) Take(_ context.Context, budget, client string) time.Duration {
	key := limitKey{budget, client}
	r, ok := l.clients.Get(key)
	if !ok {
		r = new(recent)
		if earlier, found, _ := l.clients.PeekOrAdd(key, r); found {
			r = earlier
		}
	}
	return r.take(l.now())
}

// spend counts a request against a budget; the empty budget is free.
func (a *API) spend(r *http.Request, budget string) error {
	if budget == "" {
		return nil
	}
	client := a.clientIP(r)
	if within(client, a.o.RateLimitExempt) {
		return nil
	}
	if wait := a.o.Limiter.Take(r.Context(), budget, limitedAs(client)); wait > 0 {
		return &kernel.Error{Code: kernel.CodeLimited, Message: "too many requests from your address; try again later", RetryAfter: wait}
	}
	return nil
}
