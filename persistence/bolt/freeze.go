package bolt

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.etcd.io/bbolt"

	"parley/persistence"
)

// freeze hands the active overlay to the checkpointer, unless that is busy still. It runs in the committer.
func (c *committer) freeze() {
	if c.stack.active.records == 0 {
		return
	}
	if c.stack.busy() {
		c.age.Reset(retryFirst)
		return
	}
	o := c.stack.freeze()
	c.wal.detach()
	c.checkpointer.work <- o
}

// room waits while the overlays are full. It fails when the checkpointer does.
func (c *committer) room() error {
	for c.stack.active.size.Load() >= maxOverlays*c.tune.freezeBytes {
		end := c.checkpointer.end()
		if !c.stack.busy() {
			c.freeze()
			continue
		}
		c.checkpointer.hurry()
		select {
		case <-end:
		case <-c.quit:
			return persistence.ErrClosed
		}
		if c.checkpointer.failing.Load() != 0 {
			return errors.New("the log is full and cannot be moved to the store's file")
		}
	}
	return nil
}

// between runs fn in the committer, between two rounds.
func (c *committer) between(ctx context.Context, fn func() error) error {
	result := make(chan error, 1)
	select {
	case c.alone <- func() { result <- fn() }:
		return <-result
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// checkpoint moves what was committed before the call to the file, in the checkpointer, while others write.
func (c *committer) checkpoint(ctx context.Context) error {
	for done := false; !done; {
		var end <-chan struct{}
		err := c.between(ctx, func() error {
			end = c.checkpointer.end()
			done = !c.stack.busy()
			c.freeze()
			return nil
		})
		if err != nil {
			return err
		}
		if !c.stack.busy() {
			continue
		}
		c.checkpointer.hurry()
		select {
		case <-end:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if c.checkpointer.failing.Load() != 0 {
			return errors.New("the log cannot be moved to the store's file")
		}
	}
	return nil
}

// pin returns a read transaction that sees everything that was committed, in a file that needs no log: rounds wait while
// the rest is moved there.
func (c *committer) pin(ctx context.Context) (tx *bbolt.Tx, err error) {
	err = c.between(ctx, func() error {
		c.since.Store(time.Now().UnixNano())
		defer c.since.Store(0)
		for c.stack.busy() {
			end := c.checkpointer.end()
			if !c.stack.busy() {
				break
			}
			c.checkpointer.hurry()
			<-end
			if c.checkpointer.failing.Load() != 0 {
				return errors.New("the log cannot be moved to the store's file")
			}
		}
		if err := c.wal.seal(c.stack, c.checkpointer); err != nil {
			if o := c.stack.frozen; o != nil {
				c.checkpointer.work <- o
			}
			return err
		}
		tx, err = c.wal.db.Begin(false)
		if err != nil {
			return fmt.Errorf("begin: %w", err)
		}
		return nil
	})
	return tx, err
}
