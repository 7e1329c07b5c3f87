package bolt

import (
	"fmt"
	"sync/atomic"

	"parley/persistence"
)

// States of a request: its caller gives it up or the committer takes it, whichever is first.
const (
	requestWaiting = iota
	requestTaken
	requestAbandoned
)

// request is one thing to do in a round: batches, or op.
type request struct {
	batches []*persistence.Batch
	checks  []verdict // of the batches
	errs    []error   // of the batches

	op  func(w *writeTx) error
	err error // of op

	bytes int
	state atomic.Int32
	done  chan struct{} // gets a value when the request is answered; nil when nobody waits
}

// verdict is what a batch's own content says about it.
type verdict struct {
	invalid  error // final
	tooLarge error // final when the checks against the store pass, which come first
	size     int   // bytes of its data
}

func (r *request) take() bool    { return r.state.CompareAndSwap(requestWaiting, requestTaken) }
func (r *request) abandon() bool { return r.state.CompareAndSwap(requestWaiting, requestAbandoned) }

// apply runs the request in a round.
func (r *request) apply(w *writeTx) {
	if r.op != nil {
		r.err = r.op(w)
		return
	}
	for i, b := range r.batches {
		if r.checks[i].invalid != nil {
			r.errs[i] = r.checks[i].invalid
			continue
		}
		r.errs[i] = w.batch(b, &r.checks[i])
	}
}

// fail replaces every outcome by that of the round.
func (r *request) fail(cause error) {
	err := fmt.Errorf("%w: %w", persistence.ErrUnavailable, cause)
	r.err = err
	for i := range r.errs {
		if r.checks[i].invalid == nil {
			r.errs[i] = err
		}
	}
}
