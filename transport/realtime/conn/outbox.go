package conn

import (
	"sync"
	"time"
)

// outbox is what waits to be sent to one connection. Empty, it holds no memory of its own.
//
// busy is the ownership of the write side: whoever turns it on must see to it that a worker or a
// drain goroutine runs take until that turns it off. Nobody else writes.
type outbox struct {
	mu       sync.Mutex
	first    *Frame
	rest     *queue // behind first
	last     *Frame // the close frame, behind everything
	bytes    int    // waiting and being written
	since    int64  // hub time in ms at which first began to wait
	cause    error  // why the connection ends
	busy     bool
	stalled  bool // a drain goroutine is the owner
	cut      bool // slow consumer: only a frame that was begun and the close frame are still sent
	trimmed  bool // the write that the cut interrupted was noticed; the next deadline is the end
	lastSent bool
	peerDone bool // the client's close frame was read
	half     bool // after the close frame, tell the client with a FIN that nothing follows
}

// queue holds frames; pooled.
type queue struct{ frames []*Frame }

// keepQueue is the largest queue, in frames, that goes back to the pool.
const keepQueue = 64

var queues = sync.Pool{New: func() any { return new(queue) }}

func (q *queue) free() {
	if cap(q.frames) > keepQueue {
		return
	}
	clear(q.frames)
	q.frames = q.frames[:0]
	queues.Put(q)
}

// Push lets f be sent after everything that was pushed before. It never blocks. False: the
// connection is closing or closed, or was just cut off with 1008 because too much waits.
func (c *Conn) Push(f *Frame) bool {
	c.mu.Lock()
	ok, wake := c.pushLocked(f)
	c.mu.Unlock()
	if wake {
		c.worker.add(c)
	}
	return ok
}

// PushAll is Push for frames between which no other may come.
func (c *Conn) PushAll(frames ...*Frame) bool {
	c.mu.Lock()
	all, wake := true, false
	for _, f := range frames {
		ok, claimed := c.pushLocked(f)
		all, wake = all && ok, wake || claimed
	}
	c.mu.Unlock()
	if wake {
		c.worker.add(c)
	}
	return all
}

func (c *Conn) pushLocked(f *Frame) (ok, wake bool) {
	if c.phase.Load() != stateOpen {
		return false, false
	}
	if c.bytes > 0 && c.bytes+len(f.b) > c.bound() {
		return false, c.cutLocked()
	}
	if c.first == nil {
		c.first = f
		c.since = c.hub.now()
	} else {
		if c.rest == nil {
			c.rest = queues.Get().(*queue)
		}
		c.rest.frames = append(c.rest.frames, f)
	}
	c.bytes += len(f.b)
	return true, c.claim()
}

// Waiting is the number of bytes that were pushed and not yet taken by the kernel.
func (c *Conn) Waiting() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.bytes
}

// bound is how much may wait in bytes.
func (c *Conn) bound() int {
	if c.stalled {
		return c.hub.o.MaxWaiting
	}
	return burstFactor * c.hub.o.MaxWaiting
}

// claim takes the write side if nobody has it; true: the caller must hand the connection to its worker.
func (c *Conn) claim() bool {
	if c.busy {
		return false
	}
	c.busy = true
	return true
}

// cutLocked gives up on a client that does not read. What was not begun is dropped; the close
// frame gets CloseGrace to reach a client that reads again after all.
func (c *Conn) cutLocked() (wake bool) {
	c.clearQueue()
	c.cut = true
	c.hub.cut.Add(1)
	wake = c.startCloseLocked(CloseFrame(CodePolicy, ErrSlowConsumer.Error()), ErrSlowConsumer)
	if c.stalled {
		// Wake the drain goroutine, so that it drops what it did not begin.
		_ = c.nc.SetWriteDeadline(time.Unix(1, 0))
	}
	return wake
}

// clearQueue drops what waits and was not taken.
func (c *Conn) clearQueue() {
	if c.first != nil {
		c.bytes -= len(c.first.b)
		c.first = nil
	}
	if c.rest != nil {
		for _, f := range c.rest.frames {
			c.bytes -= len(f.b)
		}
		c.rest.free()
		c.rest = nil
	}
}

// take ends a turn that wrote so many bytes, and moves what waits to dst. Empty: the write side
// is free again, or the connection is over, and the caller must run then.
func (c *Conn) take(dst []*Frame, wrote int) (frames []*Frame, since int64, then func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bytes -= wrote
	since = c.since
	if c.phase.Load() == stateClosed {
		return nil, 0, nil
	}
	if c.first != nil {
		dst = append(dst, c.first)
		c.first = nil
		if c.rest != nil {
			dst = append(dst, c.rest.frames...)
			c.rest.free()
			c.rest = nil
		}
		return dst, since, nil
	}
	if c.last != nil {
		dst = append(dst, c.last)
		c.bytes += len(c.last.b)
		c.last = nil
		c.lastSent = true
		return dst, c.hub.now(), nil
	}
	c.busy = false
	if c.stalled {
		// The worker's writes would fail at a deadline that has passed.
		c.stalled = false
		_ = c.nc.SetWriteDeadline(time.Time{})
	}
	if c.lastSent {
		switch {
		case c.peerDone:
			return nil, 0, func() { c.shutdown(nil) }
		case c.half:
			return nil, 0, c.closeWrite
		}
	}
	return nil, 0, nil
}

// closeWrite sends a FIN where the network connection can.
func (c *Conn) closeWrite() {
	if h, ok := c.nc.(interface{ CloseWrite() error }); ok {
		_ = h.CloseWrite()
	}
}
