package config

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func TestParseKey(t *testing.T) {
	raw := bytes.Repeat([]byte{0xfb, 0xff}, KeySize/2) // needs the letters in which the base64 alphabets differ
	for _, text := range []string{
		hex.EncodeToString(raw), strings.ToUpper(hex.EncodeToString(raw)), " " + hex.EncodeToString(raw) + "\n",
		base64.StdEncoding.EncodeToString(raw), base64.RawURLEncoding.EncodeToString(raw),
	} {
		if k, err := ParseKey(text); err != nil || k != Key(raw) {
			t.Errorf("%q: %v", text, err)
		}
	}
	for _, text := range []string{"", "short", hex.EncodeToString(raw[1:]), base64.StdEncoding.EncodeToString(append(raw, 1)), strings.Repeat("z", 64)} {
		if _, err := ParseKey(text); err == nil {
			t.Errorf("%q: accepted", text)
		}
	}
}

func TestKeyHidesItself(t *testing.T) {
	k := Key(bytes.Repeat([]byte{7}, KeySize))
	var log bytes.Buffer
	slog.New(slog.NewTextHandler(&log, nil)).Info("key", "key", k)
	for _, text := range []string{fmt.Sprint(k), fmt.Sprintf("%v %+v %#v %s", k, &k, k, k), log.String()} {
		if strings.Contains(text, "7") && strings.Contains(text, "7, 7") || strings.Contains(text, "7 7") || !strings.Contains(text, mask) {
			t.Errorf("printed as %q", text)
		}
	}
}

func TestSecretKeyIsMadeOnceAndKept(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "deep", "data")
	var wg sync.WaitGroup
	made := make([]Key, 16)
	for i := range made { // servers that start at once
		wg.Go(func() {
			k, err := SecretKey(dir, nil)
			if err != nil {
				t.Error(err)
			}
			made[i] = k
		})
	}
	wg.Wait()
	for _, k := range made {
		if k != made[0] || k == (Key{}) {
			t.Fatal("different keys")
		}
	}
	info, err := os.Stat(filepath.Join(dir, KeyFile))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
	given := Key{1}
	if k, err := SecretKey(dir, &given); err != nil || k != given {
		t.Errorf("the given key does not win: %v", err)
	}
	// With the key in place a store beside it is fine.
	if err := os.WriteFile(filepath.Join(dir, "parley.db"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if k, err := SecretKey(dir, nil); err != nil || k != made[0] {
		t.Errorf("beside a store: %v", err)
	}
}

func TestSecretKeyRefusals(t *testing.T) {
	good := strings.Repeat("ab", KeySize)
	for name, tc := range map[string]struct {
		text string
		mode os.FileMode
	}{
		"half":            {good[:40], 0o600},
		"empty":           {"", 0o600},
		"padded":          {good + strings.Repeat(" ", maxKeyFile), 0o600},
		"others may read": {good, 0o604},
		"others may all":  {good, 0o666},
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, KeyFile)
		if err := errors.Join(os.WriteFile(path, []byte(tc.text), 0o600), os.Chmod(path, tc.mode)); err != nil {
			t.Fatal(err)
		}
		if _, err := SecretKey(dir, nil); !errors.Is(err, ErrKey) || strings.Contains(err.Error(), "abab") {
			t.Errorf("%s: %v", name, err)
		}
		if now, err := os.ReadFile(path); err != nil || string(now) != tc.text {
			t.Errorf("%s: the file was changed", name)
		}
	}
	lost := t.TempDir()
	if err := os.WriteFile(filepath.Join(lost, "parley.db"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := SecretKey(lost, nil); !errors.Is(err, ErrKey) {
		t.Errorf("a store without its key: %v", err)
	}
	folder := t.TempDir()
	if err := os.Mkdir(filepath.Join(folder, KeyFile), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := SecretKey(folder, nil); !errors.Is(err, ErrKey) {
		t.Errorf("a folder as the key: %v", err)
	}
}
