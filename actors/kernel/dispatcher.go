package kernel

import (
	"sync/atomic"

	"github.com/asynkron/protoactor-go/actor"
)

// idleWorkers is the number of goroutines that wait for the next actor to run.
const idleWorkers = 64

// dispatcher runs actors on goroutines that are used again, so that their stacks have grown already: a fresh goroutine for
// every wake-up copies its stack several times on the way down into a handler. There is no bound on running ones: an
// actor that is ready always runs.
type dispatcher struct {
	work chan func()
	idle atomic.Int32
	quit chan struct{}
}

var _ actor.Dispatcher = (*dispatcher)(nil)

func newDispatcher() *dispatcher {
	return &dispatcher{work: make(chan func()), quit: make(chan struct{})}
}

// Throughput implements actor.Dispatcher; our mailbox has a limit of its own.
func (d *dispatcher) Throughput() int { return mailboxBurst }

// Schedule implements actor.Dispatcher.
func (d *dispatcher) Schedule(f func()) {
	select {
	case d.work <- f:
	default:
		go d.run(f)
	}
}

func (d *dispatcher) run(f func()) {
	for {
		f()
		if d.idle.Add(1) > idleWorkers {
			d.idle.Add(-1)
			return
		}
		select {
		case f = <-d.work:
			d.idle.Add(-1)
		case <-d.quit:
			return
		}
	}
}

// close ends the idle goroutines; others end when their actor is done.
func (d *dispatcher) close() { close(d.quit) }
