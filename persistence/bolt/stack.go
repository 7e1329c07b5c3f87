package bolt

import (
	"fmt"
	"maps"
	"math"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"

	"go.etcd.io/bbolt"

	"parley/persistence"
)

// stack is the state of a store: bbolt's file, and over it what the log has and the file does not. The active overlay
// takes new records; the frozen one is being written to the file.
type stack struct {
	db *bbolt.DB

	// mu makes a reader's transaction and its overlays fit together: no overlay is frozen or dropped between.
	mu             sync.RWMutex
	active, frozen *overlay
	published      atomic.Uint64 // number of the last record that readers see
	versions       versions
}

func newStack(db *bbolt.DB, last uint64) *stack {
	s := &stack{db: db, active: newOverlay()}
	s.published.Store(last)
	return s
}

// view is a consistent state of the store. Its transaction may be newer than its overlays by the frozen one, which
// hides just what that brought.
type view struct {
	tx             *bbolt.Tx
	active, frozen *overlay
	snap           uint64 // the last record that counts
}

func (s *stack) begin() (*view, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	tx, err := s.db.Begin(false)
	if err != nil {
		return nil, fmt.Errorf("begin: %w", err)
	}
	return &view{tx: tx, active: s.active, frozen: s.frozen, snap: s.published.Load()}, nil
}

// beginWriter is begin for the writer of the overlay, who sees also what is not published.
func (s *stack) beginWriter() (*view, error) {
	v, err := s.begin()
	if err == nil {
		v.snap = math.MaxUint64
	}
	return v, err
}

func (v *view) end() {
	if v.tx != nil {
		_ = v.tx.Rollback() // a read transaction has nothing to lose
		v.tx = nil
	}
}

// read runs a read. A panic or a fault of the map, which is what bbolt has for damage, becomes ErrDamaged.
func (s *stack) read(fn func(v *view) error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("read the store: %v: %w", r, persistence.ErrDamaged)
		}
	}()
	v, err := s.begin()
	if err != nil {
		return err
	}
	defer v.end()
	return fn(v)
}

// freeze puts an empty overlay on top. There must be no frozen one.
func (s *stack) freeze() *overlay {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.frozen, s.active = s.active, newOverlay()
	return s.frozen
}

// renew replaces an active overlay that no record has changed, and with it what undone ones have left.
func (s *stack) renew() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.active = newOverlay()
}

// thaw drops the frozen overlay, once it is in the file.
func (s *stack) thaw() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.frozen = nil
}

// busy says whether an overlay is frozen.
func (s *stack) busy() bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.frozen != nil
}

// buckets returns the names of all buckets that the file or an overlay has.
func (v *view) buckets() ([]string, error) {
	names := map[string]bool{}
	err := v.tx.ForEach(func(name []byte, _ *bbolt.Bucket) error {
		names[string(name)] = true
		return nil
	})
	for _, o := range []*overlay{v.active, v.frozen} {
		if o != nil {
			for name := range *o.tables.Load() {
				names[name] = true
			}
		}
	}
	return slices.Collect(maps.Keys(names)), err
}

// table is a bucket as a view sees it.
type table struct {
	base       *bbolt.Bucket // nil when the file has none
	young, old *list         // of the active and the frozen overlay, nil when they have none
	snap       uint64
}

func (v *view) table(bucket []byte) table {
	return table{base: v.tx.Bucket(bucket), young: v.active.list(bucket), old: v.frozen.list(bucket), snap: v.snap}
}

// get returns the value of a key, nil when there is none.
func (t *table) get(key []byte) []byte {
	if v, known := t.young.get(key, t.snap); known {
		return v
	}
	if v, known := t.old.get(key, t.snap); known {
		return v
	}
	if t.base == nil {
		return nil
	}
	return t.base.Get(key)
}
