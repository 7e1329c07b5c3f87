package kernel

import "sync"

// Limits of the reading pool.
const (
	poolWorkers = 32    // reads at once
	poolQueue   = 16384 // reads that wait; one more is refused
)

// pool runs reads of the store for actors, which must not wait themselves. Workers exist only while there is work.
type pool struct {
	mu      sync.Mutex
	queue   []func()
	workers int
	closed  bool
	idle    sync.WaitGroup
}

func newPool() *pool { return &pool{} }

func (p *pool) run(f func()) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || len(p.queue) >= poolQueue {
		return false
	}
	p.queue = append(p.queue, f)
	if p.workers < poolWorkers {
		p.workers++
		p.idle.Add(1)
		go p.work()
	}
	return true
}

func (p *pool) work() {
	defer p.idle.Done()
	for {
		p.mu.Lock()
		if len(p.queue) == 0 {
			p.queue = nil
			p.workers--
			p.mu.Unlock()
			return
		}
		f := p.queue[0]
		p.queue[0] = nil
		p.queue = p.queue[1:]
		p.mu.Unlock()
		f()
	}
}

// close refuses new reads and waits for those that were accepted.
func (p *pool) close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.idle.Wait()
}
