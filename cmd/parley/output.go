package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// output is a file that gets its name when it is whole: until commit there is nothing under the name, or what was there
// before.
type output struct {
	*os.File
	path    string
	replace bool
}

// createOutput begins a file next to path, mode 0600. It refuses a path that is taken, unless replace is set.
func createOutput(path string, replace bool) (*output, error) {
	if info, err := os.Lstat(path); err == nil {
		if !info.Mode().IsRegular() {
			return nil, fmt.Errorf("%s is not a file", path)
		}
		if !replace {
			return nil, taken(path)
		}
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".partial-*") // mode 0600
	if err != nil {
		return nil, err
	}
	return &output{File: f, path: path, replace: replace}, nil
}

func taken(path string) error {
	return fmt.Errorf("%s is there already; choose another name, or --force to replace it", path)
}

// commit makes the file durable and names it. A file that took the name meanwhile stays, unless it may be replaced.
func (o *output) commit() error {
	if err := errors.Join(o.Sync(), o.Close()); err != nil {
		return err
	}
	if o.replace {
		if err := os.Rename(o.Name(), o.path); err != nil {
			return err
		}
		return syncFolder(filepath.Dir(o.path))
	}
	if err := moveFile(o.Name(), o.path); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return taken(o.path)
		}
		return err
	}
	return syncFolder(filepath.Dir(o.path))
}

// discard removes what was not committed. After commit it does nothing.
func (o *output) discard() {
	_ = o.Close()           // closed already after commit
	_ = os.Remove(o.Name()) // gone already after commit; litter at worst
}

// moveFile renames a file without ever replacing one, where the file system has hard links; else it looks first.
func moveFile(from, to string) error {
	err := os.Link(from, to)
	if err == nil {
		return os.Remove(from)
	}
	if errors.Is(err, fs.ErrExist) {
		return err
	}
	if _, err := os.Lstat(to); err == nil {
		return fmt.Errorf("rename %s to %s: %w", from, to, fs.ErrExist)
	}
	return os.Rename(from, to)
}

// syncFolder makes the names in a folder durable.
func syncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
