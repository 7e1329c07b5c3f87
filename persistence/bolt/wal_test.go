//go:build linux

package bolt

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"parley/persistence"
)

// TestFailedSync has the disk refuse to make a record durable: it is not there, and what comes in its place replaces it.
func TestFailedSync(t *testing.T) {
	t.Parallel()
	var broken atomic.Bool
	tune := inLog
	tune.sync = func(f *os.File) error {
		if broken.Load() {
			return errors.New("the disk is gone")
		}
		return flush(f)
	}
	s := tuned(t, filepath.Join(t.TempDir(), "parley.db"), nil, tune)
	defer func() { _ = s.Close() }()
	lease, err := s.Acquire(t.Context(), "agency/a", 0)
	if err != nil {
		t.Fatal(err)
	}
	post := func(data string) error {
		b := message("agency/a", lease.Epoch, 0, []byte(data))
		b.Counters = []persistence.CounterOp{{Name: data, Delta: 1}}
		return s.Append(t.Context(), []*persistence.Batch{b})[0]
	}
	broken.Store(true)
	for range 3 {
		if err := post("a long message that is not acknowledged"); !errors.Is(err, persistence.ErrUnavailable) {
			t.Fatalf("append: %v", err)
		}
	}
	if err := s.Ready(t.Context()); !errors.Is(err, persistence.ErrUnavailable) {
		t.Errorf("ready: %v", err)
	}
	if _, last, err := s.Head(t.Context(), "agency/a"); last != 0 || err != nil {
		t.Errorf("last %d, %v", last, err)
	}
	broken.Store(false)
	if err := s.Ready(t.Context()); err != nil {
		t.Errorf("ready: %v", err)
	}
	if err := post("short"); err != nil {
		t.Fatal(err)
	}
	again := open(t, crashed(t, s), nil)
	defer func() { _ = again.Close() }()
	for _, s := range []*Store{s, again} {
		if _, err := s.Verify(t.Context()); err != nil {
			t.Error(err)
		}
		events, err := s.Events(t.Context(), "agency/a", 0, 0)
		if err != nil || len(events) != 1 || string(events[0].Data) != "short" {
			t.Errorf("events %v, %v", events, err)
		}
		if all, err := s.Counters(t.Context()); err != nil || len(all) != 1 || all["short"] != 1 {
			t.Errorf("counters %v, %v", all, err)
		}
	}
}

// TestCloseAfterFailedSync leaves nothing that a later start would take for a record that is missing.
func TestCloseAfterFailedSync(t *testing.T) {
	t.Parallel()
	var broken atomic.Bool
	tune := inLog
	tune.sync = func(f *os.File) error {
		if broken.Load() {
			return errors.New("the disk is gone")
		}
		return flush(f)
	}
	s := tuned(t, filepath.Join(t.TempDir(), "parley.db"), nil, tune)
	if _, err := s.Acquire(t.Context(), "agency/a", 0); err != nil {
		t.Fatal(err)
	}
	broken.Store(true)
	if _, err := s.Acquire(t.Context(), "agency/a", 0); !errors.Is(err, persistence.ErrUnavailable) {
		t.Fatalf("acquire: %v", err)
	}
	path := crashed(t, s) // with the record that was not acknowledged
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	copyFile(t, s.path, path)
	again := open(t, path, nil)
	defer func() { _ = again.Close() }()
	if lease, err := again.Acquire(t.Context(), "agency/a", 0); err != nil || lease.Epoch != 2 {
		t.Errorf("lease %+v, %v", lease, err)
	}
}

// TestFailingCheckpoint has the log fill up while the file cannot be written.
func TestFailingCheckpoint(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "parley.db")
	s := tuned(t, path, nil, tuning{freezeBytes: 64 << 10, freezeAge: time.Hour})
	defer func() { _ = s.Close() }()
	lease, err := s.Acquire(t.Context(), "agency/a", 0)
	if err != nil {
		t.Fatal(err)
	}
	last, data := uint64(0), make([]byte, 4<<10)
	post := func() error {
		err := s.Append(t.Context(), []*persistence.Batch{message("agency/a", lease.Epoch, last, data)})[0]
		if err == nil {
			last++
		}
		return err
	}
	if err := post(); err != nil {
		t.Fatal(err)
	}
	repair := redirect(t, path, path, unix.O_RDONLY)
	for err == nil {
		if err = post(); last > 1000 {
			t.Fatal("the log takes everything")
		}
	}
	if !errors.Is(err, persistence.ErrUnavailable) || last < 5 {
		t.Errorf("after %d batches: %v", last, err)
	}
	if err := s.Ready(t.Context()); !errors.Is(err, persistence.ErrUnavailable) {
		t.Errorf("ready: %v", err)
	}
	if _, err := s.Backup(t.Context(), io.Discard); !errors.Is(err, persistence.ErrUnavailable) {
		t.Errorf("backup: %v", err)
	}
	events, err := s.Events(t.Context(), "agency/a", 0, 0)
	if err != nil || uint64(len(events)) != last {
		t.Errorf("%d events of %d, %v", len(events), last, err)
	}
	s.checkpointer.failing.Store(time.Now().Add(-2 * stallAfter).UnixNano())
	if err := s.Ready(t.Context()); !errors.Is(err, persistence.ErrUnavailable) {
		t.Errorf("ready: %v", err)
	}
	repair()
	for range 50 {
		if err := post(); err != nil {
			t.Fatalf("with a whole disk: %v", err)
		}
	}
	if err := s.Ready(t.Context()); err != nil {
		t.Errorf("ready: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := Check(t.Context(), path); err != nil {
		t.Error(err)
	}
	onlyStore(t, path)
}

// TestCloseThatFails leaves the log, which has everything.
func TestCloseThatFails(t *testing.T) {
	t.Parallel()
	s := logged(t, 5)
	_ = redirect(t, s.path, s.path, unix.O_RDONLY) // for good: the descriptor may be another file's after Close
	if err := s.Close(); err == nil {
		t.Error("closed")
	}
	path := crashed(t, s)
	again := open(t, path, nil)
	defer func() { _ = again.Close() }()
	if _, last, err := again.Head(t.Context(), "agency/a"); last != 5 || err != nil {
		t.Errorf("last %d, %v", last, err)
	}
}

// TestLogStaysSmall uses the files of the log in turns.
func TestLogStaysSmall(t *testing.T) {
	t.Parallel()
	s := tuned(t, filepath.Join(t.TempDir(), "parley.db"), nil, tuning{freezeBytes: 64 << 10})
	defer func() { _ = s.Close() }()
	lease, err := s.Acquire(t.Context(), "agency/a", 0)
	if err != nil {
		t.Fatal(err)
	}
	for i := range uint64(300) {
		if err := s.Append(t.Context(), []*persistence.Batch{message("agency/a", lease.Epoch, i, make([]byte, 4<<10))})[0]; err != nil {
			t.Fatal(err)
		}
	}
	files, err := filepath.Glob(logBase(s.path) + "*")
	if err != nil || len(files) > maxSegments {
		t.Errorf("%v, %v", files, err)
	}
	for _, name := range files {
		if info, err := os.Stat(name); err != nil || info.Size() > reserveStep || info.Mode().Perm() != fileMode {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	if s.wal.index < 5 {
		t.Errorf("%d segments used", s.wal.index)
	}
}
