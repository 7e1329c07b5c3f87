package conn

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// Hub owns what the connections of a server share: the goroutines that write, the wheel of
// heartbeats, and the list of the live ones.
type Hub struct {
	o       Options
	start   time.Time
	clock   atomic.Int64 // ms since start, moved by the wheel
	next    atomic.Uint64
	cut     atomic.Int64
	drained sent // what drain goroutines wrote
	workers []*worker
	conns   *wheel[*Conn]
	seats   *wheel[*Seat]
	closing closingList
	readers sync.WaitGroup
	drains  sync.WaitGroup
	stop    chan struct{}
	stopped chan struct{}
	once    sync.Once
}

// NewHub starts a hub. Close must end it.
func NewHub(o Options) *Hub {
	o = o.withDefaults()
	h := &Hub{
		o: o, start: time.Now(), conns: newWheel[*Conn](o.PingInterval, o.PingTimeout), seats: newWheel[*Seat](o.PingInterval, o.PingTimeout),
		stop: make(chan struct{}), stopped: make(chan struct{}),
	}
	h.clock.Store(sinceStart(h))
	for range o.Workers {
		w := newWorker()
		h.workers = append(h.workers, w)
		go w.run()
	}
	go h.turn()
	return h
}

// Len is the number of live connections and guests, those that are closing included.
func (h *Hub) Len() int { return h.conns.len() + h.seats.len() }

// Cut is how many connections were closed as slow consumers so far.
func (h *Hub) Cut() int64 { return h.cut.Load() }

// Sent is how many frames, heartbeats among them, were written whole so far, and how many bytes were written.
func (h *Hub) Sent() (frames, bytes int64) {
	frames, bytes = h.drained.frames.Load(), h.drained.bytes.Load()
	for _, w := range h.workers {
		frames += w.sent.frames.Load()
		bytes += w.sent.bytes.Load()
	}
	return frames, bytes
}

// Each calls f for the connections that live now until it returns false.
func (h *Hub) Each(f func(c *Conn) bool) {
	for _, c := range h.conns.all() {
		if !f(c) {
			return
		}
	}
}

// Drain refuses new connections, closes the live ones with code and reason, spread evenly over
// the given time, and waits until the last is gone or ctx is done, whose error it then returns.
func (h *Hub) Drain(ctx context.Context, code int, reason string, spread time.Duration) error {
	h.conns.close()
	h.seats.close()
	var live []interface{ Close(code int, reason string) }
	for _, c := range h.conns.all() {
		live = append(live, c)
	}
	for _, s := range h.seats.all() {
		live = append(live, s.guest)
	}
	begun := time.Now()
	for i, c := range live {
		at := begun.Add(spread * time.Duration(i) / time.Duration(len(live)))
		if err := sleep(ctx, time.Until(at)); err != nil {
			return err
		}
		c.Close(code, reason)
	}
	for h.Len() > 0 {
		if err := sleep(ctx, h.conns.tick); err != nil {
			return err
		}
	}
	return nil
}

// Close ends every connection at once, waits until each Handler.Closed has returned, and stops
// the hub. It must not be called from a Handler.
func (h *Hub) Close() {
	h.once.Do(func() {
		h.conns.end()
		h.seats.end()
		h.Each(func(c *Conn) bool {
			c.shutdown(ErrHubClosed)
			return true
		})
		for _, s := range h.seats.all() {
			s.guest.Abort()
		}
		h.readers.Wait()
		h.drains.Wait()
		close(h.stop)
		for _, w := range h.workers {
			w.stop()
		}
	})
	<-h.stopped
}

// admit says whether another client may come.
func (h *Hub) admit() error {
	guests := h.seats.len()
	h.conns.mu.Lock()
	defer h.conns.mu.Unlock()
	switch {
	case h.conns.closed:
		return ErrHubClosed
	case h.o.MaxConns > 0 && h.conns.count+guests >= h.o.MaxConns:
		return ErrFull
	}
	return nil
}

// now is the hub's time in ms since its start. It moves with the wheel, which is exact enough for
// liveness and costs nothing to read.
func (h *Hub) now() int64 { return h.clock.Load() }

// sinceStart is the exact time that now follows. It is never 0.
func sinceStart(h *Hub) int64 { return time.Since(h.start).Milliseconds() + 1 }

// turn moves the clock and the wheel.
func (h *Hub) turn() {
	defer close(h.stopped)
	t := time.NewTicker(h.conns.tick)
	defer t.Stop()
	ticked := h.now()
	for {
		select {
		case <-h.stop:
			return
		case <-t.C:
		}
		now := sinceStart(h)
		h.clock.Store(now)
		h.closing.end(now - h.o.CloseGrace.Milliseconds())
		h.conns.advance(now)
		h.seats.advance(now)
		if now >= ticked+guestTick.Milliseconds() {
			ticked = now
			for _, s := range h.seats.all() {
				s.guest.Tick(now)
			}
		}
	}
}

// sleep waits for d or until ctx is done.
func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return nil
	}
}
