package conn

import (
	"slices"
	"sync"
)

const (
	// scratchSize is how many bytes of small frames are joined for one system call.
	scratchSize = 64 << 10
	// turns is how often a worker serves one connection before it looks after the others.
	turns = 4
	// keepList is the longest list of connections, and of frames, that a worker keeps.
	keepList = 64 << 10
)

// worker writes the outboxes of its connections. It never waits for a client.
type worker struct {
	mu      sync.Mutex
	list    []*Conn
	idle    bool
	stopped bool
	wake    chan struct{} // capacity 1
	done    chan struct{}

	// Owned by the goroutine.
	spare   []*Conn
	frames  []*Frame
	scratch []byte
	try     func(fd uintptr) bool // bound once
	out     []byte                // what try writes
	n       int                   // what it wrote
	err     error

	sent sent // written by the goroutine alone
}

func newWorker() *worker {
	w := &worker{wake: make(chan struct{}, 1), done: make(chan struct{}), scratch: make([]byte, 0, scratchSize)}
	w.try = w.writeNow
	return w
}

// add puts a connection whose write side was just claimed on the list.
func (w *worker) add(c *Conn) {
	w.mu.Lock()
	w.list = append(w.list, c)
	idle := w.idle
	w.idle = false
	w.mu.Unlock()
	if idle {
		w.wake <- struct{}{}
	}
}

// stop ends the goroutine once its list is empty.
func (w *worker) stop() {
	w.mu.Lock()
	w.stopped = true
	idle := w.idle
	w.idle = false
	w.mu.Unlock()
	if idle {
		w.wake <- struct{}{}
	}
	<-w.done
}

func (w *worker) run() {
	defer close(w.done)
	for {
		work := w.next()
		if work == nil {
			return
		}
		for i, c := range work {
			work[i] = nil
			w.flush(c)
		}
		if cap(work) <= keepList {
			w.spare = work[:0]
		}
	}
}

// next waits for connections with something to send; nil: stopped.
func (w *worker) next() []*Conn {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.list) == 0 {
		if w.stopped {
			return nil
		}
		w.idle = true
		w.mu.Unlock()
		<-w.wake
		w.mu.Lock()
	}
	work := w.list
	w.list, w.spare = w.spare, nil
	return work
}

// flush writes what waits for c; its write side is claimed.
func (w *worker) flush(c *Conn) {
	wrote := 0
	for range turns {
		frames, since, then := c.take(w.frames[:0], wrote)
		if len(frames) == 0 {
			if then != nil {
				then()
			}
			return
		}
		w.frames = frames
		done, off, total, err := 0, 0, 0, error(nil)
		if c.raw != nil {
			done, off, total, err = w.write(c, frames)
			w.sent.add(done, total)
		}
		if err != nil {
			c.shutdown(err)
			w.forget()
			return
		}
		if done < len(frames) {
			c.stall(slices.Clone(frames[done:]), off, since, total)
			w.forget()
			return
		}
		w.forget()
		wrote = total
	}
	c.credit(wrote)
	w.add(c)
}

// forget lets go of the frames of the last turn.
func (w *worker) forget() {
	clear(w.frames)
	if cap(w.frames) > keepList {
		w.frames = nil
	}
}

// write sends frames until the socket takes no more: done of them went whole, and off bytes of
// the next; total is what was sent in all. Small frames share a system call.
func (w *worker) write(c *Conn, frames []*Frame) (done, off, total int, err error) {
	for done < len(frames) {
		n := 1
		w.out = frames[done].b
		if done+1 < len(frames) && len(w.out)+len(frames[done+1].b) <= scratchSize {
			n, w.out = w.join(frames[done:])
		}
		size := len(w.out)
		if err = c.raw.Write(w.try); err == nil {
			err = w.err
		}
		w.out = nil
		if err != nil {
			return done, 0, total, err
		}
		total += w.n
		if w.n == size {
			done += n
			continue
		}
		off = w.n
		for off >= len(frames[done].b) {
			off -= len(frames[done].b)
			done++
		}
		return done, off, total, nil
	}
	return done, 0, total, nil
}

// join copies as many frames as fit into the scratch buffer.
func (w *worker) join(frames []*Frame) (n int, out []byte) {
	out = w.scratch[:0]
	for _, f := range frames {
		if len(out)+len(f.b) > scratchSize {
			break
		}
		out = append(out, f.b...)
		n++
	}
	return n, out
}

// writeNow is the one system call. It never asks the runtime to wait.
func (w *worker) writeNow(fd uintptr) bool {
	w.n, w.err = tryWrite(fd, w.out)
	return true
}
