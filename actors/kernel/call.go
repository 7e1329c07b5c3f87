package kernel

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// AskTimeout bounds an Ask whose context has no deadline of its own.
const AskTimeout = 10 * time.Second

// maxHops is how often a call is handed on when its actor goes to sleep under it.
const maxHops = 5

// Kind is a kind of actor. It contains no slash.
type Kind string

// Ref names an actor.
type Ref struct {
	Kind Kind
	ID   string
}

func (r Ref) String() string { return string(r.Kind) + "/" + r.ID }

// Directory finds actors, wakes them, and carries messages to them. The embedded deployment has one for this process
// (Local); a sharded one carries a message to the server on which the actor lives.
type Directory interface {
	// Tell posts a message that nobody waits for. It may be lost when the actor stops.
	Tell(ref Ref, msg any)
	// Call posts a command. reply is called exactly once, from any goroutine, and must not block; with ErrOverloaded it
	// may be called before Call returns.
	Call(ref Ref, command any, reply func(any, error))
}

// Ask calls an actor and waits for its answer of type R, until ctx ends or AskTimeout has passed.
func Ask[R any](ctx context.Context, d Directory, ref Ref, command any) (R, error) {
	type answer struct {
		value any
		err   error
	}
	var zero R
	got := make(chan answer, 1)
	d.Call(ref, command, func(v any, err error) { got <- answer{v, err} })
	timer := time.NewTimer(AskTimeout)
	defer timer.Stop()
	select {
	case a := <-got:
		if a.err != nil {
			return zero, a.err
		}
		v, ok := a.value.(R)
		if !ok {
			return zero, fmt.Errorf("ask %s: %T answered with %T", ref, command, a.value)
		}
		return v, nil
	case <-ctx.Done():
		return zero, &Error{Code: CodeUnavailable, Message: ErrTimeout.Message, cause: ctx.Err()}
	case <-timer.C:
		return zero, ErrTimeout
	}
}

// Done is the answer of commands that have nothing to say.
type Done struct{}

// call is a command on its way. A mailbox that can't take it answers it itself.
type call struct {
	ref     Ref
	command any
	reply   func(any, error)
	dir     *Local // hands the call on when its actor has stopped
	hops    int
	done    atomic.Bool
}

// finish answers the call once. A call that met a stopped actor goes to its successor.
func (c *call) finish(v any, err error) {
	if errors.Is(err, errStopped) && c.dir != nil && c.hops < maxHops && !c.done.Load() {
		c.hops++
		c.dir.dispatch(c.ref, c)
		return
	}
	if !c.done.CompareAndSwap(false, true) {
		return
	}
	switch {
	case err == nil:
	case errors.Is(err, errStopped):
		err = ErrUnavailable
	case c.dir != nil && errors.Is(err, ErrOverloaded):
		c.dir.sys.Meter.Overloaded(c.ref.Kind)
	}
	c.reply(v, err)
}
