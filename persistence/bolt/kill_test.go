//go:build linux

package bolt

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"parley/persistence"
)

// childEnv makes the test binary a writer instead: the name of one of children, and the path.
const childEnv = "PARLEY_BOLT_TEST_CHILD"

const (
	killRounds    = 5 // of each mode
	killAppenders = 8
	// fullLimit is how large a file the child of the full disk may make.
	fullLimit = 24 << 20
)

// oftenSaved makes a checkpoint of every few rounds.
var oftenSaved = tuning{freezeBytes: 16 << 10, freezeAge: time.Millisecond}

var children = map[string]func(path string) error{
	"kill":            func(path string) error { return writeUntilKilled(path, tuning{}) },
	"kill-checkpoint": func(path string) error { return writeUntilKilled(path, oftenSaved) },
	"full":            func(path string) error { return writeUntilFull(path, inLog) },
	"full-checkpoint": func(path string) error {
		return writeUntilFull(path, tuning{freezeBytes: 4 << 20, freezeAge: time.Hour})
	},
}

func TestMain(m *testing.M) {
	mode, path, child := strings.Cut(os.Getenv(childEnv), " ")
	if !child {
		os.Exit(m.Run())
	}
	if err := children[mode](path); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func childCommand(ctx context.Context, mode, path string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+mode+" "+path)
	cmd.Stderr = os.Stderr
	return cmd
}

func killStream(a int) string { return fmt.Sprintf("agency/%d", a) }

// writeUntilKilled appends from several goroutines and prints "stream last" for each batch that was acknowledged.
func writeUntilKilled(path string, tune tuning) error {
	s, err := Open(context.Background(), Options{Path: path, tune: tune})
	if err != nil {
		return err
	}
	var wg sync.WaitGroup
	var out sync.Mutex
	for a := range killAppenders {
		lease, err := s.Acquire(context.Background(), killStream(a), 0)
		if err != nil {
			return err
		}
		wg.Go(func() {
			for last := lease.Last; ; {
				b := &persistence.Batch{Stream: killStream(a), Epoch: lease.Epoch, Expect: last}
				for range 1 + last%3 {
					last++
					b.Events = append(b.Events, persistence.Event{Seq: last, Kind: "k", Data: []byte(strings.Repeat("x", int(last*31%900)))})
				}
				b.Documents = []persistence.DocumentOp{{Collection: "last", Key: b.Stream, Data: fmt.Append(nil, last)}}
				b.Counters = []persistence.CounterOp{{Name: b.Stream, Delta: int64(len(b.Events))}}
				b.Claims = []persistence.ClaimOp{{Index: "seq", Key: fmt.Sprint(b.Stream, last), Owner: b.Stream}}
				if err := s.Append(context.Background(), []*persistence.Batch{b})[0]; err != nil {
					fmt.Fprintln(os.Stderr, err)
					os.Exit(1)
				}
				out.Lock()
				fmt.Printf("%d %d\n", a, last)
				out.Unlock()
			}
		})
	}
	wg.Wait()
	return nil
}

// TestKill kills a writer again and again, between checkpoints and in the middle of them: what it acknowledged is there,
// once, and nothing is half there.
func TestKill(t *testing.T) {
	for _, mode := range []string{"kill", "kill-checkpoint"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			killAgain(t, mode)
		})
	}
}

func killAgain(t *testing.T, mode string) {
	path := filepath.Join(t.TempDir(), "parley.db")
	acked := make([]uint64, killAppenders)
	batches := 0
	for range killRounds {
		cmd := childCommand(t.Context(), mode, path)
		stdout, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		timer := time.AfterFunc(30*time.Millisecond+rand.N(250*time.Millisecond), func() { _ = cmd.Process.Kill() })
		for lines := bufio.NewScanner(stdout); lines.Scan(); {
			var a int
			var last uint64
			if n, _ := fmt.Sscanf(lines.Text(), "%d %d", &a, &last); n == 2 && lines.Err() == nil {
				acked[a] = max(acked[a], last)
				batches++
			}
		}
		_ = cmd.Wait() // killed
		timer.Stop()
		checkAfterKill(t, path, acked)
	}
	if batches == 0 {
		t.Fatal("no child has written anything")
	}
	t.Logf("%d batches acknowledged over %d kills", batches, killRounds)
}

