package rest

import (
	"context"
	"net/http"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/time/rate"

	"parley/actors/kernel"
)

// Budgets of requests (rest.md, Limits; decision 44). The two registrations share one.
const (
	BudgetRegister = "register"
	BudgetLogin    = "login"
	BudgetAgent    = "agent"
	BudgetUpload   = "upload"
)

const (
	// RequestsPerMinute is each budget of each client address.
	RequestsPerMinute = 10
	// MaxLimited is how many clients and budgets a Limiter of NewLimiter keeps in mind, at about 200 bytes each. Those
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

// localLimiter is a Limiter of this process.
type localLimiter struct {
	now     func() time.Time
	clients *lru.Cache[limitKey, *rate.Limiter]
}

// NewLimiter makes a Limiter of this process alone. A client may spend a whole budget at once and gets it back evenly
// over a minute. It is safe for concurrent use.
func NewLimiter(now func() time.Time) Limiter {
	clients, err := lru.New[limitKey, *rate.Limiter](MaxLimited)
	if err != nil {
		panic(err) // only for a size below one
	}
	return &localLimiter{now: now, clients: clients}
}

// Take implements Limiter.
func (l *localLimiter) Take(_ context.Context, budget, client string) time.Duration {
	key := limitKey{budget, client}
	bucket, ok := l.clients.Get(key)
	if !ok {
		bucket = rate.NewLimiter(rate.Every(time.Minute/RequestsPerMinute), RequestsPerMinute)
		if earlier, found, _ := l.clients.PeekOrAdd(key, bucket); found {
			bucket = earlier
		}
	}
	now := l.now()
	spent := bucket.ReserveN(now, 1)
	wait := spent.DelayFrom(now)
	if wait > 0 {
		spent.CancelAt(now)
	}
	return wait
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
