package bolt

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/bbolt"

	"parley/persistence"
)

// committer is the only writer of the file. It takes what waits, applies it in one transaction and answers when that is
// on disk; meanwhile the next requests gather.
type committer struct {
	db    *bbolt.DB
	log   *slog.Logger
	queue chan *request
	quit  chan struct{}
	done  chan struct{}

	bytes   atomic.Int64 // of the queued requests
	since   atomic.Int64 // when the running transaction began, in nanoseconds since 1970; 0 for none
	failing atomic.Bool  // the last commit failed

	pool   sync.Pool // of *request
	write  *writeTx
	joined []*request // in the running transaction
}

func startCommitter(db *bbolt.DB, log *slog.Logger, now func() time.Time) *committer {
	c := &committer{
		db: db, log: log,
		queue: make(chan *request, maxQueue),
		quit:  make(chan struct{}),
		done:  make(chan struct{}),
		write: newWriteTx(now),
	}
	go c.run()
	return c
}

// stop ends the goroutine. No call may be running; what their callers have given up on is dropped.
func (c *committer) stop() {
	close(c.quit)
	<-c.done
}

func (c *committer) run() {
	defer close(c.done)
	debug.SetPanicOnFault(true)
	idle := time.NewTicker(purgeEvery)
	defer idle.Stop()
	for {
		select {
		case <-c.quit:
			return
		case r := <-c.queue:
			c.round(r)
		case <-idle.C:
			c.round(&request{op: func(w *writeTx) error { return w.purge(maxPurge) }})
		}
	}
}

// round commits the first request and all that it can join with, and answers them.
func (c *committer) round(first *request) {
	if !c.admit(first) {
		return
	}
	c.since.Store(time.Now().UnixNano())
	defer c.since.Store(0)
	c.joined = append(c.joined[:0], first)
	err := c.transact(func(w *writeTx) {
		first.apply(w)
		for r := c.next(w); r != nil; r = c.next(w) {
			if c.admit(r) {
				c.joined = append(c.joined, r) // before it is applied: a panic must not lose it
				r.apply(w)
			}
		}
	})
	var p *panicError
	if errors.As(err, &p) && len(c.joined) > 1 {
		// One of them touches something that is damaged: the others need not fail with it.
		for _, r := range c.joined {
			c.answer(r, c.transact(func(w *writeTx) { r.apply(w) }))
		}
	} else {
		for _, r := range c.joined {
			c.answer(r, err)
		}
	}
	clear(c.joined)
}

// admit takes a request out of the accounts of the queue; false when its caller has given it up.
func (c *committer) admit(r *request) bool {
	c.bytes.Add(-int64(r.bytes))
	return r.take()
}

// next returns another request for the running transaction, nil for none. Callers that the last commit has woken get
// one chance to put their next request into this one.
func (c *committer) next(w *writeTx) *request {
	if w.writes >= maxTxWrites || w.bytes >= maxTxBytes {
		return nil
	}
	for range 2 {
		select {
		case r := <-c.queue:
			return r
		default:
			runtime.Gosched()
		}
	}
	return nil
}

// panicError is what became of a panic inside of bbolt.
type panicError struct{ value any }

func (e *panicError) Error() string { return fmt.Sprintf("write the store: %v", e.value) }
func (e *panicError) Unwrap() error { return persistence.ErrDamaged }

// transact runs fill in a transaction and commits it when it changed something.
func (c *committer) transact(fill func(w *writeTx)) (err error) {
	w := c.write
	var tx *bbolt.Tx
	defer func() {
		if r := recover(); r != nil {
			c.log.Error("writing the store panicked", "panic", r, "stack", string(debug.Stack()))
			err = &panicError{value: r}
		}
		if tx != nil {
			_ = tx.Rollback() // says that a committed one is closed
		}
		w.end()
		if err != nil {
			c.failing.Store(true)
		}
	}()
	tx, err = c.db.Begin(true)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	w.begin(tx)
	fill(w)
	if !w.touched {
		return nil
	}
	if err := w.finish(); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		c.log.Error("committing to the store failed", "error", err)
		return fmt.Errorf("commit: %w", err)
	}
	c.failing.Store(false)
	return nil
}

// answer gives a request its outcome. When the transaction failed, so has everything in it, also what failed by itself:
// that was found out against changes that are gone.
func (c *committer) answer(r *request, err error) {
	if err != nil {
		r.fail(err)
	}
	if r.done != nil {
		r.done <- struct{}{}
	}
}

// do runs op in the committer and returns its error.
func (c *committer) do(ctx context.Context, what string, bytes int, op func(w *writeTx) error) error {
	r := c.request()
	r.op, r.bytes = op, bytes
	if err := c.submit(ctx, r); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	err := r.err
	c.release(r)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// submit queues r and waits until it is answered. After an error r belongs to the committer.
func (c *committer) submit(ctx context.Context, r *request) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%w: %w", persistence.ErrUnavailable, context.Cause(ctx))
	}
	size := int64(r.bytes)
	if c.bytes.Add(size) > maxQueueBytes {
		c.bytes.Add(-size)
		return fmt.Errorf("%w: the queue is full", persistence.ErrUnavailable)
	}
	select {
	case c.queue <- r:
	default:
		c.bytes.Add(-size)
		return fmt.Errorf("%w: the queue is full", persistence.ErrUnavailable)
	}
	select {
	case <-r.done:
		return nil
	case <-ctx.Done():
		r.abandon()
		return fmt.Errorf("%w: %w", persistence.ErrUnavailable, context.Cause(ctx))
	}
}

func (c *committer) request() *request {
	if r, ok := c.pool.Get().(*request); ok {
		return r
	}
	return &request{done: make(chan struct{}, 1)}
}

// release makes an answered request available again.
func (c *committer) release(r *request) {
	*r = request{done: r.done}
	c.pool.Put(r)
}
