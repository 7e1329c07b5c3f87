package platform

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"parley/persistence"
)

// shared is a value that many need up to date and one makes: a request takes what another has begun to make after the
// request came, so that a value which changes all the time is made over and over once, and not once a request.
type shared[T any] struct {
	begun atomic.Uint64 // makings so far
	made  atomic.Pointer[numbered[T]]
	gate  chan struct{} // holds a token while one makes it
}

type numbered[T any] struct {
	value *T
	by    uint64 // the making that it comes from
}

func newShared[T any]() shared[T] { return shared[T]{gate: make(chan struct{}, 1)} }

// get returns the value as of now or later. refresh gets the last one, nil for none, and returns the same when it is
// still good; it must be quick then.
func (s *shared[T]) get(ctx context.Context, refresh func(context.Context, *T) (*T, error)) (*T, error) {
	need := s.begun.Load() + 1
	select {
	case s.gate <- struct{}{}:
	case <-ctx.Done():
		return nil, fmt.Errorf("%w: %w", persistence.ErrUnavailable, context.Cause(ctx))
	}
	defer func() { <-s.gate }()
	var old *T
	if m := s.made.Load(); m != nil {
		if m.by >= need {
			return m.value, nil
		}
		old = m.value
	}
	by := s.begun.Add(1)
	value, err := refresh(ctx, old)
	if err != nil {
		return nil, err
	}
	s.made.Store(&numbered[T]{value: value, by: by})
	return value, nil
}

// maxRemembered is the most that a bounded remembers, whatever it costs.
const maxRemembered = 100_000

// bounded remembers what was used last, as long as it costs no more than it may.
type bounded[V any] struct {
	mu    sync.Mutex
	lru   *simplelru.LRU[string, costly[V]]
	spent int
	most  int
}

type costly[V any] struct {
	value V
	cost  int
}

func newBounded[V any](most int) *bounded[V] {
	b := &bounded[V]{most: most}
	b.lru, _ = simplelru.NewLRU(maxRemembered, func(_ string, c costly[V]) { b.spent -= c.cost })
	return b
}

func (b *bounded[V]) get(key string) (V, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	c, ok := b.lru.Get(key)
	return c.value, ok
}

func (b *bounded[V]) put(key string, value V, cost int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lru.Remove(key)
	if cost > b.most {
		return
	}
	for b.spent+cost > b.most {
		b.lru.RemoveOldest()
	}
	b.lru.Add(key, costly[V]{value, cost})
	b.spent += cost
}
