package bolt

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"go.etcd.io/bbolt"

	"parley/persistence"
)

// Report is what Verify found.
type Report struct {
	Streams   int
	Events    int
	Snapshots int
	Documents int
	Claims    int
	Outbox    int

	Problems int      // number of things that are wrong
	Details  []string // the first hundred of them, a sentence each
}

func (r *Report) problem(form string, args ...any) {
	r.Problems++
	if len(r.Details) < maxProblems {
		r.Details = append(r.Details, fmt.Sprintf(form, args...))
	}
}

// Rows that one transaction of Verify looks at: a long one keeps the committer from using space again.
const (
	verifyStreams = 64
	verifyRows    = 10_000
)

// Verify reads everything: every stream's events with their chain of hashes, and the checksum of every value. It runs
// while the store is in use. The error is ErrDamaged when the report has problems.
func (s *Store) Verify(ctx context.Context) (Report, error) {
	const what = "verify"
	if err := s.enter(); err != nil {
		return Report{}, fmt.Errorf("%s: %w", what, err)
	}
	defer s.leave()
	return verify(ctx, s.stack)
}

// Check opens a copy of a store, such as a backup, without changing it, and returns nil when everything in it is whole:
// its pages, its events with their hashes, and every value. A store that was not closed is checked with its log.
func Check(ctx context.Context, path string) (err error) {
	db, err := openFile(ctx, path, true, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	stack, err := withLog(db, path)
	if err != nil {
		return err
	}
	var found []error
	err = guardView(db, func(tx *bbolt.Tx) error {
		for e := range tx.Check() {
			if len(found) < maxProblems {
				found = append(found, e)
			}
		}
		return nil
	})
	if err == nil && len(found) > 0 {
		err = fmt.Errorf("%w: %w", persistence.ErrDamaged, errors.Join(found...))
	}
	if err == nil {
		_, err = verify(ctx, stack)
	}
	if err != nil {
		return fmt.Errorf("%s is damaged; use another backup: %w", path, err)
	}
	return nil
}

func verify(ctx context.Context, s *stack) (Report, error) {
	v := verifier{ctx: ctx, stack: s, chainer: newChainer()}
	steps := []func() error{
		v.streams,
		func() error { return v.rows(bucketSnapshots, &v.report.Snapshots, rowSnapshot) },
		func() error { return v.rows(bucketOutbox, &v.report.Outbox, rowValue) },
		func() error { return v.rows(bucketCounters, nil, rowCounter) },
		v.named,
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return v.report, fmt.Errorf("verify: %w", err)
		}
	}
	if v.report.Problems > 0 {
		return v.report, fmt.Errorf("verify: %d problems, the first: %s: %w",
			v.report.Problems, v.report.Details[0], persistence.ErrDamaged)
	}
	return v.report, nil
}

type verifier struct {
	ctx     context.Context
	stack   *stack
	chainer *chainer
	report  Report
}

// pages calls visit for every row of a bucket, in transactions of up to limit rows.
func (v *verifier) pages(bucket []byte, limit int, visit func(now *view, k, val []byte)) error {
	var after []byte
	for more := true; more; {
		if v.ctx.Err() != nil {
			return fmt.Errorf("%w: %w", persistence.ErrUnavailable, context.Cause(v.ctx))
		}
		err := v.stack.read(func(now *view) error {
			more = false
			t := now.table(bucket)
			rows := t.from(after)
			for n := 0; ; n++ {
				k, val := rows.next()
				if k == nil {
					return nil
				}
				if n == limit {
					more = true
					after = bytes.Clone(k)
					return nil
				}
				visit(now, k, val)
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// streams checks every stream with its log.
func (v *verifier) streams() error {
	return v.pages(bucketStreams, verifyStreams, func(now *view, k, val []byte) {
		v.report.Streams++
		h, err := decodeHead(k, val)
		if err != nil {
			v.report.problem("%v", err)
			return
		}
		v.log(now, string(k), h)
		if snapshots := now.table(bucketSnapshots); h.hasSnap != (snapshots.get(k) != nil) {
			v.report.problem("stream %q and its snapshot do not agree", k)
		}
		if h.first != 1 && (!h.hasSnap || h.snapSeq+1 < h.first) {
			v.report.problem("stream %q is trimmed to %d, its snapshot does not cover that", k, h.first)
		}
	})
}

// log walks the events of one stream along their chain.
func (v *verifier) log(now *view, stream string, h head) {
	next, link := h.first, h.base
	t := now.table(bucketEvents)
	rows := t.from(eventKey(nil, stream, 0))
	for k, val := rows.next(); k != nil; k, val = rows.next() {
		seq, ok := seqOf(stream, k)
		if !ok {
			break
		}
		if seq != next {
			v.report.problem("stream %q: event %d where %d should be", stream, seq, next)
			return
		}
		e, err := decodeEvent(k, val)
		if err != nil {
			v.report.problem("stream %q: event %d: %v", stream, seq, err)
			return
		}
		link = v.chainer.next(link, seq, e.at, string(e.kind), e.data)
		if link != e.chain {
			v.report.problem("stream %q: event %d does not follow from the ones before it", stream, seq)
			return
		}
		if seq == h.last && link != h.tip {
			v.report.problem("stream %q: event %d is not the one that its record knows", stream, seq)
		}
		v.report.Events++
		next++
	}
	if next <= h.last {
		v.report.problem("stream %q ends at %d, its record knows %d", stream, next-1, h.last)
	}
	if h.hasSnap && h.snapSeq >= next {
		v.report.problem("stream %q ends at %d, its snapshot is of %d", stream, next-1, h.snapSeq)
	}
}

func rowValue(k, val []byte) error {
	_, err := unseal(k, val)
	return err
}

func rowSnapshot(k, val []byte) error {
	_, err := decodeSnapshot(k, val)
	return err
}

func rowCounter(k, val []byte) error {
	_, err := decodeCounter(k, val)
	return err
}

func rowClaim(k, val []byte) error {
	_, err := decodeClaim(k, val)
	return err
}

// rows checks every value of a bucket; count may be nil.
func (v *verifier) rows(bucket []byte, count *int, check func(k, val []byte) error) error {
	return v.pages(bucket, verifyRows, func(_ *view, k, val []byte) {
		if count != nil {
			*count++
		}
		if err := check(k, val); err != nil {
			v.report.problem("%s: %v", bucket, err)
		}
	})
}

// named checks the buckets of collections and indexes.
func (v *verifier) named() error {
	var names []string
	err := v.stack.read(func(now *view) (err error) {
		names, err = now.buckets()
		return err
	})
	if err != nil {
		return err
	}
	for _, name := range names {
		switch {
		case strings.HasPrefix(name, prefixDocuments):
			err = v.rows([]byte(name), &v.report.Documents, rowValue)
		case strings.HasPrefix(name, prefixClaims):
			err = v.rows([]byte(name), &v.report.Claims, rowClaim)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
