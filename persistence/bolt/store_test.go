package bolt

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/persistence"
	"parley/persistence/storetest"
)

// fakeClock is a time that tests move.
type fakeClock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *fakeClock { return &fakeClock{now: time.Unix(1_700_000_000, 0)} }

func (c *fakeClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *fakeClock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func open(t *testing.T, path string, now func() time.Time) *Store {
	t.Helper()
	s, err := Open(t.Context(), Options{Path: path, Now: now})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// tuned opens a store with other limits.
func tuned(t *testing.T, path string, now func() time.Time, tune tuning) *Store {
	t.Helper()
	s, err := Open(t.Context(), Options{Path: path, Now: now, tune: tune})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// inLog keeps everything in the log.
var inLog = tuning{freezeAge: time.Hour}

func TestConformance(t *testing.T) {
	t.Parallel()
	for name, tune := range map[string]tuning{"log": inLog, "checkpoints": {freezeBytes: 4 << 10, freezeAge: time.Millisecond}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			storetest.Run(t, func(t *testing.T) storetest.Harness { return harness(t, tune) })
		})
	}
}

func harness(t *testing.T, tune tuning) storetest.Harness {
	path, clock := filepath.Join(t.TempDir(), "data", "parley.db"), newClock()
	h := storetest.Harness{
		Open:    func(t *testing.T) persistence.Store { return tuned(t, path, clock.Now, tune) },
		Now:     clock.Now,
		Advance: clock.Advance,
		Restore: func(t *testing.T, backup []byte) persistence.Store {
			copied := filepath.Join(t.TempDir(), "restored.db")
			if err := os.WriteFile(copied, backup, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := Check(t.Context(), copied); err != nil {
				t.Fatal(err)
			}
			return tuned(t, copied, clock.Now, tune)
		},
	}
	if tune.freezeAge == inLog.freezeAge { // else nobody knows which file the next record goes to
		h.Faults = faultsOf(path, clock)
	}
	return h
}

func TestCloseLeavesNoGoroutine(t *testing.T) {
	before := runtime.NumGoroutine()
	for range 5 {
		s := open(t, filepath.Join(t.TempDir(), "parley.db"), nil)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for end := time.Now().Add(5 * time.Second); runtime.NumGoroutine() > before; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			stacks := make([]byte, 1<<16)
			t.Fatalf("%d goroutines, %d before:\n%s", runtime.NumGoroutine(), before, stacks[:runtime.Stack(stacks, true)])
		}
	}
}

func TestFileModes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "deep", "data", "parley.db")
	s := open(t, path, nil)
	defer func() { _ = s.Close() }()
	for name, want := range map[string]os.FileMode{path: 0o600, filepath.Dir(path): 0o700} {
		info, err := os.Stat(name)
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", name, info.Mode().Perm(), err)
		}
	}
	left, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(left) != 1 {
		t.Errorf("the folder holds %v, %v", left, err)
	}
}

func TestQueueLimits(t *testing.T) {
	t.Parallel()
	s := open(t, filepath.Join(t.TempDir(), "parley.db"), nil)
	defer func() { _ = s.Close() }()
	started, release := make(chan struct{}), make(chan struct{})
	go func() {
		_ = s.committer.do(t.Context(), "block", 0, func(*writeTx) error {
			close(started)
			<-release
			return nil
		})
	}()
	<-started
	err := s.committer.submit(t.Context(), &request{bytes: maxQueueBytes + 1, done: make(chan struct{}, 1)})
	if err == nil || !strings.Contains(err.Error(), "queue is full") {
		t.Errorf("too many bytes: %v", err)
	}
	for range maxQueue {
		s.committer.queue <- &request{op: func(*writeTx) error { return nil }}
	}
	_, err = s.Acquire(t.Context(), "agency/a", 0)
	if err == nil || !strings.Contains(err.Error(), "queue is full") {
		t.Errorf("too many requests: %v", err)
	}
	close(release)
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		if _, err = s.Acquire(t.Context(), "agency/a", 0); err == nil {
			break
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
}

func TestPanicInOneRequestSparesTheOthers(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "parley.db"), nil)
	defer func() { _ = s.Close() }()
	started, release := make(chan struct{}), make(chan struct{})
	errs := make(chan error, 3)
	run := func(op func(w *writeTx) error) {
		go func() { errs <- s.committer.do(t.Context(), "test", 0, op) }()
	}
	run(func(*writeTx) error {
		select {
		case <-started: // run again, by itself
		default:
			close(started)
			<-release
		}
		return nil
	})
	<-started
	run(func(*writeTx) error { panic("page 7") })
	run(func(w *writeTx) error { return w.acquire("agency/a", 0, new(persistence.Lease)) })
	for len(s.committer.queue) < 2 {
		time.Sleep(time.Millisecond)
	}
	close(release)
	failed := 0
	for range 3 {
		if err := <-errs; err != nil {
			failed++
			if !strings.Contains(err.Error(), "page 7") {
				t.Error(err)
			}
		}
	}
	if failed != 1 {
		t.Errorf("%d requests failed, want 1", failed)
	}
	if lease, err := s.Acquire(t.Context(), "agency/a", 0); err != nil || lease.Epoch != 2 {
		t.Errorf("lease %+v, %v", lease, err)
	}
}
