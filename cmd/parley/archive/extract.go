package archive

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
)

// Extract reads an archive into an empty folder and returns its manifest when everything in it is as it was written.
// On an error the folder holds whatever was read so far. most is the largest sum of all parts in bytes, 0 for MaxBytes.
//
// Nothing outside of the folder is written, whatever the archive says: only plain files with the names of parts are
// taken, each once, each up to its limit, and the folder is an os.Root. What the archive itself is to blame for is
// ErrArchive.
func Extract(ctx context.Context, r io.Reader, dir string, most int64) (manifest *Manifest, err error) {
	if most == 0 {
		most = MaxBytes
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("read the backup: %w", err)
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	in := bufio.NewReader(&stoppable{ctx: ctx, r: r})
	head, _ := in.Peek(2) // a shorter file is no tar either
	var body io.Reader = in
	if isGzip(head) {
		zip, err := gzip.NewReader(in)
		if err != nil {
			return nil, refuse("read the backup: %w", err)
		}
		body = zip
	}
	e := &extractor{root: root, tar: tar.NewReader(body), most: most, left: most, seen: map[string]bool{}}
	manifest, err = e.all()
	if err != nil && ctx.Err() != nil {
		return nil, fmt.Errorf("read the backup: %w", context.Cause(ctx))
	}
	return manifest, err
}

type extractor struct {
	root  *os.Root
	tar   *tar.Reader
	most  int64
	left  int64 // bytes that may still come
	seen  map[string]bool
	parts []Part
}

func (e *extractor) all() (*Manifest, error) {
	for {
		h, err := e.tar.Next()
		if errors.Is(err, io.EOF) {
			return nil, refuse("it has no manifest, so its end is missing")
		}
		if err != nil {
			return nil, refuse("read the backup: %w", err)
		}
		limit, err := e.admit(h)
		if err != nil {
			return nil, err
		}
		if h.Name == ManifestName {
			return e.manifest(limit)
		}
		part, err := e.part(h)
		if err != nil {
			return nil, err
		}
		e.parts = append(e.parts, part)
	}
}

// admit checks the header of a part before anything of it is read.
func (e *extractor) admit(h *tar.Header) (int64, error) {
	limit, err := limitOf(h.Name, e.most)
	if err != nil {
		return 0, err
	}
	switch {
	case h.Typeflag != tar.TypeReg:
		return 0, refuse("%q is not a plain file", h.Name)
	case h.Size < 0 || h.Size > limit:
		return 0, refuse("%q has %d bytes, more than the %d that it may have", h.Name, h.Size, limit)
	case h.Size > e.left:
		return 0, refuse("it holds more than %d bytes; raise --max-size if that is right", e.most)
	case e.seen[h.Name]:
		return 0, refuse("%q is in it twice", h.Name)
	case len(e.seen) > MaxParts:
		return 0, refuse("it has more than %d parts", MaxParts)
	}
	e.left -= h.Size
	e.seen[h.Name] = true
	return limit, nil
}

// part writes one file and makes it durable.
func (e *extractor) part(h *tar.Header) (part Part, err error) {
	if folder := path.Dir(h.Name); folder != "." {
		if err := e.root.MkdirAll(folder, 0o700); err != nil {
			return part, fmt.Errorf("read the backup: %w", err)
		}
	}
	f, err := e.root.OpenFile(h.Name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return part, fmt.Errorf("read the backup: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	hash := sha256.New()
	in := &source{r: e.tar}
	n, err := io.Copy(io.MultiWriter(f, hash), in)
	if in.err != nil {
		return part, refuse("%q: %w", h.Name, in.err)
	}
	if err == nil {
		err = f.Sync()
	}
	if err != nil {
		return part, fmt.Errorf("read the backup: %w", err)
	}
	return Part{Name: h.Name, Size: n, SHA256: sum(hash.Sum(nil))}, nil
}

// manifest reads the last entry and holds it against what was read before it.
func (e *extractor) manifest(limit int64) (*Manifest, error) {
	var m Manifest
	if err := json.NewDecoder(io.LimitReader(e.tar, limit)).Decode(&m); err != nil {
		return nil, refuse("its manifest: %w", err)
	}
	if _, err := e.tar.Next(); !errors.Is(err, io.EOF) {
		return nil, refuse("there is something behind its manifest")
	}
	if err := m.compare(e.parts); err != nil {
		return nil, err
	}
	return &m, nil
}

// source remembers the error of a reader, to tell it from one of the writer.
type source struct {
	r   io.Reader
	err error
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}
