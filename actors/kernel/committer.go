package kernel

import (
	"context"
	"sync"
	"time"

	"parley/persistence"
)

// Limits of the committer.
const (
	commitBatches = 1024             // batches handed to the store at once
	commitBytes   = 8 << 20          // bytes handed to the store at once, unless one batch alone is larger
	commitQueue   = 65536            // batches that wait; one more is refused
	commitWaiting = 256 << 20        // bytes that wait; more is refused
	commitTimeout = 10 * time.Second // for one round trip to the store
)

// Committer joins the batches of all actors into one round trip to the store. Batches of one stream are committed in
// the order of their submission.
type Committer struct {
	store  persistence.Store
	meter  Meter
	mu     sync.Mutex
	wake   *sync.Cond
	queue  []submission
	bytes  int
	closed bool
	ended  chan struct{}
}

type submission struct {
	batch *persistence.Batch
	size  int
	owner *grain
	mark  uint64 // the owner's number of the batch
}

// NewCommitter starts the committer's goroutine; Close ends it.
func NewCommitter(store persistence.Store, meter Meter) *Committer {
	c := &Committer{store: store, meter: meter, ended: make(chan struct{})}
	c.wake = sync.NewCond(&c.mu)
	go c.run()
	return c
}

// room reports whether the committer takes another batch. Actors ask before they change their state; those that ask at
// the same time may go over the limit by one batch each.
func (c *Committer) room() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.closed && len(c.queue) < commitQueue && c.bytes < commitWaiting
}

// submit queues a batch, whose outcome will be told to its owner.
func (c *Committer) submit(s submission) {
	s.size = batchSize(s.batch)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		s.owner.process.Tell(&outcome{owner: s.owner, failed: s.mark, err: persistence.ErrClosed})
		return
	}
	c.queue = append(c.queue, s)
	c.bytes += s.size
	if len(c.queue) == 1 {
		c.wake.Signal()
	}
}

// Close commits what was submitted and ends the committer.
func (c *Committer) Close() {
	c.mu.Lock()
	c.closed = true
	c.wake.Signal()
	c.mu.Unlock()
	<-c.ended
}

func (c *Committer) run() {
	defer close(c.ended)
	var batches []*persistence.Batch
	for {
		work, ok := c.take()
		if !ok {
			return
		}
		batches = batches[:0]
		for i := range work {
			batches = append(batches, work[i].batch)
		}
		ctx, cancel := context.WithTimeout(context.Background(), commitTimeout)
		begun := time.Now()
		errs := c.store.Append(ctx, batches)
		cancel()
		c.meter.Committed(len(batches), refused(errs), time.Since(begun))
		report(work, errs)
		clear(work)
		clear(batches)
	}
}

// refused counts failures.
func refused(errs []error) (n int) {
	for _, err := range errs {
		if err != nil {
			n++
		}
	}
	return n
}

// take waits for work and takes as much as one round trip may carry.
func (c *Committer) take() ([]submission, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.queue) == 0 {
		if c.closed {
			return nil, false
		}
		c.wake.Wait()
	}
	n, bytes := 0, 0
	for n < len(c.queue) && n < commitBatches && (n == 0 || bytes+c.queue[n].size <= commitBytes) {
		bytes += c.queue[n].size
		n++
	}
	work := c.queue[:n:n]
	if n == len(c.queue) {
		c.queue = nil
	} else {
		c.queue = c.queue[n:]
	}
	c.bytes -= bytes
	return work, true
}

// report tells each owner once how far its batches are committed, and of the first that failed.
func report(work []submission, errs []error) {
	last := make(map[*grain]*outcome, 16)
	order := make([]*outcome, 0, 16)
	for i := range work {
		w := &work[i]
		o := last[w.owner]
		if o == nil {
			o = &outcome{owner: w.owner}
			last[w.owner] = o
			order = append(order, o)
		}
		switch {
		case o.err != nil: // all behind a failure fail with it
		case errs[i] == nil:
			o.upto = w.mark
		default:
			o.err, o.failed = errs[i], w.mark
		}
	}
	for _, o := range order {
		o.owner.process.Tell(o)
	}
}

// outcome tells a grain that its batches up to a mark are committed, and whether the next one failed.
type outcome struct {
	owner  *grain
	upto   uint64 // 0: none of this round
	failed uint64
	err    error
}

func batchSize(b *persistence.Batch) int {
	n := 64 + len(b.Stream)
	for i := range b.Events {
		n += 32 + len(b.Events[i].Data)
	}
	for i := range b.Documents {
		n += 32 + len(b.Documents[i].Key) + len(b.Documents[i].Data)
	}
	for i := range b.Claims {
		n += 64 + len(b.Claims[i].Key) + len(b.Claims[i].Data)
	}
	for i := range b.Outbox {
		n += 32 + len(b.Outbox[i].Data)
	}
	if b.Snapshot != nil {
		n += len(b.Snapshot.Data)
	}
	return n
}
