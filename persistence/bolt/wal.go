package bolt

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"go.etcd.io/bbolt"
)

// maxSegments is the largest number of files of the log: one that grows, one whose records are being moved to the store's
// file, and one to go on with.
const maxSegments = 3

// wal is the log: what it has on disk is committed, long before the store's file has it. Its files are used in turns.
type wal struct {
	db   *bbolt.DB
	base string // names of the files, without the slot
	id   storeID
	sync func(*os.File) error

	// These belong to the committer.
	current *segment // nil until there is something to write
	index   uint64   // of the newest segment
	tried   uint64   // number of the last record that was written, on disk or not
	armed   bool     // the store's file says that it needs the log

	mu   sync.Mutex
	free []*segment // files without a record that is needed, the oldest first
	all  []*segment // of every file
}

// logBase returns the names of the files of a store's log, up to the slot: parley.db has parley.wal-0 and so on.
func logBase(path string) string { return strings.TrimSuffix(path, ".db") + ".wal-" }

func slotPath(base string, slot int) string { return base + strconv.Itoa(slot) }

// append makes a record durable. What it writes and does not finish is overwritten by the next.
func (l *wal) append(number uint64, r *recorder) error {
	if l.current == nil {
		if err := l.open(number); err != nil {
			return fmt.Errorf("begin a log: %w", err)
		}
	}
	if !l.armed {
		// The segment is on disk by now: the file never asks for a log that is not there.
		if err := l.db.Update(func(tx *bbolt.Tx) error { return putLogState(tx, logState{covered: number - 1, open: true}) }); err != nil {
			return fmt.Errorf("mark the store as open: %w", err)
		}
		l.armed = true
	}
	l.tried = number
	if err := l.current.append(r.frame(&l.current.salt, number), l.sync); err != nil {
		return fmt.Errorf("write the log: %w", err)
	}
	return nil
}

// open begins a segment, in a file that is free or in a new one.
func (l *wal) open(first uint64) (err error) {
	g, err := l.take()
	if err != nil {
		return err
	}
	l.index++ // also when it fails: its header may be on disk, and must not pass for that of the next try
	if err := g.start(l.id, l.index, first, l.sync); err != nil {
		l.release(g)
		return err
	}
	l.current = g
	return nil
}

func (l *wal) take() (*segment, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.free) > 0 {
		g := l.free[0]
		l.free = l.free[1:]
		return g, nil
	}
	if len(l.all) == maxSegments {
		return nil, errors.New("every file of the log is in use")
	}
	path := slotPath(l.base, len(l.all))
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, fileMode)
	if err != nil {
		return nil, err
	}
	if err := syncFolder(filepath.Dir(path)); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	g := &segment{f: f}
	l.all = append(l.all, g)
	return g, nil
}

// seal moves the active overlay into the file and marks that as complete. The committer calls it, or nobody else runs;
// there must be no frozen overlay. The next record marks the file as open again.
func (l *wal) seal(s *stack, c *checkpointer) error {
	if !l.armed {
		return nil // since then there was no record
	}
	// A record that failed may be on disk nevertheless. It counts as covered, lest it look like one that is missing.
	s.published.Store(max(s.published.Load(), l.tried))
	o := s.freeze()
	o.last, o.segment = s.published.Load(), l.detach()
	if err := c.attempt(o, false); err != nil {
		return err
	}
	l.armed = false
	return nil
}

// detach ends the current segment and returns it; the next record begins another.
func (l *wal) detach() *segment {
	g := l.current
	l.current = nil
	return g
}

// release takes back a segment whose records are all in the store's file; nil is none.
func (l *wal) release(g *segment) {
	if g == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.free = append(l.free, g)
}

// close closes the files and, when the store's file has everything, removes them.
func (l *wal) close(remove bool) error {
	var errs []error
	for _, g := range l.all {
		errs = append(errs, g.f.Close())
		if remove {
			errs = append(errs, os.Remove(g.f.Name()))
		}
	}
	return errors.Join(errs...)
}
