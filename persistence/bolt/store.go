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
// in the log or the file, flushed to disk. Beside the file parley.db its log is in parley.wal-0, parley.wal-1 and
// parley.wal-2; none of them is there when the store was closed.
type Store struct {
	db   *bbolt.DB
	path string
	log  *slog.Logger
	now  func() time.Time

	// gate is held for reading by every call, so that Close can wait for them. closing turns new ones away meanwhile.
	gate    sync.RWMutex
	closing atomic.Bool

	stack        *stack
	wal          *wal
	committer    *committer
	checkpointer *checkpointer
}

var _ persistence.Store = (*Store)(nil)

// Open opens the store at o.Path, or creates it where there is no file. A file that is damaged, cut short, empty, of
// another program or of a newer version is refused, with ErrDamaged or ErrForeign, and is not changed. A file that
// another process has open is refused with ErrLocked after a second. The same goes for its log: one that is missing,
// or damaged before its end, is ErrDamaged, and one of another store ErrForeign.
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
	last, err := recoverLog(db, o.Path, o.Logger)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	sweep(o.Path)
	id, _, err := readLogState(db, o.Path)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	t := o.tune.withDefaults()
	s := &Store{db: db, path: o.Path, log: o.Logger, now: o.Now, stack: newStack(db, last)}
	s.wal = &wal{db: db, base: logBase(o.Path), id: id, sync: t.sync}
	s.checkpointer = startCheckpointer(s.stack, s.wal, o.Logger)
	s.committer = startCommitter(s.stack, s.wal, s.checkpointer, o.Logger, o.Now, t)
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
func (s *Store) view(ctx context.Context, what string, fn func(v *view) error) error {
	if err := s.enter(); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	defer s.leave()
	if ctx.Err() != nil {
		return unavailable(what, context.Cause(ctx))
	}
	if err := s.stack.read(fn); err != nil {
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

// Close implements persistence.Store. It moves everything into the file, which then stands alone. When that fails the log
// stays, and nothing is lost. Closing again is no error.
func (s *Store) Close() error {
	if s.closing.Swap(true) {
		return nil
	}
	s.gate.Lock()
	defer s.gate.Unlock()
	s.committer.stop()
	s.checkpointer.stop()
	err := s.settle()
	err = errors.Join(err, s.wal.close(err == nil), s.db.Close())
	if err != nil {
		return fmt.Errorf("close the store: %w", err)
	}
	return nil
}

// settle moves what the log has into the file, which needs it no more. Nothing else may be running.
func (s *Store) settle() error {
	if o := s.stack.frozen; o != nil {
		if err := s.checkpointer.attempt(o, true); err != nil {
			return err
		}
	}
	return s.wal.seal(s.stack, s.checkpointer)
}

// Ready implements persistence.Store. After a failed round it tries a small one, so that a store whose disk has space
// again reports itself ready. It is not when checkpoints have failed for ten seconds.
func (s *Store) Ready(ctx context.Context) error {
	const what = "ready"
	if err := s.enter(); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	defer s.leave()
	c := s.committer
	if since := s.checkpointer.failing.Load(); since != 0 && time.Since(time.Unix(0, since)) > stallAfter {
		return unavailable(what, errors.New("the log cannot be moved to the store's file"))
	}
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
