package bolt

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"parley/persistence"
)

// Append implements persistence.Store. A committed batch is in the log, flushed to disk.
func (s *Store) Append(ctx context.Context, batches []*persistence.Batch) []error {
	errs := make([]error, len(batches))
	if err := s.enter(); err != nil {
		fillErrors(errs, err)
		return errs
	}
	defer s.leave()
	checks := make([]verdict, len(batches))
	for i, b := range batches {
		checks[i] = validate(b)
	}
	for from := 0; from < len(batches); {
		to, size := portion(batches, checks, from)
		if err := s.appendPortion(ctx, batches[from:to], checks[from:to], errs[from:to], size); err != nil {
			fillErrors(errs[from:], err)
			return errs
		}
		from = to
	}
	return errs
}

func fillErrors(errs []error, err error) {
	err = fmt.Errorf("append batch: %w", err)
	for i := range errs {
		errs[i] = err
	}
}

// portion returns how far a request of batches goes that begins at from, so that no call makes a record that all
// others have to wait for.
func portion(batches []*persistence.Batch, checks []verdict, from int) (to, size int) {
	writes := 0
	for to = from; to < len(batches); to++ {
		if to > from && (writes >= maxTxWrites || size+checks[to].size > maxTxBytes) {
			break
		}
		if b := batches[to]; b != nil && checks[to].invalid == nil && checks[to].tooLarge == nil {
			writes += 1 + len(b.Events) + len(b.Claims) + len(b.Documents) + len(b.Outbox)
			size += checks[to].size
		}
	}
	return to, size
}

func (s *Store) appendPortion(ctx context.Context, batches []*persistence.Batch, checks []verdict, errs []error, size int) error {
	r := s.committer.request()
	r.batches, r.checks, r.bytes = batches, checks, size
	// The request gets errors of its own: when ctx ends, the committer may still be writing them.
	r.errs = make([]error, len(batches))
	if err := s.committer.submit(ctx, r); err != nil {
		return err
	}
	for i, err := range r.errs {
		if err != nil {
			errs[i] = fmt.Errorf("append batch: %w", err)
		}
	}
	s.committer.release(r)
	return nil
}

// batch checks a batch against the store and, when all is well, applies it. An error while applying, which only damage
// can cause, fails the whole round, by panic: part of the batch is in it already.
func (w *writeTx) batch(b *persistence.Batch, v *verdict) error {
	h, err := w.check(b, v)
	if err != nil {
		return err
	}
	if err := w.apply(b, h); err != nil {
		panic(err)
	}
	return nil
}

// check decides about a batch without changing anything. A panic of bbolt here is damage that only this batch meets.
func (w *writeTx) check(b *persistence.Batch, v *verdict) (h *head, err error) {
	defer func() {
		if r := recover(); r != nil {
			h, err = nil, fmt.Errorf("check %s: %v: %w", b.Stream, r, persistence.ErrDamaged)
		}
	}()
	h, err = w.head(b.Stream)
	if err != nil {
		return nil, err
	}
	if !h.known || h.epoch != b.Epoch {
		return nil, fmt.Errorf("%s at epoch %d: %w", b.Stream, b.Epoch, persistence.ErrFenced)
	}
	if h.last != b.Expect {
		return nil, &persistence.ConflictError{Stream: b.Stream, Expect: b.Expect, Last: h.last}
	}
	if err := w.checkClaims(b.Claims); err != nil {
		return nil, err
	}
	if v.tooLarge != nil {
		return nil, v.tooLarge
	}
	if s := b.Snapshot; s != nil && s.Seq+1 < h.first {
		return nil, fmt.Errorf("snapshot of %d, but the log begins at %d: %w", s.Seq, h.first, persistence.ErrInvalid)
	}
	for i := range b.Counters {
		if _, err := w.sum(b.Counters[i].Name); err != nil {
			return nil, err
		}
	}
	return h, nil
}

