package conn

import (
	"errors"
	"net"
	"os"
	"time"
)

// stall hands the write side from the worker to a goroutine that may wait. frames begin with one
// of which off bytes are sent already; since is when the oldest of them began to wait, and wrote
// is what the worker has just written.
func (c *Conn) stall(frames []*Frame, off int, since int64, wrote int) {
	c.mu.Lock()
	c.bytes -= wrote
	// A connection that is not TCP comes this way always and is not slow for that.
	c.stalled = true
	c.mu.Unlock()
	c.hub.drains.Add(1)
	go c.drain(frames, off, since)
}

// credit notes written bytes while the write side stays claimed.
func (c *Conn) credit(wrote int) {
	c.mu.Lock()
	c.bytes -= wrote
	c.mu.Unlock()
}

// drain writes what waits, waiting for the client within the limits of the hub.
func (c *Conn) drain(frames []*Frame, off int, since int64) {
	defer c.hub.drains.Done()
	for len(frames) > 0 {
		wrote, err := 0, error(nil)
		frames = c.prepare(frames, off, since)
		if len(frames) > 0 {
			wrote, err = c.writeWaiting(frames, off)
			left, _ := advance(frames, off, wrote)
			c.hub.drained.add(len(frames)-len(left), wrote)
		}
		if err == nil {
			var then func()
			frames, since, then = c.take(frames[:0], wrote)
			off = 0
			if then != nil {
				then()
			}
			continue
		}
		frames, off = advance(frames, off, wrote)
		if !errors.Is(err, os.ErrDeadlineExceeded) || !c.late(wrote) {
			c.shutdown(err)
			return
		}
	}
}

// prepare sets the deadline of the next write, and drops all but a frame that was begun when the
// client was cut off. Both happen under the lock that cutLocked holds, so that its wake-up can't
// be overwritten.
func (c *Conn) prepare(frames []*Frame, off int, since int64) []*Frame {
	c.mu.Lock()
	defer c.mu.Unlock()
	wait := c.hub.o.CloseGrace
	switch {
	case c.cut:
		keep := 0
		if off > 0 || c.lastSent {
			keep = 1
		}
		for _, f := range frames[keep:] {
			c.bytes -= len(f.b)
		}
		frames = frames[:keep]
	case c.phase.Load() == stateOpen:
		waited := time.Duration(sinceStart(c.hub)-since) * time.Millisecond
		wait = max(c.hub.o.MaxWait-waited, 0)
	}
	_ = c.nc.SetWriteDeadline(time.Now().Add(wait))
	return frames
}

// late is called when a write has met its deadline; it cuts the client off if that did not happen
// yet. False: it had its last chance.
func (c *Conn) late(wrote int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bytes -= wrote
	switch {
	case c.phase.Load() == stateOpen:
		c.cutLocked()
		c.trimmed = true
		return true
	case c.cut && !c.trimmed:
		c.trimmed = true
		return true
	}
	return false
}

// writeWaiting writes frames, the first from off on, and says how many bytes went out.
func (c *Conn) writeWaiting(frames []*Frame, off int) (int, error) {
	bufs := make(net.Buffers, len(frames))
	for i, f := range frames {
		bufs[i] = f.b
	}
	bufs[0] = bufs[0][off:]
	n, err := bufs.WriteTo(c.nc)
	return int(n), err
}

// advance skips n bytes that were written of frames from off on.
func advance(frames []*Frame, off, n int) ([]*Frame, int) {
	off += n
	for len(frames) > 0 && off >= len(frames[0].b) {
		off -= len(frames[0].b)
		frames = frames[1:]
	}
	return frames, off
}
