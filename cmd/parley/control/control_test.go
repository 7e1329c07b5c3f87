package control

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// start serves a backup function in a folder of its own.
func start(t *testing.T, path string, backup func(context.Context, io.Writer) error) *Server {
	t.Helper()
	s, err := Serve(t.Context(), path, backup)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func nothing(context.Context, io.Writer) error { return nil }

func TestBackupStreams(t *testing.T) {
	path := Path(filepath.Join(t.TempDir(), "data"))
	want := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	start(t, path, func(_ context.Context, w io.Writer) error {
		_, err := w.Write(want)
		return err
	})
	info, err := os.Lstat(path)
	if err != nil || info.Mode() != os.ModeSocket|socketMode {
		t.Errorf("the socket: %v, %v", info.Mode(), err)
	}
	if info, err := os.Stat(filepath.Dir(path)); err != nil || info.Mode().Perm() != folderMode {
		t.Errorf("the folder: %v, %v", info.Mode(), err)
	}
	var got bytes.Buffer
	if err := Backup(t.Context(), path, &got); err != nil || !bytes.Equal(got.Bytes(), want) {
		t.Fatalf("%d bytes, %v", got.Len(), err)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".control-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestBackupThatFails(t *testing.T) {
	path := Path(t.TempDir())
	start(t, path, func(_ context.Context, w io.Writer) error {
		_, _ = w.Write([]byte("some of it"))
		return errors.New("disk\non fire")
	})
	err := Backup(t.Context(), path, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "disk on fire") {
		t.Errorf("error %v", err)
	}
}

func TestServerThatEndsDuringABackup(t *testing.T) {
	path := Path(t.TempDir())
	begun := make(chan struct{})
	s := start(t, path, func(ctx context.Context, w io.Writer) error {
		_, err := w.Write(make([]byte, 1<<16))
		close(begun)
		<-ctx.Done()
		return errors.Join(err, ctx.Err())
	})
	failed := make(chan error, 1)
	go func() { failed <- Backup(t.Context(), path, io.Discard) }()
	<-begun
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := <-failed; err == nil {
		t.Error("half a backup passes for a whole one")
	}
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket stays: %v", err)
	}
}

func TestOneBackupAtATime(t *testing.T) {
	path := Path(t.TempDir())
	begun, end := make(chan struct{}), make(chan struct{})
	start(t, path, func(context.Context, io.Writer) error {
		close(begun)
		<-end
		return nil
	})
	first := make(chan error, 1)
	go func() { first <- Backup(t.Context(), path, io.Discard) }()
	<-begun
	if err := Backup(t.Context(), path, io.Discard); err == nil || !strings.Contains(err.Error(), "another backup") {
		t.Errorf("the second: %v", err)
	}
	close(end)
	if err := <-first; err != nil {
		t.Error(err)
	}
}

func TestClientThatLeaves(t *testing.T) {
	path := Path(t.TempDir())
	begun, ended := make(chan struct{}), make(chan struct{})
	start(t, path, func(ctx context.Context, _ io.Writer) error {
		close(begun)
		<-ctx.Done()
		close(ended)
		return ctx.Err()
	})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-begun; cancel() }()
	if err := Backup(ctx, path, io.Discard); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		t.Error("the backup goes on without its client")
	}
}

func TestContextEndsTheServer(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s, err := Serve(ctx, Path(t.TempDir()), nothing)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	select {
	case <-s.done:
	case <-time.After(10 * time.Second):
		t.Fatal("still serving")
	}
	if err := errors.Join(s.Close(), s.Close()); err != nil {
		t.Error(err)
	}
}

func TestWhatIsAtThePath(t *testing.T) {
	path := Path(t.TempDir())
	if Running(t.Context(), path) {
		t.Error("a server without a socket")
	}
	if err := Backup(t.Context(), path, io.Discard); !errors.Is(err, ErrNoServer) {
		t.Errorf("without a socket: %v", err)
	}
	// A socket that a dead process left.
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := Backup(t.Context(), path, io.Discard); !errors.Is(err, ErrNoServer) {
		t.Errorf("a dead socket: %v", err)
	}
	s := start(t, path, nothing)
	if !Running(t.Context(), path) {
		t.Error("the dead socket was not replaced")
	}
	if _, err := Serve(t.Context(), path, nothing); !errors.Is(err, ErrInUse) {
		t.Errorf("a second server: %v", err)
	}
	// Whoever took the path meanwhile keeps it.
	if err := errors.Join(os.Remove(path), os.WriteFile(path, []byte("x"), 0o600), s.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Errorf("Close removed somebody else's file: %v", err)
	}
	if _, err := Serve(t.Context(), path, nothing); err == nil || errors.Is(err, ErrInUse) {
		t.Errorf("over a plain file: %v", err)
	}
}

func TestLongPath(t *testing.T) {
	path := Path(filepath.Join(t.TempDir(), strings.Repeat("d", 100), strings.Repeat("e", 100)))
	if runtime.GOOS != "linux" {
		if _, err := Serve(t.Context(), path, nothing); err == nil {
			t.Error("a path that the kernel has no room for")
		}
		return
	}
	start(t, path, func(_ context.Context, w io.Writer) error {
		_, err := io.WriteString(w, "store")
		return err
	})
	var got strings.Builder
	if err := Backup(t.Context(), path, &got); err != nil || got.String() != "store" {
		t.Errorf("%q, %v", got.String(), err)
	}
}

func TestManyConnections(t *testing.T) {
	path := Path(t.TempDir())
	s := start(t, path, nothing)
	for range 2 * maxConnections { // clients that say nothing
		c, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
	}
	if err := s.Close(); err != nil { // must not hang on them
		t.Error(err)
	}
}
