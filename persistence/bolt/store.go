package bolt

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/bbolt"

	"parley/persistence"
)

// Store is the embedded engine. It survives the end of the process at any instant: what Append reported as committed is
// in the file, flushed to disk.
type Store struct {
	db   *bbolt.DB
	path string
	log  *slog.Logger
	now  func() time.Time

	// gate is held for reading by every call, so that Close can wait for them. closing turns new ones away meanwhile.
	gate    sync.RWMutex
	closing atomic.Bool

	committer *committer
}

var _ persistence.Store = (*Store)(nil)

// Open opens the store at o.Path, or creates it where there is no file. A file that is damaged, cut short, empty, of
// another program or of a newer version is refused, with ErrDamaged or ErrForeign, and is not changed. A file that
// another process has open is refused with ErrLocked after a second.
//
// Opening reads every page but not every value: Verify does that. ctx only bounds the wait for the lock.
func Open(ctx context.Context, o Options) (*Store, error) {
	if o.Path == "" {
		return nil, errors.New("open the store: no path")
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if _, err := os.Stat(o.Path); errors.Is(err, fs.ErrNotExist) {
		if err := createFile(o.Path, o.Now()); err != nil {
			return nil, err
		}
	}
	db, err := openFile(ctx, o.Path, false, o.Logger)
	if err != nil {
		return nil, err
	}
	sweep(o.Path)
	s := &Store{db: db, path: o.Path, log: o.Logger, now: o.Now}
	s.committer = startCommitter(db, o.Logger, o.Now)
	return s, nil
}

// enter lets a call in, unless the store is closed. leave must follow.
func (s *Store) enter() error {
	if s.closing.Load() {
		return persistence.ErrClosed
	}
	s.gate.RLock()
	if s.closing.Load() {
		s.gate.RUnlock()
		return persistence.ErrClosed
	}
	return nil
}

func (s *Store) leave() { s.gate.RUnlock() }

// view runs a short read for a call of the contract.
func (s *Store) view(ctx context.Context, what string, fn func(tx *bbolt.Tx) error) error {
	if err := s.enter(); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	defer s.leave()
	if ctx.Err() != nil {
		return unavailable(what, context.Cause(ctx))
	}
	if err := guardView(s.db, fn); err != nil {
		if errors.Is(err, persistence.ErrDamaged) {
			s.log.Error("the store is damaged", "path", s.path, "call", what, "error", err)
		}
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// unavailable is ErrUnavailable with its cause.
func unavailable(what string, cause error) error {
	return fmt.Errorf("%s: %w: %w", what, persistence.ErrUnavailable, cause)
}

// Close implements persistence.Store. Closing again is no error.
func (s *Store) Close() error {
	if s.closing.Swap(true) {
		return nil
	}
	s.gate.Lock()
	defer s.gate.Unlock()
	s.committer.stop()
	if err := s.db.Close(); err != nil {
		return fmt.Errorf("close the store: %w", err)
	}
	return nil
}

// Ready implements persistence.Store. After a failed commit it tries a small one, so that a store whose disk has space
// again reports itself ready.
func (s *Store) Ready(ctx context.Context) error {
	const what = "ready"
	if err := s.enter(); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	defer s.leave()
	c := s.committer
	if since := c.since.Load(); since != 0 && time.Since(time.Unix(0, since)) > stallAfter {
		return unavailable(what, errors.New("the disk does not answer"))
	}
	if !c.failing.Load() {
		return nil
	}
	return c.do(ctx, what, 0, func(w *writeTx) error {
		w.touched = true
		return nil
	})
}
