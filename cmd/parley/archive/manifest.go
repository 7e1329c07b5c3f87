// Package archive writes and reads backups: a tar, compressed with gzip unless told otherwise, of the store, the
// generated secret and the uploads, with a manifest at its end that names every part with its size and SHA-256.
//
// The manifest comes last because the sizes and hashes are known last. An archive without one is not whole.
package archive

import (
	"encoding/hex"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"strings"
	"time"
)

// Names of the parts.
const (
	ManifestName = "manifest.json"
	StoreName    = "parley.db"
	KeyName      = "secret.key"
	UploadsName  = "uploads"
)

// Format is the version of the archive's layout. A newer one is refused.
const Format = 1

// Limits of an archive.
const (
	// MaxBytes is the default for the sum of all parts that Extract takes.
	MaxBytes = 64 << 30
	// MaxParts bounds the number of files.
	MaxParts = 1_000_000
	// maxManifest is the largest manifest in bytes: every part takes some 150.
	maxManifest = 256 << 20
	// maxKey is the largest key file in bytes.
	maxKey = 1024
	// maxUpload is the largest uploaded file in bytes; the service takes 2 MB (decision 3).
	maxUpload = 64 << 20
	// maxName is the longest name of a part in bytes, and maxDepth how deep folders go.
	maxName  = 512
	maxDepth = 8
)

// ErrArchive is matched by every error that is the archive's own fault: damage, forgery, a newer format.
var ErrArchive = errors.New("unusable backup")

// Manifest says what is in an archive.
type Manifest struct {
	Format  int       `json:"format"`
	Created time.Time `json:"created"`
	Version string    `json:"version"` // of the program that wrote it
	Parts   []Part    `json:"parts"`
}

// Part is one file.
type Part struct {
	Name   string `json:"name"` // with slashes
	Size   int64  `json:"size"` // in bytes
	SHA256 string `json:"sha256"`
}

// Bytes is the sum of all sizes.
func (m *Manifest) Bytes() int64 {
	var n int64
	for _, p := range m.Parts {
		n += p.Size
	}
	return n
}

// Has says whether there is a part of that name.
func (m *Manifest) Has(name string) bool {
	for _, p := range m.Parts {
		if p.Name == name {
			return true
		}
	}
	return false
}

func refuse(form string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrArchive, fmt.Errorf(form, args...))
}

// limitOf checks the name of a part and returns the largest size that such a part may have.
func limitOf(name string, most int64) (int64, error) {
	switch name {
	case ManifestName:
		return maxManifest, nil
	case StoreName:
		return most, nil
	case KeyName:
		return maxKey, nil
	}
	rest, isUpload := strings.CutPrefix(name, UploadsName+"/")
	if !isUpload || rest == "" || len(name) > maxName || path.Clean(name) != name || strings.Count(name, "/") > maxDepth ||
		strings.ContainsAny(name, "\\\x00") || !filepath.IsLocal(filepath.FromSlash(name)) {
		return 0, refuse("a part has no business in it: %.100q", name)
	}
	return maxUpload, nil
}

// compare checks that the manifest names exactly the parts that were read.
func (m *Manifest) compare(read []Part) error {
	if m.Format != Format {
		return refuse("its format is %d, this program knows %d", m.Format, Format)
	}
	if !m.Has(StoreName) {
		return refuse("it has no %s", StoreName)
	}
	if len(m.Parts) != len(read) {
		return refuse("it has %d parts, its manifest names %d", len(read), len(m.Parts))
	}
	want := make(map[string]Part, len(m.Parts))
	for _, p := range m.Parts {
		want[p.Name] = p
	}
	for _, p := range read {
		w, named := want[p.Name]
		if !named {
			return refuse("%q is not in its manifest", p.Name)
		}
		if w != p {
			return refuse("%q is not what was backed up: %d bytes with SHA-256 %.16s…, want %d with %.16s…",
				p.Name, p.Size, p.SHA256, w.Size, w.SHA256)
		}
	}
	return nil
}

func sum(hash []byte) string { return hex.EncodeToString(hash) }
