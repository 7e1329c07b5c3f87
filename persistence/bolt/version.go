package bolt

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
)

// versions knows for each collection which record changed it last. The committer writes it, any number read.
type versions struct {
	marks sync.Map // collection: *atomic.Pointer[mark]
}

// mark is the last record that changed a collection, and the last one before it: the newer is set just before readers
// can see what it brings, and counts from the moment on at which they can.
type mark struct{ last, before uint64 }

// note says that a record which is about to be published changes a collection.
func (v *versions) note(collection string, number uint64) {
	slot, ok := v.marks.Load(collection)
	if !ok {
		slot, _ = v.marks.LoadOrStore(collection, new(atomic.Pointer[mark]))
	}
	p := slot.(*atomic.Pointer[mark])
	next := &mark{last: number}
	if old := p.Load(); old != nil {
		next.before = old.last
	}
	p.Store(next)
}

// of returns the number of the last published record that changed a collection, 0 for none since the store was opened.
// Publishing is the one step that changes the answer, and every read begins with what is published.
func (v *versions) of(collection string, published *atomic.Uint64) uint64 {
	slot, ok := v.marks.Load(collection)
	if !ok {
		return 0
	}
	m := slot.(*atomic.Pointer[mark]).Load()
	if m == nil {
		return 0
	}
	if m.last <= published.Load() {
		return m.last
	}
	return m.before
}

// Version implements persistence.Store.
func (s *Store) Version(ctx context.Context, collection string) (uint64, error) {
	const what = "version"
	if err := s.enter(); err != nil {
		return 0, fmt.Errorf("%s: %w", what, err)
	}
	defer s.leave()
	if ctx.Err() != nil {
		return 0, unavailable(what, context.Cause(ctx))
	}
	return s.stack.versions.of(collection, &s.stack.published), nil
}
