package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"parley/cmd/parley/archive"
	"parley/cmd/parley/control"
)

// makeBackup makes a data folder of text and a backup of it.
func makeBackup(t *testing.T, text string) string {
	t.Helper()
	dir, store := makeData(t, text)
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), "b.tar")
	if _, _, err := run(t, "backup", "--data-dir", dir, "--to", to); err != nil {
		t.Fatal(err)
	}
	return to
}

func TestRestoreKeepsTheOldFolder(t *testing.T) {
	from := makeBackup(t, "new")
	dir, store := makeData(t, "old")
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := run(t, "restore", "--data-dir", dir, "--from", from); err == nil || !strings.Contains(err.Error(), "--force") {
		t.Errorf("over a folder in use: %v", err)
	}
	wantData(t, dir, "old")
	_, said, err := run(t, "restore", "--data-dir", dir, "--from", from, "--force")
	if err != nil {
		t.Fatal(err)
	}
	wantData(t, dir, "new")
	kept, _ := filepath.Glob(dir + ".before-restore-*")
	if len(kept) != 1 || !strings.Contains(said, kept[0]) {
		t.Fatalf("kept %v, said %q", kept, said)
	}
	wantData(t, kept[0], "old")
	if around := names(t, filepath.Dir(dir)); len(around) != 2 {
		t.Errorf("left behind: %v", around)
	}
}

func TestRestoreThroughALink(t *testing.T) {
	from := makeBackup(t, "new")
	dir, store := makeData(t, "old")
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	if _, _, err := run(t, "restore", "--data-dir", link, "--from", from, "--force"); err != nil {
		t.Fatal(err)
	}
	wantData(t, dir, "new")
	wantData(t, link, "new")
}

func TestRestoreWhileAServerRuns(t *testing.T) {
	from := makeBackup(t, "new")
	dir, store := makeData(t, "old")
	// The store is open: its lock alone is enough, and so is the socket.
	if _, _, err := run(t, "restore", "--data-dir", dir, "--from", from, "--force"); !errors.Is(err, errServing) {
		t.Errorf("a locked store: %v", err)
	}
	server := serveControl(t, dir, store)
	if err := os.Remove(filepath.Join(dir, archive.StoreName)); err != nil {
		t.Fatal(err)
	}
	if _, _, err := run(t, "restore", "--data-dir", dir, "--from", from, "--force"); !errors.Is(err, errServing) {
		t.Errorf("an open socket: %v", err)
	}
	if err := server.Close(); err != nil {
		t.Error(err)
	}
	if around := names(t, filepath.Dir(dir)); len(around) != 1 {
		t.Errorf("left behind: %v", around)
	}
}

func TestRestoreIntoTheRootOfAVolume(t *testing.T) {
	from := makeBackup(t, "new")
	dir := t.TempDir()
	for _, name := range []string{"lost+found", ".restore-killed"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(control.Path(dir), nil, 0o600); err != nil { // as dead as a socket can be
		t.Fatal(err)
	}
	if _, _, err := run(t, "restore", "--data-dir", dir, "--from", from); err != nil {
		t.Fatal(err)
	}
	wantData(t, dir, "new")
	if got := strings.Join(names(t, dir), " "); got != "control.sock lost+found parley.db secret.key uploads" {
		t.Errorf("the folder holds %s", got)
	}
}

// TestRestoreOfADamagedBackup: whatever is wrong, the folder stays as it was.
func TestRestoreOfADamagedBackup(t *testing.T) {
	whole, err := os.ReadFile(makeBackup(t, "new"))
	if err != nil {
		t.Fatal(err)
	}
	bent := bytes.Clone(whole)
	bent[len(bent)/2]++
	notAStore := func() []byte {
		path := filepath.Join(t.TempDir(), "f")
		if err := os.WriteFile(path, []byte("hello"), 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = f.Close() }()
		var b bytes.Buffer
		if _, err := archive.Write(t.Context(), &b, archive.Source{Store: f, DataDir: t.TempDir(), Now: time.Now()}); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}()
	dir, store := makeData(t, "old")
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string][]byte{
		"half": whole[:len(whole)/2], "a changed byte": bent, "no archive": []byte("hello"), "no store in it": notAStore,
	} {
		from := filepath.Join(t.TempDir(), "b")
		if err := os.WriteFile(from, b, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, _, err := run(t, "restore", "--data-dir", dir, "--from", from, "--force"); err == nil {
			t.Errorf("%s: accepted", name)
		}
		wantData(t, dir, "old")
		if around := names(t, filepath.Dir(dir)); len(around) != 1 {
			t.Errorf("%s: left behind: %v", name, around)
		}
		fresh := filepath.Join(t.TempDir(), "fresh")
		if _, _, err := run(t, "restore", "--data-dir", fresh, "--from", from); err == nil {
			t.Errorf("%s: accepted", name)
		}
		if got := names(t, fresh); len(got) != 0 {
			t.Errorf("%s: put in place: %v", name, got)
		}
	}
	from := filepath.Join(t.TempDir(), "b")
	if err := os.WriteFile(from, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := run(t, "restore", "--data-dir", dir, "--from", from, "--force", "--max-size", "1000"); !errors.Is(err, archive.ErrArchive) {
		t.Errorf("larger than allowed: %v", err)
	}
}

// TestKilledRestore kills the process while it unpacks: the folder stays as it was, and the next restore works.
func TestKilledRestore(t *testing.T) {
	backup := makeBackup(t, "new")
	whole, err := os.ReadFile(backup)
	if err != nil {
		t.Fatal(err)
	}
	dir, store := makeData(t, "old")
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	cmd := program("restore", "--data-dir", dir, "--from", "-", "--force")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := in.Write(whole[:len(whole)/2]); err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool {
		begun, _ := filepath.Glob(filepath.Join(filepath.Dir(dir), "*"+stagingPrefix+"*", archive.StoreName))
		return len(begun) > 0
	})
	kill(t, cmd)
	wantData(t, dir, "old")
	if _, _, err := run(t, "restore", "--data-dir", dir, "--from", backup, "--force"); err != nil {
		t.Fatal(err)
	}
	wantData(t, dir, "new")
}

// TestFillLeavesANewServerAlone: a server that began to use the folder meanwhile keeps its key and its store.
func TestFillLeavesANewServerAlone(t *testing.T) {
	for _, name := range []string{archive.KeyName, archive.StoreName} {
		staging, dir := t.TempDir(), t.TempDir()
		for _, path := range []string{filepath.Join(staging, name), filepath.Join(dir, name)} {
			if err := os.WriteFile(path, []byte(path), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := fill(dir, staging); !errors.Is(err, os.ErrExist) {
			t.Errorf("%s: %v", name, err)
		}
		if b, _ := os.ReadFile(filepath.Join(dir, name)); string(b) != filepath.Join(dir, name) {
			t.Errorf("%s was replaced", name)
		}
	}
}
