package archive

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// data makes a data folder with some of everything.
func data(t *testing.T) (dir string, store *os.File) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range map[string]string{
		"parley.db": "the live file, not the copy", "secret.key": strings.Repeat("ab", 32),
		"uploads/a.png": "picture", "uploads/deep/er/b.png": "", "outbox/mail.eml": "not in a backup",
	} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "uploads", "link")); err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(t.TempDir(), "copy")
	if err := os.WriteFile(copied, []byte("a copy of the store"), 0o600); err != nil {
		t.Fatal(err)
	}
	store, err := os.Open(copied)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	return dir, store
}

func TestThereAndBack(t *testing.T) {
	for _, plain := range []bool{false, true} {
		dir, store := data(t)
		now := time.Date(2026, 3, 4, 5, 6, 7, 8, time.UTC)
		var b bytes.Buffer
		wrote, err := Write(t.Context(), &b, Source{Store: store, DataDir: dir, Version: "v1", Now: now, Plain: plain})
		if err != nil {
			t.Fatal(err)
		}
		if isGzip(b.Bytes()) == plain {
			t.Errorf("plain %v: begins with %x", plain, b.Bytes()[:2])
		}
		to := t.TempDir()
		read, err := Extract(t.Context(), &b, to, 0)
		if err != nil {
			t.Fatal(err)
		}
		if fmt.Sprint(read) != fmt.Sprint(wrote) || read.Version != "v1" || !read.Created.Equal(now.Truncate(time.Second)) || len(read.Parts) != 4 {
			t.Errorf("manifest %+v, want %+v", read, wrote)
		}
		for name, want := range map[string]string{
			"parley.db": "a copy of the store", "secret.key": strings.Repeat("ab", 32), "uploads/a.png": "picture", "uploads/deep/er/b.png": "",
		} {
			got, err := os.ReadFile(filepath.Join(to, name))
			if err != nil || string(got) != want {
				t.Errorf("%s: %q, %v", name, got, err)
			}
			if info, err := os.Stat(filepath.Join(to, name)); err != nil || info.Mode() != 0o600 {
				t.Errorf("%s: mode %v, %v", name, info.Mode(), err)
			}
		}
		if _, err := os.Lstat(filepath.Join(to, ManifestName)); err == nil {
			t.Error("the manifest became a file of the data folder")
		}
	}
}

func TestWithoutSecretAndUploads(t *testing.T) {
	_, store := data(t)
	var b bytes.Buffer
	if _, err := Write(t.Context(), &b, Source{Store: store, DataDir: t.TempDir(), Now: time.Now()}); err != nil {
		t.Fatal(err)
	}
	m, err := Extract(t.Context(), &b, t.TempDir(), 0)
	if err != nil || m.Has(KeyName) || !m.Has(StoreName) || m.Bytes() != int64(len("a copy of the store")) {
		t.Errorf("manifest %+v, %v", m, err)
	}
}

// TestDamage cuts an archive everywhere and flips every byte: nothing of that may pass with other content.
func TestDamage(t *testing.T) {
	dir, store := data(t)
	var b bytes.Buffer
	if _, err := Write(t.Context(), &b, Source{Store: store, DataDir: dir, Now: time.Now(), Plain: true}); err != nil {
		t.Fatal(err)
	}
	whole := b.Bytes()
	step := 97
	for at := 0; at < len(whole)-2*512; at += step {
		if _, err := Extract(t.Context(), bytes.NewReader(whole[:at]), t.TempDir(), 0); !errors.Is(err, ErrArchive) {
			t.Fatalf("cut at %d: %v", at, err)
		}
	}
	content := bytes.Index(whole, []byte("a copy of the store"))
	bent := bytes.Clone(whole)
	bent[content]++
	if _, err := Extract(t.Context(), bytes.NewReader(bent), t.TempDir(), 0); !errors.Is(err, ErrArchive) || !strings.Contains(err.Error(), "not what was backed up") {
		t.Errorf("a changed byte: %v", err)
	}
}

// entry is one of a forged archive.
type entry struct {
	header tar.Header
	body   string
}

func file(name, body string) entry {
	return entry{tar.Header{Typeflag: tar.TypeReg, Name: name, Size: int64(len(body)), Mode: 0o777}, body}
}

func manifestOf(format int, entries ...entry) entry {
	m := Manifest{Format: format}
	for _, e := range entries {
		h := sha256.Sum256([]byte(e.body))
		m.Parts = append(m.Parts, Part{Name: e.header.Name, Size: int64(len(e.body)), SHA256: sum(h[:])})
	}
	text, _ := json.Marshal(m) // cannot fail
	return file(ManifestName, string(text))
}

