package bolt

import (
	"context"
	"fmt"
	"io"
)

// Backup implements persistence.Store. The copy is a store file of its own, which needs no log. Writes go on meanwhile,
// into new space: the file grows by what they change during the backup. They only wait while what came in during a
// checkpoint is moved to the file by another.
func (s *Store) Backup(ctx context.Context, w io.Writer) (int64, error) {
	const what = "backup"
	if err := s.enter(); err != nil {
		return 0, fmt.Errorf("%s: %w", what, err)
	}
	defer s.leave()
	if ctx.Err() != nil {
		return 0, unavailable(what, context.Cause(ctx))
	}
	if err := s.committer.checkpoint(ctx); err != nil {
		return 0, unavailable(what, err)
	}
	tx, err := s.committer.pin(ctx)
	if err != nil {
		return 0, unavailable(what, err)
	}
	defer func() { _ = tx.Rollback() }() // a read transaction has nothing to lose
	n, err := tx.WriteTo(&stoppable{ctx: ctx, w: w})
	switch {
	case err == nil:
		return n, nil
	case ctx.Err() != nil: // bbolt does not keep the chain of errors
		return n, unavailable(what, context.Cause(ctx))
	}
	return n, fmt.Errorf("%s: %w", what, err)
}

// stoppable is a writer that ends with its context.
type stoppable struct {
	ctx context.Context
	w   io.Writer
}

func (s *stoppable) Write(b []byte) (int, error) {
	if s.ctx.Err() != nil {
		return 0, context.Cause(s.ctx)
	}
	return s.w.Write(b)
}
