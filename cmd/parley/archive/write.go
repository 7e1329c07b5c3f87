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
	"io/fs"
	"os"
	"path"
	"time"
)

// Source is what an archive is made of.
type Source struct {
	// Store is an open file at its beginning that holds a whole copy of the store. Required.
	Store *os.File
	// DataDir is where the secret and the uploads are; each is left out when it is not there.
	DataDir string
	// Version of the program and the time, for the manifest.
	Version string
	Now     time.Time
	// Plain leaves out the compression.
	Plain bool
}

// Write writes an archive and returns its manifest. Uploads that vanish meanwhile are left out: the store's copy is
// older, and what it refers to was there before it. An error leaves half an archive behind, which Extract refuses.
func Write(ctx context.Context, w io.Writer, from Source) (*Manifest, error) {
	var zip *gzip.Writer
	if !from.Plain {
		var err error
		if zip, err = gzip.NewWriterLevel(w, gzip.BestSpeed); err != nil {
			return nil, fmt.Errorf("write the backup: %w", err)
		}
		w = zip
	}
	b := &builder{ctx: ctx, tar: tar.NewWriter(w), now: from.Now.UTC().Truncate(time.Second)}
	b.manifest = Manifest{Format: Format, Created: b.now, Version: from.Version}
	if err := b.all(from); err != nil {
		return nil, fmt.Errorf("write the backup: %w", err)
	}
	err := b.tar.Close()
	if zip != nil {
		err = errors.Join(err, zip.Close())
	}
	if err != nil {
		return nil, fmt.Errorf("write the backup: %w", err)
	}
	return &b.manifest, nil
}

// builder adds parts to a tar and keeps account of them.
type builder struct {
	ctx      context.Context
	tar      *tar.Writer
	now      time.Time
	manifest Manifest
}

func (b *builder) all(from Source) error {
	if err := b.add(StoreName, from.Store); err != nil {
		return err
	}
	root, err := os.OpenRoot(from.DataDir)
	if err != nil {
		return err
	}
	err = errors.Join(b.file(root, KeyName), b.uploads(root), root.Close())
	if err != nil {
		return err
	}
	text, err := json.Marshal(b.manifest)
	if err != nil {
		return err
	}
	if err := b.tar.WriteHeader(b.header(ManifestName, int64(len(text)))); err != nil {
		return err
	}
	_, err = b.tar.Write(text)
	return err
}

// uploads adds every plain file of the folder of uploads.
func (b *builder) uploads(root *os.Root) error {
	return fs.WalkDir(root.FS(), UploadsName, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case !entry.Type().IsRegular():
			return nil
		}
		return b.file(root, path.Clean(name))
	})
}

// file adds a file of the data folder, if it is there.
func (b *builder) file(root *os.Root, name string) error {
	f, err := root.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(b.add(name, f), f.Close())
}

// add adds an open file under a name, as long as it is now.
func (b *builder) add(name string, f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a file", f.Name())
	}
	limit, err := limitOf(name, info.Size())
	if err != nil {
		return err
	}
	if info.Size() > limit || len(b.manifest.Parts) == MaxParts {
		return fmt.Errorf("%s is more than a backup takes: %d bytes of %d, part %d of %d", f.Name(), info.Size(), limit,
			len(b.manifest.Parts)+1, MaxParts)
	}
	if err := b.tar.WriteHeader(b.header(name, info.Size())); err != nil {
		return err
	}
	hash := sha256.New()
	in := &stoppable{ctx: b.ctx, r: io.LimitReader(f, info.Size())}
	n, err := io.Copy(io.MultiWriter(b.tar, hash), in)
	if err != nil {
		return err
	}
	if n != info.Size() {
		return fmt.Errorf("%s became shorter while it was read", f.Name())
	}
	b.manifest.Parts = append(b.manifest.Parts, Part{Name: name, Size: n, SHA256: sum(hash.Sum(nil))})
	return nil
}

func (b *builder) header(name string, size int64) *tar.Header {
	return &tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size, Mode: 0o600, ModTime: b.now, Format: tar.FormatPAX}
}

// stoppable is a reader that ends with its context.
type stoppable struct {
	ctx context.Context
	r   io.Reader
}

func (s *stoppable) Read(p []byte) (int, error) {
	if s.ctx.Err() != nil {
		return 0, context.Cause(s.ctx)
	}
	return s.r.Read(p)
}

// isGzip says whether a file begins like one of gzip.
func isGzip(head []byte) bool { return bytes.HasPrefix(head, []byte{0x1f, 0x8b}) }
