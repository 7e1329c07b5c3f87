package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"parley/persistence"
)

// Fault is what happens to one Append of a Faulty store.
type Fault int

const (
	// FailBefore refuses the batches with ErrUnavailable and applies nothing.
	FailBefore Fault = iota + 1
	// LoseReply applies the batches and then reports ErrUnavailable, as when a connection breaks.
	LoseReply
	// Fence lets another owner acquire the streams of the batches first, so that they fail with ErrFenced.
	Fence
	// Stall holds the call until Release or the end of its context, and then lets it through.
	Stall
)

// errScripted is the cause in every error that a Faulty store makes up.
var errScripted = errors.New("scripted fault")

// Faulty wraps a store and makes its next Appends fail as scripted, one Fault a call; with none left it is the store
// itself. It may be used from any goroutine.
type Faulty struct {
	persistence.Store

	mu      sync.Mutex
	script  []Fault
	all     Fault
	gate    chan struct{}
	stalled int
	appends int
	hidden  bool // versions can't be told
}

// NewFaulty returns store with no fault scripted. Closing it closes store.
func NewFaulty(store persistence.Store) *Faulty {
	return &Faulty{Store: store, gate: make(chan struct{})}
}

// Script adds faults for the next calls of Append.
func (f *Faulty) Script(faults ...Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.script = append(f.script, faults...)
}

// Always makes every Append behind the script meet the fault; 0 ends that.
func (f *Faulty) Always(fault Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.all = fault
}

// HideVersions makes every call of Version fail with ErrUnavailable, or ends that.
func (f *Faulty) HideVersions(hidden bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.hidden = hidden
}

// Version implements persistence.Store.
func (f *Faulty) Version(ctx context.Context, collection string) (uint64, error) {
	f.mu.Lock()
	hidden := f.hidden
	f.mu.Unlock()
	if hidden {
		return 0, fmt.Errorf("version: %w: %w", persistence.ErrUnavailable, errScripted)
	}
	return f.Store.Version(ctx, collection)
}

// Release lets all stalled calls go on. Later ones stall anew.
func (f *Faulty) Release() {
	f.mu.Lock()
	defer f.mu.Unlock()
	close(f.gate)
	f.gate = make(chan struct{})
}

// Stalled returns how many calls are held now.
func (f *Faulty) Stalled() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.stalled
}

// Appends returns how many calls of Append there were.
func (f *Faulty) Appends() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.appends
}

func (f *Faulty) next() (Fault, chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.appends++
	fault := f.all
	if len(f.script) > 0 {
		fault, f.script = f.script[0], f.script[1:]
	}
	if fault == Stall {
		f.stalled++
	}
	return fault, f.gate
}

// Append implements persistence.Store, with the next fault of the script.
func (f *Faulty) Append(ctx context.Context, batches []*persistence.Batch) []error {
	fault, gate := f.next()
	switch fault {
	case FailBefore:
		return lost(len(batches), errScripted)
	case LoseReply:
		f.Store.Append(ctx, batches)
		return lost(len(batches), errScripted)
	case Fence:
		for _, b := range batches {
			if _, err := f.Acquire(ctx, b.Stream, ^uint64(0)); err != nil {
				return lost(len(batches), err)
			}
		}
	case Stall:
		if err := f.wait(ctx, gate); err != nil {
			return lost(len(batches), err)
		}
	}
	return f.Store.Append(ctx, batches)
}

func (f *Faulty) wait(ctx context.Context, gate chan struct{}) error {
	defer func() {
		f.mu.Lock()
		f.stalled--
		f.mu.Unlock()
	}()
	select {
	case <-gate:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// lost is the answer to n batches whose outcome is unknown.
func lost(n int, cause error) []error {
	errs := make([]error, n)
	for i := range errs {
		errs[i] = fmt.Errorf("append batch: %w: %w", persistence.ErrUnavailable, cause)
	}
	return errs
}
