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

	"parley/persistence"
)

// committer is the only writer of the log and the active overlay. It takes what waits, makes one record of it and answers
// when that is on disk; meanwhile the next requests gather.
type committer struct {
	stack        *stack
	wal          *wal
	checkpointer *checkpointer
	log          *slog.Logger
	tune         tuning

	queue chan *request
	alone chan func() // run between two rounds
	quit  chan struct{}
	done  chan struct{}

	bytes   atomic.Int64 // of the queued requests
	since   atomic.Int64 // when the running round began, in nanoseconds since 1970; 0 for none
	failing atomic.Bool  // the last round failed

	pool   sync.Pool // of *request
	write  *writeTx
	record recorder
	joined []*request  // in the running round
	age    *time.Timer // runs while the active overlay has records
}

func startCommitter(s *stack, l *wal, cp *checkpointer, log *slog.Logger, now func() time.Time, t tuning) *committer {
	c := &committer{
		stack: s, wal: l, checkpointer: cp, log: log, tune: t,
		queue: make(chan *request, maxQueue),
		alone: make(chan func()),
		quit:  make(chan struct{}),
		done:  make(chan struct{}),
		write: newWriteTx(now),
		age:   time.NewTimer(t.freezeAge),
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
	defer c.age.Stop()
	debug.SetPanicOnFault(true)
	idle := time.NewTicker(purgeEvery)
	defer idle.Stop()
	for {
		select {
		case <-c.quit:
			return
		case r := <-c.queue:
			c.round(r)
		case fn := <-c.alone:
			fn()
		case <-c.age.C:
			c.freeze()
		case <-idle.C:
			c.round(&request{op: func(w *writeTx) error { w.purge(maxPurge); return nil }})
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
	if err := c.room(); err != nil {
		c.failing.Store(true)
		c.answer(first, err)
		return
	}
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
	if c.stack.active.size.Load() >= c.tune.freezeBytes {
		c.freeze()
	}
}

// admit takes a request out of the accounts of the queue; false when its caller has given it up.
func (c *committer) admit(r *request) bool {
	c.bytes.Add(-int64(r.bytes))
	return r.take()
}

// next returns another request for the running round, nil for none. Callers that the last commit has woken get
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

// transact runs fill in a round and commits it when it changed something.
func (c *committer) transact(fill func(w *writeTx)) (err error) {
	w := c.write
	v, err := c.stack.beginWriter()
	if err != nil {
		return err
	}
	w.begin(v, c.stack.published.Load()+1)
	defer func() {
		if r := recover(); r != nil {
			c.log.Error("writing the store panicked", "panic", r, "stack", string(debug.Stack()))
			err = &panicError{value: r}
		}
		if err != nil {
			w.undo()
			c.failing.Store(true)
			if v.active.records == 0 {
				c.stack.renew()
			}
		}
		v.end()
		w.end()
	}()
	fill(w)
	if !w.touched {
		return nil
	}
	w.finish(&c.record)
	v.end() // a transaction that waits for the disk would keep the file from using space again
	if err := c.wal.append(w.number, &c.record); err != nil {
		c.log.Error("committing to the store failed", "error", err)
		return err
	}
	for collection := range w.documents {
		c.stack.versions.note(collection, w.number)
	}
	c.publish(v.active, w.number)
	return nil
}

// publish lets readers see a record that is on disk.
func (c *committer) publish(o *overlay, number uint64) {
	c.stack.published.Store(number)
	c.failing.Store(false)
	if o.records == 0 {
		c.age.Reset(c.tune.freezeAge)
	}
	o.records++
	o.last, o.segment = number, c.wal.current
}

// answer gives a request its outcome. When the round failed, so has everything in it, also what failed by itself:
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
