package platform

import (
	"context"
	"sync"

	"parley/actors/kernel"
)

// runningCommands bounds the commands that run, and ends them.
type runningCommands struct {
	ctx    context.Context
	cancel context.CancelFunc
	places chan struct{}

	mu      sync.Mutex
	closed  bool
	running sync.WaitGroup
}

func newRunningCommands() *runningCommands {
	r := &runningCommands{places: make(chan struct{}, MaxCommands)}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	return r
}

// enter takes a place; leave gives it back.
func (r *runningCommands) enter() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return kernel.ErrUnavailable
	}
	select {
	case r.places <- struct{}{}:
		r.running.Add(1)
		return nil
	default:
		return kernel.ErrOverloaded
	}
}

func (r *runningCommands) leave() {
	<-r.places
	r.running.Done()
}

// close lets nobody in any more and waits for those inside, which are told to stop.
func (r *runningCommands) close() {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.cancel()
	r.running.Wait()
}
