package bolt

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"parley/persistence"
)

// logged is a store whose last n batches, of one event each, are only in its log.
func logged(t *testing.T, n int) *Store {
	t.Helper()
	s := tuned(t, filepath.Join(t.TempDir(), "parley.db"), nil, inLog)
	t.Cleanup(func() { _ = s.Close() })
	lease, err := s.Acquire(t.Context(), "agency/a", 0)
	if err != nil {
		t.Fatal(err)
	}
	for i := range uint64(n) {
		if err := s.Append(t.Context(), []*persistence.Batch{message("agency/a", lease.Epoch, i, fmt.Appendf(nil, "message %d", i+1))})[0]; err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// crashed copies the files of an open store to a folder of their own, as the end of the process would leave them.
func crashed(t *testing.T, s *Store) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), filepath.Base(s.path))
	files, err := filepath.Glob(logBase(s.path) + "*")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range append(files, s.path) {
		copyFile(t, name, filepath.Join(filepath.Dir(path), filepath.Base(name)))
	}
	return path
}

// copyFile copies a file without the zeros at its end, which only make a hole.
func copyFile(t *testing.T, from, to string) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, bytes.TrimRight(b, "\x00"), 0o600)
	}
	if err == nil {
		err = os.Truncate(to, int64(len(b)))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// frames returns where the records of a segment begin, and where the last one ends.
func frames(t *testing.T, path string) []int64 {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	header := make([]byte, headerSize)
	if _, err := f.ReadAt(header, 0); err != nil {
		t.Fatal(err)
	}
	g, _, err := decodeHeader(header)
	if err != nil {
		t.Fatal(err)
	}
	g.f = f
	r, err := newFrameReader(&g)
	if err != nil {
		t.Fatal(err)
	}
	at := []int64{firstFrame}
	for {
		_, frame, err := r.read(at[len(at)-1])
		if err != nil {
			t.Fatal(err)
		}
		if frame == nil {
			return at
		}
		at = append(at, at[len(at)-1]+int64(len(frame)))
	}
}

// lastEvent returns the last sequence that the file and the log beside it have, without changing either.
func lastEvent(t *testing.T, db *bbolt.DB, path string) (last uint64, err error) {
	t.Helper()
	s, err := withLog(db, path)
	if err != nil {
		return 0, err
	}
	err = s.read(func(v *view) error {
		h, err := loadHead(v, "agency/a")
		last = h.last
		return err
	})
	return last, err
}

// TestTornLog cuts a log, fills it with zeros and changes its bits, at every byte of the last record, of one before, and
// of the header.
func TestTornLog(t *testing.T) {
	t.Parallel()
	const batches = 5
	path := crashed(t, logged(t, batches))
	name := slotPath(logBase(path), 0)
	whole, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	at := frames(t, name)
	whole = whole[:at[len(at)-1]+100]
	db, err := openFile(t.Context(), path, true, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	check := func(what string, i int64, damaged []byte, want uint64, wantErr error) {
		t.Helper()
		if err := os.WriteFile(name, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		last, err := lastEvent(t, db, path)
		if !errors.Is(err, wantErr) || (wantErr == nil && (err != nil || last != want)) {
			t.Errorf("%s at %d: last %d, %v; want %d, %v", what, i, last, err, want, wantErr)
		}
	}
	flipped := func(i int64) []byte {
		b := bytes.Clone(whole)
		b[i] ^= 1 << (i % 8)
		return b
	}
	check("nothing", 0, whole, batches, nil)
	n := len(at) - 2 // the last record
	end := at[n] + frameSize
	end += int64(binary.BigEndian.Uint64(whole[at[n]+8:])) // without its padding
	for i := at[n]; i < end; i++ {
		check("cut", i, whole[:i], batches-1, nil)
		check("flip", i, flipped(i), batches-1, nil)
		if zeroed := append(bytes.Clone(whole[:i]), make([]byte, int64(len(whole))-i)...); !bytes.Equal(zeroed[:end], whole[:end]) {
			check("zeros", i, zeroed, batches-1, nil)
		}
	}
	length := int64(binary.BigEndian.Uint64(whole[at[n-1]+8:]))
	for i := at[n-1]; i < at[n-1]+frameSize+length; i++ {
		check("flip before the end", i, flipped(i), 0, persistence.ErrDamaged)
	}
	for i := range int64(headerSize) {
		check("flip in the header", i, flipped(i), 0, persistence.ErrDamaged)
	}
	check("cut header", 100, whole[:100], 0, persistence.ErrDamaged)
	check("no header", 0, make([]byte, len(whole)), 0, persistence.ErrDamaged)
}

// TestOpenAfterCrash replays a log, keeps what is whole and leaves a file that needs none.
func TestOpenAfterCrash(t *testing.T) {
	t.Parallel()
	path := crashed(t, logged(t, 20))
	name := slotPath(logBase(path), 0)
	at := frames(t, name)
	if err := os.Truncate(name, at[len(at)-1]-frameAlign-1); err != nil {
		t.Fatal(err)
	}
	if err := Check(t.Context(), path); err != nil {
		t.Errorf("check: %v", err)
	}
	s := open(t, path, nil)
	if _, err := s.Verify(t.Context()); err != nil {
		t.Error(err)
	}
	if _, last, err := s.Head(t.Context(), "agency/a"); last != 19 || err != nil {
		t.Errorf("last %d, %v", last, err)
	}
	onlyStore(t, path)
	lease, err := s.Acquire(t.Context(), "agency/a", 0)
	if err != nil || lease.Epoch != 2 {
		t.Fatal(lease, err)
	}
	if err := s.Append(t.Context(), []*persistence.Batch{message("agency/a", lease.Epoch, 19, nil)})[0]; err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	onlyStore(t, path)
}

func onlyStore(t *testing.T, path string) {
	t.Helper()
	left, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(left) != 1 || left[0].Name() != filepath.Base(path) {
		t.Errorf("the folder holds %v, %v", left, err)
	}
}

// TestOpenRefusesLogs opens stores with a log that is not theirs or not there.
func TestOpenRefusesLogs(t *testing.T) {
	t.Parallel()
	slot := func(path string, n int) string { return slotPath(logBase(path), n) }
	other := crashed(t, logged(t, 1))
	backup := func(t *testing.T, s *Store, path string) {
		t.Helper()
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Backup(t.Context(), f); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	tests := []struct {
		name string
		path func(t *testing.T) string
		want error
		says string
	}{
		{"no log", func(t *testing.T) string {
			path := crashed(t, logged(t, 3))
			if err := os.Remove(slot(path, 0)); err != nil {
				t.Fatal(err)
			}
			return path
		}, persistence.ErrDamaged, "missing"},
		{"an empty log", func(t *testing.T) string {
			path := crashed(t, logged(t, 3))
			if err := os.Truncate(slot(path, 0), 0); err != nil {
				t.Fatal(err)
			}
			return path
		}, persistence.ErrDamaged, "missing"},
		{"the log of another store", func(t *testing.T) string {
			path := crashed(t, logged(t, 3))
			copyFile(t, slot(other, 0), slot(path, 0))
			return path
		}, persistence.ErrForeign, "another store"},
		{"the log of another store as well", func(t *testing.T) string {
			path := crashed(t, logged(t, 3))
			copyFile(t, slot(other, 0), slot(path, 1))
			return path
		}, persistence.ErrForeign, "another store"},
		{"a closed store and the log of another", func(t *testing.T) string {
			path := filepath.Join(t.TempDir(), "parley.db")
			if err := open(t, path, nil).Close(); err != nil {
				t.Fatal(err)
			}
			copyFile(t, slot(other, 0), slot(path, 0))
			return path
		}, persistence.ErrForeign, "another store"},
		{"a backup and the later log of its store", func(t *testing.T) string {
			s := logged(t, 3)
			backed := filepath.Join(t.TempDir(), "backup.db")
			backup(t, s, backed)
			lease, err := s.Acquire(t.Context(), "agency/a", 0)
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Append(t.Context(), []*persistence.Batch{message("agency/a", lease.Epoch, 3, nil)})[0]; err != nil {
				t.Fatal(err)
			}
			path := crashed(t, s)
			copyFile(t, backed, path)
			return path
		}, persistence.ErrForeign, "later records"},
		{"something else", func(t *testing.T) string {
			path := crashed(t, logged(t, 3))
			if err := os.WriteFile(slot(path, 2), []byte("hello"), 0o600); err != nil {
				t.Fatal(err)
			}
			return path
		}, persistence.ErrDamaged, "restore a backup"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			path := test.path(t)
			before := folder(t, path)
			s, err := Open(t.Context(), Options{Path: path})
			if err == nil {
				_ = s.Close()
				t.Fatal("opened")
			}
			if !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.says) || !strings.Contains(err.Error(), logBase(path)) {
				t.Errorf("got %v, want %v about %s and %q", err, test.want, logBase(path), test.says)
			}
			if err := Check(t.Context(), path); !errors.Is(err, test.want) {
				t.Errorf("check: %v", err)
			}
			if after := folder(t, path); after != before {
				t.Error("the files have changed")
			}
		})
	}
}

// folder returns the names and contents of a store's folder.
func folder(t *testing.T, path string) string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(filepath.Dir(path), e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all.WriteString(e.Name())
		all.Write(b)
	}
	return all.String()
}

// TestOpenIgnoresACoveredLog has a store that was closed, but killed before it had removed its log.
func TestOpenIgnoresACoveredLog(t *testing.T) {
	t.Parallel()
	s := logged(t, 3)
	path := crashed(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	copyFile(t, s.path, path)
	again := open(t, path, nil)
	defer func() { _ = again.Close() }()
	if _, last, err := again.Head(t.Context(), "agency/a"); last != 3 || err != nil {
		t.Errorf("last %d, %v", last, err)
	}
	onlyStore(t, path)
}

// TestOpenAfterEachStep copies the files whenever the log is about to be made durable, and opens every copy.
func TestOpenAfterEachStep(t *testing.T) {
	t.Parallel()
	var s *Store
	var copies []string
	tune := inLog
	tune.sync = func(f *os.File) error {
		copies = append(copies, crashed(t, s))
		return flush(f)
	}
	s = tuned(t, filepath.Join(t.TempDir(), "parley.db"), nil, tune)
	defer func() { _ = s.Close() }()
	acquired := make([]int, 0, 6) // copies that there were when the acquisition was acknowledged
	for i := range 6 {
		if _, err := s.Acquire(t.Context(), "agency/a", 0); err != nil {
			t.Fatal(err)
		}
		acquired = append(acquired, len(copies))
		switch i % 3 {
		case 1:
			if err := s.committer.checkpoint(t.Context()); err != nil {
				t.Fatal(err)
			}
		case 2:
			inFile(t, s)
		}
	}
	for i, path := range copies {
		sure := uint64(0)
		for _, n := range acquired {
			if n <= i {
				sure++
			}
		}
		again := open(t, path, nil)
		lease, err := again.Acquire(t.Context(), "agency/a", 0)
		if err != nil || lease.Epoch <= sure || lease.Epoch > sure+2 {
			t.Errorf("step %d: epoch %d with %d acknowledged, %v", i, lease.Epoch, sure, err)
		}
		if err := again.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestUpgrade opens a file of the layout that had no log.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "parley.db")
	s := sample(t, path)
	err := inFile(t, s).Update(func(tx *bbolt.Tx) error {
		b := tx.Bucket(bucketMeta)
		return errors.Join(b.Put(metaSchema, []byte{0, 0, 0, 1}), b.Delete(metaID), b.Delete(metaLog))
	})
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	if err := Check(t.Context(), path); err != nil {
		t.Errorf("check of the old file: %v", err)
	}
	s = open(t, path, nil)
	if r, err := s.Verify(t.Context()); err != nil || r.Events != 6 {
		t.Errorf("verify: %+v, %v", r, err)
	}
	if _, err := s.Acquire(t.Context(), "agency/a", 0); err != nil {
		t.Fatal(err)
	}
	crash := crashed(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, crash, nil)
	defer func() { _ = s.Close() }()
	if lease, err := s.Acquire(t.Context(), "agency/a", 0); err != nil || lease.Epoch != 3 || lease.Last != 10 {
		t.Errorf("lease %+v, %v", lease, err)
	}
}

// TestRedoInParts replays more than one overlay takes, over several segments, and again after a crash in the middle.
func TestRedoInParts(t *testing.T) {
	t.Parallel()
	s := tuned(t, filepath.Join(t.TempDir(), "parley.db"), nil, inLog)
	defer func() { _ = s.Close() }()
	lease, err := s.Acquire(t.Context(), "agency/a", 0)
	if err != nil {
		t.Fatal(err)
	}
	const events = 45
	data := make([]byte, 1<<20)
	for i := range uint64(events) {
		b := &persistence.Batch{Stream: "agency/a", Epoch: lease.Epoch, Expect: i, Events: []persistence.Event{{Seq: i + 1, Data: data}},
			Counters: []persistence.CounterOp{{Name: "n", Delta: 1}}}
		if err := s.Append(t.Context(), []*persistence.Batch{b})[0]; err != nil {
			t.Fatal(err)
		}
		if i == 20 || i == 40 {
			deadline := time.Now().Add(10 * time.Second)
			for s.stack.busy() && time.Now().Before(deadline) {
				time.Sleep(time.Millisecond)
			}
		}
	}
	path := crashed(t, s)
	for range 2 {
		again := open(t, path, nil)
		if _, err := again.Verify(t.Context()); err != nil {
			t.Error(err)
		}
		if _, last, err := again.Head(t.Context(), "agency/a"); last != events || err != nil {
			t.Errorf("last %d, %v", last, err)
		}
		if all, err := again.Counters(t.Context()); all["n"] != events || err != nil {
			t.Errorf("counters %v, %v", all, err)
		}
		if err := again.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
