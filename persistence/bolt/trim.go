package bolt

import (
	"context"
	"fmt"
	"math"
	"time"

	"parley/persistence"
)

// Trim implements persistence.Store. A long trim takes several rounds, between which others write; when it fails
// half way, what is dropped stays dropped.
func (s *Store) Trim(ctx context.Context, stream string, upTo uint64, before time.Time) (int, error) {
	const what = "trim"
	if err := s.enter(); err != nil {
		return 0, fmt.Errorf("%s: %w", what, err)
	}
	defer s.leave()
	if err := validStream(stream); err != nil {
		return 0, fmt.Errorf("%s: %w", what, err)
	}
	limit := int64(math.MaxInt64)
	if !before.IsZero() {
		limit = before.UnixMilli()
	}
	total := 0
	for {
		n := new(int) // the committer may write it after ctx has ended
		err := s.committer.do(ctx, what, len(stream), func(w *writeTx) (err error) {
			*n, err = w.trim(stream, upTo, limit)
			return err
		})
		if err != nil {
			return total, err
		}
		total += *n
		if *n < maxTrim {
			return total, nil
		}
	}
}

// trim drops up to maxTrim of the oldest events. It stops at the first one that is to stay, so the log never gets a hole.
func (w *writeTx) trim(stream string, upTo uint64, before int64) (int, error) {
	h, err := w.head(stream)
	if err != nil || !h.hasSnap {
		return 0, err
	}
	w.key = append(w.key[:0], stream...)
	if _, err := unseal(w.key, w.snapshots.get(w.key)); err != nil {
		return 0, err // what does not read back covers nothing
	}
	upTo = min(upTo, h.snapSeq, h.last)
	base, n := h.base, 0
	for seq := h.first; seq <= upTo && n < maxTrim; seq++ {
		w.key = eventKey(w.key[:0], stream, seq)
		v := w.events.get(w.key)
		if v == nil {
			return 0, fmt.Errorf("event %d of %s is missing: %w", seq, stream, persistence.ErrDamaged)
		}
		e, err := decodeEvent(w.key, v)
		if err != nil {
			return 0, err
		}
		if e.at >= before {
			break
		}
		base = e.chain
		n++
	}
	for seq := h.first; seq < h.first+uint64(n); seq++ {
		w.key = eventKey(w.key[:0], stream, seq)
		w.remove(w.events, w.key)
	}
	if n > 0 {
		h.first += uint64(n)
		h.base = base
		w.changedHead(stream, h)
		w.touched = true
	}
	return n, nil
}
