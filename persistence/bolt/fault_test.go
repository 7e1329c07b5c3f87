//go:build linux

package bolt

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"go.etcd.io/bbolt"
	"golang.org/x/sys/unix"

	"parley/persistence"
	"parley/persistence/storetest"
)

// faultsOf hurts the file of a store.
func faultsOf(path string, clock *fakeClock) storetest.Faults {
	return storetest.Faults{
		FailCommits: func(t *testing.T, s persistence.Store) func() {
			log := slotPath(logBase(path), 0)
			return redirect(t, log, log, unix.O_RDONLY)
		},
		FillDisk: func(t *testing.T, s persistence.Store) func() {
			return redirect(t, slotPath(logBase(path), 0), "/dev/full", unix.O_RDWR)
		},
		Tear: func(t *testing.T, round int) bool { return tear(t, path, clock, round) },
	}
}

// redirect puts another file behind the descriptor that this process has for path, so that what bbolt writes fails.
// The map of the file stays, and so does the lock, by a duplicate.
func redirect(t *testing.T, path, target string, how int) (repair func()) {
	t.Helper()
	fd := descriptorOf(t, path)
	saved, err := unix.Dup(fd)
	if err != nil {
		t.Fatal(err)
	}
	other, err := unix.Open(target, how, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(unix.Dup3(other, fd, unix.O_CLOEXEC), unix.Close(other)); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := errors.Join(unix.Dup3(saved, fd, unix.O_CLOEXEC), unix.Close(saved)); err != nil {
			t.Fatal(err)
		}
	}
}

// descriptorOf finds the descriptor that this process has open for a file.
func descriptorOf(t *testing.T, path string) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("no /proc here")
	}
	for _, e := range entries {
		if target, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil && target == path {
			fd := 0
			for _, c := range e.Name() {
				fd = fd*10 + int(c-'0')
			}
			return fd
		}
	}
	t.Fatalf("%s is not open", path)
	return 0
}

const (
	tearCuts  = 12
	tearFlips = 50
)