func checkAfterKill(t *testing.T, path string, acked []uint64) {
	t.Helper()
	if _, err := os.Stat(path); os.IsNotExist(err) {
		return // killed before it had made the file
	}
	s := open(t, path, nil)
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	if _, err := s.Verify(t.Context()); err != nil {
		t.Fatal(err)
	}
	counters, err := s.Counters(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for a, want := range acked {
		stream := killStream(a)
		first, last, err := s.Head(t.Context(), stream)
		if err != nil || last < want || (last > 0 && first != 1) {
			t.Fatalf("%s: from %d to %d, acknowledged %d: %v", stream, first, last, want, err)
		}
		for next := uint64(0); next < last; {
			events, err := s.Events(t.Context(), stream, next, 0)
			if err != nil || len(events) == 0 {
				t.Fatalf("%s behind %d: %d events, %v", stream, next, len(events), err)
			}
			for _, e := range events {
				if next++; e.Seq != next || len(e.Data) != int(next*31%900) {
					t.Fatalf("%s: event %d at %d", stream, e.Seq, next)
				}
			}
		}
		if counters[stream] != int64(last) {
			t.Fatalf("%s: counter %d, last %d", stream, counters[stream], last)
		}
		if data, err := s.Document(t.Context(), "last", stream); last > 0 && (err != nil || string(data) != fmt.Sprint(last)) {
			t.Fatalf("%s: document %s, last %d: %v", stream, data, last, err)
		}
	}
}

// writeUntilFull appends until the system refuses to let the file grow, then goes on with room again.
func writeUntilFull(path string, tune tuning) error {
	signal.Ignore(syscall.SIGXFSZ)
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	old := limit.Cur
	limit.Cur = fullLimit
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	ctx := context.Background()
	s, err := Open(ctx, Options{Path: path, tune: tune})
	if err != nil {
		return err
	}
	lease, err := s.Acquire(ctx, "agency/a", 0)
	if err != nil {
		return err
	}
	last, failed := uint64(0), 0
	appendOne := func() error {
		b := &persistence.Batch{Stream: "agency/a", Epoch: lease.Epoch, Expect: last,
			Events: []persistence.Event{{Seq: last + 1, Kind: "k", Data: make([]byte, 1<<20)}}}
		err := s.Append(ctx, []*persistence.Batch{b})[0]
		if err == nil {
			last++
		}
		return err
	}
	for failed < 3 {
		if err := appendOne(); err != nil {
			failed++
		}
		if last > 2*fullLimit>>20 { // the file and the log have a limit each
			return fmt.Errorf("%d MB fitted into %d", last, fullLimit>>20)
		}
	}
	if last == 0 {
		return errors.New("nothing fitted")
	}
	limit.Cur = old
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	for range 5 {
		if err := appendOne(); err != nil {
			return fmt.Errorf("with room again: %w", err)
		}
	}
	if err := s.Ready(ctx); err != nil {
		return err
	}
	if _, err := s.Verify(ctx); err != nil {
		return err
	}
	fmt.Println("last", last)
	return s.Close()
}

// TestFullDisk lets a child meet the file size limit of the system in the middle of its work: in the log, and in the file.
func TestFullDisk(t *testing.T) {
	for _, mode := range []string{"full", "full-checkpoint"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			fillDisk(t, mode)
		})
	}
}

func fillDisk(t *testing.T, mode string) {
	path := filepath.Join(t.TempDir(), "parley.db")
	out, err := childCommand(t.Context(), mode, path).Output()
	if err != nil {
		t.Fatal(err)
	}
	var want uint64
	if _, err := fmt.Sscanf(string(out), "last %d", &want); err != nil {
		t.Fatalf("child said %q", out)
	}
	if err := Check(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	s := open(t, path, nil)
	defer func() { _ = s.Close() }()
	if _, last, err := s.Head(t.Context(), "agency/a"); err != nil || last != want {
		t.Errorf("last %d, want %d: %v", last, want, err)
	}
}
