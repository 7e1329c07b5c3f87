package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"parley/cmd/parley/archive"
	"parley/cmd/parley/control"
	"parley/config"
	"parley/persistence"
	"parley/persistence/bolt"
)

// asProgram makes the test binary behave as the program itself, for tests that kill it.
const asProgram = "RUN_AS_PARLEY"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// program is a command that runs the program in a process of its own.
func program(args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), asProgram+"=1")
	return cmd
}

// run runs the program in this process and returns what it printed.
func run(t *testing.T, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	var out, errs bytes.Buffer
	cmd := rootCommand()
	cmd.SetArgs(args)
	cmd.SetOut(&out)
	cmd.SetErr(&errs)
	err = cmd.ExecuteContext(t.Context())
	return out.String(), errs.String(), err
}

// makeData makes a data folder with a key, an upload, and a store that has one document. The store is open.
func makeData(t *testing.T, text string) (dir string, store *bolt.Store) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "data")
	if _, err := config.SecretKey(dir, nil); err != nil {
		t.Fatal(err)
	}
	uploads := filepath.Join(dir, "uploads")
	if err := errors.Join(os.Mkdir(uploads, 0o700), os.WriteFile(filepath.Join(uploads, "a.png"), []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
	store, err := bolt.Open(t.Context(), bolt.Options{Path: filepath.Join(dir, archive.StoreName)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	lease, err := store.Acquire(t.Context(), "test", 0)
	if err != nil {
		t.Fatal(err)
	}
	batch := &persistence.Batch{Stream: "test", Epoch: lease.Epoch, Expect: lease.Last,
		Documents: []persistence.DocumentOp{{Collection: "c", Key: "k", Data: []byte(text)}}}
	if errs := store.Append(t.Context(), []*persistence.Batch{batch}); errs[0] != nil {
		t.Fatal(errs[0])
	}
	return dir, store
}

// wantData checks that a folder holds what makeData made of text.
func wantData(t *testing.T, dir, text string) {
	t.Helper()
	store, err := bolt.Open(t.Context(), bolt.Options{Path: filepath.Join(dir, archive.StoreName)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	got, err := store.Document(t.Context(), "c", "k")
	if err != nil || string(got) != text {
		t.Errorf("the store holds %q, %v; want %q", got, err, text)
	}
	upload, err := os.ReadFile(filepath.Join(dir, "uploads", "a.png"))
	if err != nil || string(upload) != text {
		t.Errorf("the upload is %q, %v; want %q", upload, err, text)
	}
	if _, err := config.SecretKey(dir, nil); err != nil {
		t.Error(err)
	}
}

func serveControl(t *testing.T, dir string, store *bolt.Store) *control.Server {
	t.Helper()
	server, err := control.Serve(t.Context(), control.Path(dir), func(ctx context.Context, w io.Writer) error {
		_, err := store.Backup(ctx, w)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	return server
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

func TestBackupWithAndWithoutAServer(t *testing.T) {
	for _, running := range []bool{true, false} {
		for _, name := range []string{"b.tar.gz", "b.tar"} {
			dir, store := makeData(t, "hello")
			if running {
				serveControl(t, dir, store)
			} else if err := store.Close(); err != nil {
				t.Fatal(err)
			}
			folder := t.TempDir()
			to := filepath.Join(folder, name)
			_, said, err := run(t, "backup", "--data-dir", dir, "--to", to)
			if err != nil || !strings.Contains(said, "backed up 3 files") {
				t.Fatalf("running %v: %q, %v", running, said, err)
			}
			if info, err := os.Stat(to); err != nil || info.Mode() != 0o600 {
				t.Errorf("mode %v, %v", info.Mode(), err)
			}
			if left := names(t, folder); len(left) != 1 {
				t.Errorf("left behind: %v", left)
			}
			again := filepath.Join(t.TempDir(), "new", "data")
			if _, _, err := run(t, "restore", "--data-dir", again, "--from", to); err != nil {
				t.Fatal(err)
			}
			wantData(t, again, "hello")
			if got := names(t, again); len(got) != 3 {
				t.Errorf("the new folder holds %v", got)
			}
		}
	}
}

func TestBackupToStandardOutput(t *testing.T) {
	dir, store := makeData(t, "pipe")
	serveControl(t, dir, store)
	out, _, err := run(t, "backup", "--data-dir", dir, "--to", "-")
	if err != nil {
		t.Fatal(err)
	}
	m, err := archive.Extract(t.Context(), strings.NewReader(out), t.TempDir(), 0)
	if err != nil || len(m.Parts) != 3 || m.Version == "" {
		t.Errorf("manifest %+v, %v", m, err)
	}
	for _, name := range names(t, dir) {
		if strings.HasPrefix(name, ".backup") {
			t.Errorf("left behind: %s", name)
		}
	}
}

func TestBackupRefusals(t *testing.T) {
	dir, store := makeData(t, "x")
	folder := t.TempDir()
	to := filepath.Join(folder, "b.tar.gz")
	if _, _, err := run(t, "backup", "--data-dir", dir, "--to", to); !errors.Is(err, persistence.ErrLocked) {
		t.Errorf("a locked store without a socket: %v", err)
	}
	serveControl(t, dir, store)
	if err := os.WriteFile(to, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := run(t, "backup", "--data-dir", dir, "--to", to); err == nil || !strings.Contains(err.Error(), "--force") {
		t.Errorf("over a file: %v", err)
	}
	if b, _ := os.ReadFile(to); string(b) != "precious" {
		t.Error("the file was touched")
	}
	if _, _, err := run(t, "backup", "--data-dir", dir, "--to", to, "--force"); err != nil {
		t.Error(err)
	}
	if b, _ := os.ReadFile(to); string(b) == "precious" {
		t.Error("--force does not replace")
	}
	if _, _, err := run(t, "backup", "--data-dir", dir, "--to", folder, "--force"); err == nil {
		t.Error("a folder was replaced")
	}
	for _, empty := range []string{t.TempDir(), filepath.Join(folder, "none")} {
		if _, _, err := run(t, "backup", "--data-dir", empty, "--to", filepath.Join(folder, "c")); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("without a store: %v", err)
		}
	}
	if left := names(t, folder); len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
	if _, _, err := run(t, "backup", "--data-dir", dir); err == nil || !strings.Contains(err.Error(), `"to"`) {
		t.Errorf("without --to: %v", err)
	}
}

// TestNameTakenMeanwhile: the name is checked again in the moment in which it is given.
func TestNameTakenMeanwhile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "b.tar.gz")
	out, err := createOutput(path, false)
	if err != nil {
		t.Fatal(err)
	}
	defer out.discard()
	if err := os.WriteFile(path, []byte("first"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := out.commit(); err == nil || !strings.Contains(err.Error(), "--force") {
		t.Errorf("commit: %v", err)
	}
	if b, _ := os.ReadFile(path); string(b) != "first" {
		t.Error("replaced")
	}
}

// TestKilledBackup kills the process at both halves of its work: while it receives the store, and while it writes the
// archive. Neither may leave anything under the name.
func TestKilledBackup(t *testing.T) {
	dir, store := makeData(t, "x")
	begun := make(chan struct{}, 1)
	stall := make(chan struct{})
	server, err := control.Serve(t.Context(), control.Path(dir), func(ctx context.Context, w io.Writer) error {
		if _, err := store.Backup(ctx, w); err != nil {
			return err
		}
		begun <- struct{}{}
		select {
		case <-ctx.Done():
		case <-stall:
		}
		return ctx.Err()
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = server.Close() }()
	folder := t.TempDir()
	to := filepath.Join(folder, "b.tar")
	cmd := program("backup", "--data-dir", dir, "--to", to)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	<-begun
	kill(t, cmd)
	if _, err := os.Lstat(to); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("killed while it received: %v", err)
	}
	close(stall)
	for i := range 8 { // large and sparse: seconds to hash, nothing to store
		f, err := os.Create(filepath.Join(dir, "uploads", string(rune('a'+i))))
		if err := errors.Join(err, f.Truncate(60<<20), f.Close()); err != nil {
			t.Fatal(err)
		}
	}
	cmd = program("backup", "--data-dir", dir, "--to", to)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool {
		grown, _ := filepath.Glob(filepath.Join(folder, ".b.tar.partial-*"))
		for _, path := range grown {
			if info, err := os.Stat(path); err == nil && info.Size() > 1<<20 {
				return true
			}
		}
		return false
	})
	kill(t, cmd)
	if _, err := os.Lstat(to); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("killed while it wrote: %v", err)
	}
}

func kill(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Fatal("it had ended before it was killed")
	}
}

func waitFor(t *testing.T, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("waited for too long")
		}
	}
}