// tear writes a damaged copy of the file and opens it: it must be refused and left alone, or be in a committed state.
func tear(t *testing.T, path string, clock *fakeClock, round int) bool {
	t.Helper()
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	used := usedBytes(t, whole)
	damaged := bytes.Clone(whole[:used]) // behind it are zeros that were not needed yet
	switch {
	case round < tearCuts:
		damaged = damaged[:used*round/tearCuts]
	case round < tearCuts+tearFlips:
		n := round - tearCuts
		at := n * 7919 % used
		if n%2 == 0 { // the beginning of a page, where its structure is
			at = at/pageSize*pageSize + n/2%128
		}
		damaged[at] ^= 1 << (n / 3 % 8)
	case round == tearCuts+tearFlips: // both meta pages
		clear(damaged[:2*pageSize])
	case round == tearCuts+tearFlips+1: // a page of another time
		copy(damaged[pageSize*4:pageSize*5], damaged[pageSize*3:pageSize*4])
	default:
		return false
	}
	torn := filepath.Join(t.TempDir(), "torn.db")
	if err := os.WriteFile(torn, damaged, 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := Open(t.Context(), Options{Path: torn, Now: clock.Now})
	after, readErr := os.ReadFile(torn)
	if readErr != nil || !bytes.Equal(after, damaged) {
		t.Errorf("round %d: opening changed the file (%v)", round, readErr)
	}
	if err != nil {
		if !errors.Is(err, persistence.ErrDamaged) && !errors.Is(err, persistence.ErrForeign) {
			t.Errorf("round %d: %v", round, err)
		}
		return true
	}
	committedOrDamaged(t, s, round)
	if err := s.Close(); err != nil {
		t.Errorf("round %d: %v", round, err)
	}
	return true
}

// committedOrDamaged checks that an opened copy gives back what was written, or says that it is damaged.
func committedOrDamaged(t *testing.T, s *Store, round int) {
	t.Helper()
	_, verdict := s.Verify(t.Context())
	events, err := s.Events(t.Context(), "agency/a", 0, 0)
	if err != nil && verdict == nil {
		t.Errorf("round %d: Verify found nothing, but: %v", round, err)
	}
	if verdict != nil && !errors.Is(verdict, persistence.ErrDamaged) {
		t.Errorf("round %d: %v", round, verdict)
	}
	if err == nil && len(events)%3 != 0 {
		t.Errorf("round %d: %d events are not whole batches", round, len(events))
	}
	for i, e := range events {
		if e.Seq != uint64(i+1) || !bytes.HasPrefix(e.Data, []byte("data of ")) {
			t.Errorf("round %d: garbage %+v", round, e)
		}
	}
	data, err := s.Document(t.Context(), "c", "tag")
	if err == nil && string(data) != "data of tag" {
		t.Errorf("round %d: garbage %q", round, data)
	}
	if _, err := s.Acquire(t.Context(), "agency/a", 0); err != nil && verdict == nil {
		t.Errorf("round %d: Verify found nothing, but: %v", round, err)
	}
}

func usedBytes(t *testing.T, file []byte) int {
	t.Helper()
	m, err := inspect(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	return int(m.pages * m.pageSize)
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name string, data []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	foreign := func(name string, fill func(tx *bbolt.Tx) error) string {
		path := filepath.Join(dir, name)
		db, err := bbolt.Open(path, 0o600, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(db.Update(fill), db.Close()); err != nil {
			t.Fatal(err)
		}
		return path
	}
	tests := []struct {
		name, path string
		want       error
	}{
		{"text", write("text", bytes.Repeat([]byte("hello "), 9000)), persistence.ErrForeign},
		{"short text", write("short", []byte("hello")), persistence.ErrForeign},
		{"empty", write("empty", nil), persistence.ErrDamaged},
		{"a folder", dir, persistence.ErrForeign},
		{"somebody else's database", foreign("foreign.db", func(tx *bbolt.Tx) error {
			b, err := tx.CreateBucket([]byte("theirs"))
			return errors.Join(err, b.Put([]byte("k"), []byte("v")))
		}), persistence.ErrForeign},
		{"an empty database", foreign("none.db", func(*bbolt.Tx) error { return nil }), persistence.ErrForeign},
		{"a newer store", foreign("newer.db", func(tx *bbolt.Tx) error {
			b, err := tx.CreateBucket(bucketMeta)
			return errors.Join(err, b.Put(metaMagic, []byte(magic)), b.Put(metaSchema, []byte{0, 0, 0, schema + 1}))
		}), persistence.ErrForeign},
		{"a store without its buckets", foreign("bare.db", func(tx *bbolt.Tx) error {
			b, err := tx.CreateBucket(bucketMeta)
			return errors.Join(err, b.Put(metaMagic, []byte(magic)), b.Put(metaSchema, []byte{0, 0, 0, schema}))
		}), persistence.ErrDamaged},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			before, _ := os.ReadFile(test.path)
			s, err := Open(t.Context(), Options{Path: test.path})
			if err == nil {
				_ = s.Close()
				t.Fatal("opened")
			}
			if !errors.Is(err, test.want) || !bytes.Contains([]byte(err.Error()), []byte(test.path)) {
				t.Errorf("got %v, want %v with the path", err, test.want)
			}
			if err := Check(t.Context(), test.path); !errors.Is(err, test.want) {
				t.Errorf("check: got %v, want %v", err, test.want)
			}
			after, _ := os.ReadFile(test.path)
			if !bytes.Equal(before, after) {
				t.Error("the file has changed")
			}
		})
	}
}

func TestOpenTwice(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "parley.db")
	s := open(t, path, nil)
	_, err := Open(t.Context(), Options{Path: path})
	if !errors.Is(err, persistence.ErrLocked) || !bytes.Contains([]byte(err.Error()), []byte(path)) {
		t.Errorf("second open: %v", err)
	}
	if _, err := s.Acquire(t.Context(), "agency/a", 0); err != nil {
		t.Errorf("the first one is hurt: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	again := open(t, path, nil)
	if err := again.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestSweepOfHalfMadeFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "par[1]ley.db")
	for _, name := range []string{path + newSuffix + "123", path + newSuffix + "4"} {
		if err := os.WriteFile(name, []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := open(t, path, nil)
	defer func() { _ = s.Close() }()
	left, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(left) != 1 {
		t.Errorf("the folder holds %v, %v", left, err)
	}
}