// apply writes a batch that has passed its checks.
func (w *writeTx) apply(b *persistence.Batch, h *head) error {
	w.touched = true
	w.putEvents(b, h)
	for i := range b.Claims {
		if err := w.claim(&b.Claims[i]); err != nil {
			return err
		}
	}
	for i := range b.Documents {
		w.document(&b.Documents[i])
	}
	for i := range b.Counters {
		c, err := w.sum(b.Counters[i].Name)
		if err != nil {
			return err
		}
		c.value += b.Counters[i].Delta
		w.changedSum(b.Counters[i].Name, c)
	}
	for i := range b.Outbox {
		w.entry(&b.Outbox[i])
	}
	w.snapshot(b.Stream, b.Snapshot, h)
	return nil
}

func (w *writeTx) putEvents(b *persistence.Batch, h *head) {
	for i := range b.Events {
		e := &b.Events[i]
		h.tip = w.chainer.next(h.tip, e.Seq, e.At, e.Kind, e.Data)
		w.key = eventKey(w.key[:0], b.Stream, e.Seq)
		w.set(w.events, w.key, encodeEvent(w.key, w.take(eventSize(e)), h.tip, e))
		h.last = e.Seq
	}
}

func (w *writeTx) document(op *persistence.DocumentOp) {
	docs := w.named(w.documents, prefixDocuments, op.Collection)
	w.key = append(w.key[:0], op.Key...)
	if op.Data == nil {
		w.remove(docs, w.key)
		return
	}
	v := w.value(len(op.Data))
	copy(v[sealSize:], op.Data)
	w.set(docs, w.key, seal(w.key, v))
}

func (w *writeTx) entry(op *persistence.OutboxOp) {
	w.key = append(w.key[:0], op.ID...)
	if op.Done {
		w.remove(w.outbox, w.key)
		return
	}
	v := w.value(len(op.Data))
	copy(v[sealSize:], op.Data)
	w.set(w.outbox, w.key, seal(w.key, v))
}

func (w *writeTx) snapshot(stream string, s *persistence.Snapshot, h *head) {
	if s == nil {
		return
	}
	w.key = append(w.key[:0], stream...)
	v := w.value(12 + len(s.Data))
	binary.BigEndian.PutUint64(v[sealSize:], s.Seq)
	binary.BigEndian.PutUint32(v[sealSize+8:], s.Version)
	copy(v[sealSize+12:], s.Data)
	h.snapSeq, h.hasSnap = s.Seq, true
	w.changedHead(stream, h)
	w.set(w.snapshots, w.key, seal(w.key, v))
}

// Acquire implements persistence.Store.
func (s *Store) Acquire(ctx context.Context, stream string, view uint64) (persistence.Lease, error) {
	const what = "acquire"
	if err := s.enter(); err != nil {
		return persistence.Lease{}, fmt.Errorf("%s: %w", what, err)
	}
	defer s.leave()
	if err := validStream(stream); err != nil {
		return persistence.Lease{}, fmt.Errorf("%s: %w", what, err)
	}
	lease := new(persistence.Lease) // not the result: the committer may write it after ctx has ended
	err := s.committer.do(ctx, what, len(stream), func(w *writeTx) error { return w.acquire(stream, view, lease) })
	if err != nil {
		return persistence.Lease{}, err
	}
	return *lease, nil
}

func (w *writeTx) acquire(stream string, view uint64, lease *persistence.Lease) error {
	h, err := w.head(stream)
	if err != nil {
		return err
	}
	if view < h.view {
		return fmt.Errorf("%s: view %d is older than %d: %w", stream, view, h.view, persistence.ErrStaleView)
	}
	snapshot, err := w.loadSnapshot(stream, h)
	if err != nil {
		return err
	}
	h.known = true
	h.epoch++
	h.view = view
	w.changedHead(stream, h)
	w.touched = true
	*lease = persistence.Lease{Epoch: h.epoch, Last: h.last, Snapshot: snapshot}
	return nil
}

// loadSnapshot returns the stream's snapshot. A damaged one is as good as none, unless the log alone is not enough.
func (w *writeTx) loadSnapshot(stream string, h *head) (*persistence.Snapshot, error) {
	if !h.hasSnap {
		return nil, nil
	}
	w.key = append(w.key[:0], stream...)
	snapshot, err := decodeSnapshot(w.key, w.snapshots.get(w.key))
	if errors.Is(err, persistence.ErrDamaged) && h.first == 1 {
		return nil, nil
	}
	return snapshot, err
}
