package bolt

import (
	"context"
	"io"

	"go.etcd.io/bbolt"
)

// Backup implements persistence.Store. The copy is a store file of its own. Writes go on meanwhile, into new space: the
// file grows by what they change during the backup.
func (s *Store) Backup(ctx context.Context, w io.Writer) (int64, error) {
	var n int64
	err := s.view(ctx, "backup", func(tx *bbolt.Tx) (err error) {
		n, err = tx.WriteTo(&stoppable{ctx: ctx, w: w})
		return err
	})
	if err != nil && ctx.Err() != nil {
		err = unavailable("backup", context.Cause(ctx)) // bbolt does not keep the chain of errors
	}
	return n, err
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
