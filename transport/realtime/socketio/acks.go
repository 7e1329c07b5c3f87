package socketio

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
)

// Errors of acks.
var (
	// ErrManyAcks: MaxPendingAcks are waited for.
	ErrManyAcks = errors.New("too many acks are waited for")
	// ErrGone: the socket has ended.
	ErrGone = errors.New("the socket has ended")
)

// Answer gets the ack to an event of the server: its arguments as a JSON array, and its attachments. err is why none comes.
type Answer func(args json.RawMessage, attachments [][]byte, err error)

// acks are those that a socket waits for.
type acks struct {
	mu      sync.Mutex
	next    int64 // id of the next one
	pending map[int64]Answer
}

// add waits for one more, unless the socket is gone.
func (a *acks) add(answer Answer, gone *atomic.Bool) (id int64, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case gone.Load():
		return 0, ErrGone
	case len(a.pending) >= MaxPendingAcks:
		return 0, ErrManyAcks
	}
	id = a.next
	a.next++
	a.pending[id] = answer
	return id, nil
}

// take returns who waits for an ack, nil for nobody.
func (a *acks) take(id int64) Answer {
	a.mu.Lock()
	defer a.mu.Unlock()
	answer := a.pending[id]
	delete(a.pending, id)
	return answer
}

// fail answers those that nobody will send, in the order in which they were asked for. The socket is gone by then.
func (a *acks) fail(err error) {
	if a == nil {
		return
	}
	a.mu.Lock()
	pending := a.pending
	a.pending = nil
	a.mu.Unlock()
	for _, id := range slices.Sorted(maps.Keys(pending)) {
		pending[id](nil, nil, err)
	}
}
