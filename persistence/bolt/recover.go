package bolt

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math"
	"os"
	"slices"

	"go.etcd.io/bbolt"

	"parley/persistence"
)

// history is the log that a store finds beside itself, as a crash or a clean end has left it.
type history struct {
	path     string // of the store's file
	state    logState
	segments []*segment // in the order of their use, with their files
	files    []string   // of all segments, also those that were never used
}

// openHistory opens the log beside a store for reading. It changes nothing.
func openHistory(db *bbolt.DB, path string) (*history, error) {
	id, state, err := readLogState(db, path)
	if err != nil {
		return nil, err
	}
	h := &history{path: path, state: state}
	for slot := range maxSegments {
		if err := h.add(slotPath(logBase(path), slot), id); err != nil {
			h.close()
			return nil, err
		}
	}
	slices.SortFunc(h.segments, func(a, b *segment) int { return cmp.Compare(a.index, b.index) })
	return h, nil
}

// add opens a file of the log, if it is there.
func (h *history) add(path string, id storeID) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open the log: %w", err)
	}
	b := make([]byte, headerSize)
	n, err := io.ReadFull(f, b)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.Join(fmt.Errorf("read the log: %w", err), f.Close())
	}
	g, blank, err := decodeHeader(b[:n])
	switch {
	case err != nil:
		err = fmt.Errorf("%s, a part of the log of %s, does not read back, nothing was changed; restore a backup: %w", path, h.path, err)
	case blank:
	case g.id != id:
		err = fmt.Errorf("%s is the log of another store than %s, nothing was changed; move it away: %w", path, h.path,
			persistence.ErrForeign)
	}
	if err != nil {
		return errors.Join(err, f.Close())
	}
	h.files = append(h.files, path)
	if blank {
		return f.Close()
	}
	g.f = f
	h.segments = append(h.segments, &g)
	return nil
}

func (h *history) close() {
	for _, g := range h.segments {
		_ = g.f.Close() // only read
	}
	h.segments = nil
}

// remove deletes the files, all of which the store's file has. What stays is removed at the next start.
func (h *history) remove() {
	h.close()
	for _, path := range h.files {
		_ = os.Remove(path)
	}
}

// relevant returns the segments that can have records which the store's file does not.
func (h *history) relevant() ([]*segment, error) {
	next := h.state.covered + 1
	from := -1
	for i, g := range h.segments {
		if g.first <= next {
			from = i
		}
	}
	switch {
	case from >= 0:
		return h.segments[from:], nil
	case h.state.open:
		return nil, fmt.Errorf("%s was not closed and its log %s… is missing, nothing was changed; put the log back or restore a backup: %w",
			h.path, logBase(h.path), persistence.ErrDamaged)
	case len(h.segments) > 0:
		return nil, h.stale()
	}
	return nil, nil
}

func (h *history) stale() error {
	return fmt.Errorf("%s is complete by itself, yet the log %s… has later records, nothing was changed; "+
		"move the log away, or put back the file that it belongs to: %w", h.path, logBase(h.path), persistence.ErrForeign)
}

// replay shows every change of the records that the store's file does not have, in their order, and returns the number of
// the last record. It fails when one is missing; what a crash cut off at the very end was never acknowledged.
func (h *history) replay(visit func(number uint64, bucket string, key, value []byte) error) (last uint64, err error) {
	segments, err := h.relevant()
	if err != nil {
		return 0, err
	}
	last = h.state.covered
	for i, g := range segments {
		limit := uint64(math.MaxUint64) // the first number that does not count here
		if i+1 < len(segments) {
			limit = segments[i+1].first
		}
		next, err := h.segment(g, limit, visit)
		if err != nil {
			return last, err
		}
		last = max(last, next-1)
		if i+1 < len(segments) && next < limit {
			return last, h.damaged(g, next)
		}
	}
	if last > h.state.covered && !h.state.open {
		return last, h.stale()
	}
	return last, nil
}

func (h *history) damaged(g *segment, number uint64) error {
	return fmt.Errorf("record %d in %s does not read back, but later ones are there; nothing was changed; restore a backup: %w",
		number, g.f.Name(), persistence.ErrDamaged)
}

// segment replays one segment and returns the number behind its last record.
func (h *history) segment(g *segment, limit uint64, visit func(number uint64, bucket string, key, value []byte) error) (uint64, error) {
	r, err := newFrameReader(g)
	if err != nil {
		return 0, err
	}
	next, at := g.first, int64(firstFrame)
	for ; next < limit; next++ {
		number, frame, err := r.read(at)
		if err != nil {
			return 0, err
		}
		if frame == nil || number != next {
			break
		}
		if next > h.state.covered {
			changes := frame[frameSize : frameSize+frameLength(frame)]
			err := decodeRecord(changes, func(bucket string, key, value []byte) error { return visit(number, bucket, key, value) })
			if err != nil {
				return 0, fmt.Errorf("record %d in %s: %w", number, g.f.Name(), err)
			}
		}
		at += int64(len(frame))
	}
	if next >= limit {
		return next, nil
	}
	later, err := r.search(at, max(next, h.state.covered))
	switch {
	case err != nil:
		return 0, err
	case later:
		return 0, h.damaged(g, next)
	}
	return next, nil
}

// recoverLog brings the store's file up to the end of the log and removes the log. Everything is read and checked before
// anything is changed. It returns the number of the last record.
func recoverLog(db *bbolt.DB, path string, log *slog.Logger) (uint64, error) {
	h, err := openHistory(db, path)
	if err != nil {
		return 0, err
	}
	defer h.close()
	changes := 0
	last, err := h.replay(func(uint64, string, []byte, []byte) error { changes++; return nil })
	if err != nil {
		return 0, err
	}
	if err := upgrade(db); err != nil {
		return 0, fmt.Errorf("bring %s up to date: %w", path, err)
	}
	if h.state.open {
		if err := h.redo(db, last); err != nil {
			return 0, fmt.Errorf("bring %s up to its log: %w", path, err)
		}
		log.Info("the store was not closed; continuing from its log", "path", path, "records", last-h.state.covered, "changes", changes)
	}
	h.remove()
	return last, nil
}

// withLog returns the state of a store whose file is only read: what its log has is in memory.
func withLog(db *bbolt.DB, path string) (*stack, error) {
	h, err := openHistory(db, path)
	if err != nil {
		return nil, err
	}
	defer h.close()
	s := newStack(db, 0)
	last, err := h.replay(func(number uint64, bucket string, key, value []byte) error {
		s.active.redo(number, bucket, key, value)
		return nil
	})
	s.published.Store(last)
	return s, err
}

// redo writes the records to the store's file, a part at a time.
func (h *history) redo(db *bbolt.DB, last uint64) error {
	o := newOverlay()
	_, err := h.replay(func(number uint64, bucket string, key, value []byte) error {
		if number > o.last && o.size.Load() >= freezeBytes { // a whole record is the least that the file has
			if err := writeOverlay(db, o, logState{covered: o.last, open: true}); err != nil {
				return err
			}
			o = newOverlay()
		}
		o.redo(number, bucket, key, value)
		return nil
	})
	if err != nil {
		return err
	}
	return writeOverlay(db, o, logState{covered: last})
}

// redo applies a change that was read from the log. It copies.
func (o *overlay) redo(number uint64, bucket string, key, value []byte) {
	if value != nil {
		v := o.arena.take(len(value))
		copy(v, value)
		value = v
	}
	o.put(o.make(bucket), number, key, value)
	o.last = number
}
