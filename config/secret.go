package config

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
)

// KeySize is the length of the secret for encryption at rest, in bytes (AES-256).
const KeySize = 32

// KeyFile is the name of the generated secret in the data folder.
const KeyFile = "secret.key"

const (
	// maxKeyFile is the largest key file that is read, in bytes.
	maxKeyFile = 1024
	// othersMode are the permissions that the key file must not have: anybody's. The group may read it, since container
	// platforms hand volumes over by their group.
	othersMode = 0o007
)

// ErrKey is matched by the errors of SecretKey that are about a key file which is damaged, lost or open to everybody.
var ErrKey = errors.New("unusable secret key")

// Key is the secret for encryption at rest. It never prints itself.
type Key [KeySize]byte

// String hides the key.
func (Key) String() string { return mask }

// GoString hides the key.
func (Key) GoString() string { return mask }

// LogValue hides the key.
func (Key) LogValue() slog.Value { return slog.StringValue(mask) }

// mask is printed in place of secrets.
const mask = "********"

// ParseKey reads 32 bytes as hex or as base64, with either alphabet and with or without padding. Space around them is
// ignored.
func ParseKey(text string) (Key, error) {
	text = strings.TrimSpace(text)
	var k Key
	if b, err := hex.DecodeString(text); err == nil && len(b) == KeySize {
		return Key(b), nil
	}
	plain := strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(text, "="))
	if b, err := base64.RawStdEncoding.DecodeString(plain); err == nil && len(b) == KeySize {
		return Key(b), nil
	}
	return k, fmt.Errorf("%d bytes as hex or base64, such as `openssl rand -hex %d` prints", KeySize, KeySize)
}

// SecretKey returns the secret of the embedded store: the given one, else the one in the data folder, else a new one
// that it puts there with mode 0600. Call it before the store is opened: a folder with a store but without a key is
// refused, because a new key could not open what the lost one has sealed.
//
// A damaged key file and one that everybody may read are refused with ErrKey and left as they are.
func SecretKey(dataDir string, given *Key) (Key, error) {
	if given != nil {
		return *given, nil
	}
	path := filepath.Join(dataDir, KeyFile)
	k, err := readKey(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return k, err
	}
	store := (&Config{DataDir: dataDir}).StorePath()
	if _, err := os.Lstat(store); err == nil {
		return k, fmt.Errorf("%w: %s is missing although there is a store; put it back from a backup or set PARLEY_SECRET_KEY",
			ErrKey, path)
	}
	if err := createKey(dataDir, path); err != nil {
		return k, fmt.Errorf("create %s: %w", path, err)
	}
	return readKey(path) // another process may have been faster
}

// readKey reads a key file and checks who else may.
func readKey(path string) (Key, error) {
	f, err := os.Open(path)
	if err != nil {
		return Key{}, fmt.Errorf("read the secret key: %w", err)
	}
	defer func() { _ = f.Close() }() // only read
	info, err := f.Stat()
	if err != nil {
		return Key{}, fmt.Errorf("read the secret key: %w", err)
	}
	if !info.Mode().IsRegular() {
		return Key{}, fmt.Errorf("%w: %s is not a file", ErrKey, path)
	}
	if info.Mode().Perm()&othersMode != 0 {
		return Key{}, fmt.Errorf("%w: everybody on this host may use %s (mode %04o); run chmod 600 on it",
			ErrKey, path, info.Mode().Perm())
	}
	data, err := io.ReadAll(io.LimitReader(f, maxKeyFile+1))
	if err != nil {
		return Key{}, fmt.Errorf("read the secret key: %w", err)
	}
	k, err := ParseKey(string(data))
	if len(data) > maxKeyFile || err != nil {
		return Key{}, fmt.Errorf("%w: %s is damaged; put it back from a backup", ErrKey, path)
	}
	return k, nil
}

// createKey writes a new key under another name and links it when it is whole, so that nobody sees half a key and two
// processes that start at once agree on one. A key that is there already stays.
func createKey(dir, path string) (err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, "."+KeyFile+"-*") // mode 0600
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }() // gone already when it was renamed
	var k Key
	_, randomErr := rand.Read(k[:])
	_, writeErr := f.WriteString(hex.EncodeToString(k[:]) + "\n")
	if err := errors.Join(randomErr, writeErr, f.Sync(), f.Close()); err != nil {
		return err
	}
	err = os.Link(f.Name(), path)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil { // a file system without hard links
		if err := os.Rename(f.Name(), path); err != nil {
			return err
		}
	}
	return syncFolder(dir)
}

// syncFolder makes a new name in a folder durable.
func syncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