func forge(t testing.TB, entries ...entry) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for _, e := range entries {
		if err := w.WriteHeader(&e.header); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, e.body); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestForgeries(t *testing.T) {
	db := file(StoreName, "db")
	sealed := func(entries ...entry) []byte { return forge(t, append(entries, manifestOf(Format, entries...))...) }
	special := func(kind byte, name, target string) entry {
		return entry{header: tar.Header{Typeflag: kind, Name: name, Linkname: target, Mode: 0o777}}
	}
	if _, err := Extract(t.Context(), bytes.NewReader(sealed(db, file("uploads/x", "y"))), t.TempDir(), 0); err != nil {
		t.Fatalf("what is forged from: %v", err)
	}
	for name, b := range map[string][]byte{
		"empty":               {},
		"text":                []byte("hello"),
		"gzip of nothing":     {0x1f, 0x8b},
		"up":                  sealed(db, file("../evil", "x")),
		"up from uploads":     sealed(db, file("uploads/../../evil", "x")),
		"absolute":            sealed(db, file("/tmp/evil", "x")),
		"other name":          sealed(db, file("authorized_keys", "x")),
		"dot":                 sealed(db, file("uploads/./x", "x")),
		"backslash":           sealed(db, file(`uploads/..\x`, "x")),
		"deep":                sealed(db, file("uploads/"+strings.Repeat("a/", maxDepth)+"x", "x")),
		"long":                sealed(db, file("uploads/"+strings.Repeat("a", maxName), "x")),
		"symbolic link":       sealed(db, special(tar.TypeSymlink, "uploads/x", "/etc")),
		"hard link":           sealed(db, special(tar.TypeLink, "uploads/x", "/etc/passwd")),
		"folder":              sealed(db, special(tar.TypeDir, "uploads/x/", "")),
		"device":              sealed(db, special(tar.TypeChar, "uploads/x", "")),
		"twice":               sealed(db, db),
		"file as folder":      sealed(db, file("uploads/x", ""), file("uploads/x/y", "")),
		"large key":           sealed(db, file(KeyName, strings.Repeat("a", maxKey+1))),
		"bomb":                sealed(db, file("uploads/x", strings.Repeat("\x00", 1<<20))),
		"no store":            sealed(file("uploads/x", "y")),
		"no manifest":         forge(t, db),
		"newer format":        forge(t, db, manifestOf(Format+1, db)),
		"part not named":      forge(t, db, file("uploads/x", ""), manifestOf(Format, db)),
		"part missing":        forge(t, db, manifestOf(Format, db, file("uploads/x", ""))),
		"other part":          forge(t, db, file("uploads/x", ""), manifestOf(Format, db, file("uploads/y", ""))),
		"other content":       forge(t, db, manifestOf(Format, file(StoreName, "xx"))),
		"manifest is no JSON": forge(t, db, file(ManifestName, "{")),
		"behind the manifest": forge(t, db, manifestOf(Format, db), file("uploads/x", "")),
	} {
		outer := t.TempDir()
		dir := filepath.Join(outer, "in")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		_, err := Extract(t.Context(), bytes.NewReader(b), dir, 1<<19)
		if err == nil || (!errors.Is(err, ErrArchive) && name != "file as folder") {
			t.Errorf("%s: %v", name, err)
		}
		if around, _ := os.ReadDir(outer); len(around) != 1 {
			t.Errorf("%s: it wrote outside: %v", name, around)
		}
	}
}

func TestContextEnds(t *testing.T) {
	dir, store := data(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Write(ctx, io.Discard, Source{Store: store, DataDir: dir}); !errors.Is(err, context.Canceled) {
		t.Errorf("write: %v", err)
	}
	if _, err := Extract(ctx, strings.NewReader("anything"), t.TempDir(), 0); !errors.Is(err, context.Canceled) || errors.Is(err, ErrArchive) {
		t.Errorf("extract: %v", err)
	}
}

// FuzzExtract feeds the reader with anything. It must not write outside of its folder, nor more than it is allowed.
func FuzzExtract(f *testing.F) {
	db := file(StoreName, "db")
	f.Add(forge(f, db, manifestOf(Format, db)))
	f.Add(forge(f, db, file("../x", "y")))
	f.Add([]byte("hello"))
	f.Fuzz(func(t *testing.T, b []byte) {
		const most = 1 << 16
		outer := t.TempDir()
		dir := filepath.Join(outer, "in")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		m, err := Extract(t.Context(), bytes.NewReader(b), dir, most)
		if err == nil && !m.Has(StoreName) {
			t.Error("accepted without a store")
		}
		if around, _ := os.ReadDir(outer); len(around) != 1 {
			t.Errorf("it wrote outside: %v", around)
		}
		var sum int64
		_ = filepath.WalkDir(dir, func(_ string, e os.DirEntry, err error) error {
			if info, infoErr := e.Info(); err == nil && infoErr == nil && info.Mode().IsRegular() {
				sum += info.Size()
			}
			return nil
		})
		if sum > most {
			t.Errorf("%d bytes written", sum)
		}
	})
}
