// Package storetest is the conformance suite of the store's contract, and a wrapper that makes any store fail.
//
// An engine passes when Run passes. Nothing in here knows an engine: what is special about one it says in its Harness.
package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"parley/persistence"
)

// Opener returns a new, empty place for a store to live in. What it needs to end it registers with t.Cleanup.
type Opener func(t *testing.T) Harness

// Harness is one place where a store lives.
type Harness struct {
	// Open opens the store of this place. Called again after the store was closed, it opens what that one has left.
	// The suite closes what it opens. Required.
	Open func(t *testing.T) persistence.Store
	// Now is the time that the store goes by. Required.
	Now func() time.Time
	// Advance makes that time go on by d. Required.
	Advance func(d time.Duration)
	// Restore opens a new store from a backup, in a place of its own. nil leaves out the tests of backups.
	Restore func(t *testing.T, backup []byte) persistence.Store
	// Faults are ways to hurt the engine. Each that is nil leaves out its test.
	Faults Faults
}

// Faults hurt an engine from outside.
type Faults struct {
	// FailCommits makes commits of the open store s fail until repair is called.
	FailCommits func(t *testing.T, s persistence.Store) (repair func())
	// FillDisk leaves the open store s without space until repair is called.
	FillDisk func(t *testing.T, s persistence.Store) (repair func())
	// Tear damages the closed store of the place, each time in another way, and returns nil, or returns false when
	// there is no other way. Opening it must fail with ErrDamaged or ErrForeign, or give a state that was committed.
	Tear func(t *testing.T, round int) bool
}

// deadline is how long one test may take before the store counts as stuck.
const deadline = 30 * time.Second

// Run checks every rule of the contract against an engine.
func Run(t *testing.T, open Opener) {
	groups := []struct {
		name  string
		tests []test
	}{
		{"log", logTests}, {"lease", leaseTests}, {"claim", claimTests}, {"document", documentTests}, {"version", versionTests},
		{"small", smallTests}, {"trim", trimTests}, {"batch", batchTests}, {"limit", limitTests},
		{"concurrent", concurrentTests}, {"life", lifeTests}, {"fault", faultTests},
	}
	for _, g := range groups {
		t.Run(g.name, func(t *testing.T) {
			for _, test := range g.tests {
				t.Run(test.name, func(t *testing.T) { test.run(newEnv(t, open)) })
			}
		})
	}
}

type test struct {
	name string
	run  func(e *env)
}

// env is what a test works with: an open store and short words for the contract.
type env struct {
	*testing.T
	Harness
	ctx   context.Context
	store persistence.Store
}

func newEnv(t *testing.T, open Opener) *env {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	t.Cleanup(cancel)
	e := &env{T: t, Harness: open(t), ctx: ctx}
	e.store = e.Open(t)
	t.Cleanup(func() { e.check(e.store.Close()) })
	return e
}

// reopen closes the store and opens what it has left.
func (e *env) reopen() {
	e.Helper()
	e.check(e.store.Close())
	e.store = e.Open(e.T)
}

func (e *env) check(err error) {
	e.Helper()
	if err != nil {
		e.Fatalf("unexpected error: %v", err)
	}
}

// wants fails the test unless err matches want.
func (e *env) wants(want, err error) {
	e.Helper()
	if !errors.Is(err, want) {
		e.Fatalf("got error %v, want %v", err, want)
	}
}

func equal[T comparable](e *env, what string, got, want T) {
	e.Helper()
	if got != want {
		e.Fatalf("%s: got %v, want %v", what, got, want)
	}
}

// writer is an owner of a stream.
type writer struct {
	e      *env
	stream string
	epoch  uint64
	last   uint64
}

func (e *env) acquire(stream string) *writer {
	e.Helper()
	lease, err := e.store.Acquire(e.ctx, stream, 0)
	e.check(err)
	return &writer{e: e, stream: stream, epoch: lease.Epoch, last: lease.Last}
}

// batch returns a batch of n events behind the last one.
func (w *writer) batch(n int) *persistence.Batch {
	b := &persistence.Batch{Stream: w.stream, Epoch: w.epoch, Expect: w.last}
	for i := range n {
		b.Events = append(b.Events, event(w.last+uint64(i)+1))
	}
	return b
}

// event is the one that tests write at a sequence, so that reads know what to expect.
func event(seq uint64) persistence.Event {
	return persistence.Event{Seq: seq, At: int64(seq) * 1000, Kind: fmt.Sprintf("kind.%d", seq%3), Data: fmt.Appendf(nil, "data of %d", seq)}
}

// try appends one batch.
func (w *writer) try(b *persistence.Batch) error {
	w.e.Helper()
	errs := w.e.store.Append(w.e.ctx, []*persistence.Batch{b})
	if len(errs) != 1 {
		w.e.Fatalf("one batch, %d errors", len(errs))
	}
	if errs[0] == nil {
		w.last += uint64(len(b.Events))
	}
	return errs[0]
}

// write appends n events with what else change puts into the batch, and fails the test when that fails.
func (w *writer) write(n int, change func(b *persistence.Batch)) {
	w.e.Helper()
	w.e.check(w.put(n, change))
}

func (w *writer) put(n int, change func(b *persistence.Batch)) error {
	w.e.Helper()
	b := w.batch(n)
	if change != nil {
		change(b)
	}
	return w.try(b)
}

// events reads a stream and checks that it holds exactly from … to.
func (e *env) events(stream string, from, to uint64) {
	e.Helper()
	got, err := e.store.Events(e.ctx, stream, 0, 0)
	e.check(err)
	equal(e, "number of events of "+stream, len(got), int(to+1-from))
	for i, ev := range got {
		sameEvent(e, ev, event(from+uint64(i)))
	}
}

func sameEvent(e *env, got, want persistence.Event) {
	e.Helper()
	if got.Seq != want.Seq || got.At != want.At || got.Kind != want.Kind || !bytes.Equal(got.Data, want.Data) {
		e.Fatalf("got event %+v, want %+v", got, want)
	}
}

func (e *env) head(stream string, first, last uint64) {
	e.Helper()
	f, l, err := e.store.Head(e.ctx, stream)
	e.check(err)
	equal(e, "head of "+stream, [2]uint64{f, l}, [2]uint64{first, last})
}

func (e *env) document(collection, key string, want string) {
	e.Helper()
	got, err := e.store.Document(e.ctx, collection, key)
	e.check(err)
	equal(e, "document "+key, string(got), want)
}

func (e *env) noDocument(collection, key string) {
	e.Helper()
	_, err := e.store.Document(e.ctx, collection, key)
	e.wants(persistence.ErrNotFound, err)
}

func (e *env) holds(index, key, owner string) {
	e.Helper()
	c, err := e.store.Claim(e.ctx, index, key)
	e.check(err)
	equal(e, "owner of "+key, c.Owner, owner)
}

func (e *env) free(index, key string) {
	e.Helper()
	_, err := e.store.Claim(e.ctx, index, key)
	e.wants(persistence.ErrNotFound, err)
}
