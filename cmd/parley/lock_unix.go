//go:build unix && !solaris && !aix

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// lockStore takes the lock of a store's file, so that no server can open it until release. A file that is not there
// needs none, one that a server holds is errServing.
func lockStore(path string) (release func(), err error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return func() {}, nil
	}
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		return func() { _ = f.Close() }, nil // lets the lock go
	}
	if errors.Is(err, syscall.EWOULDBLOCK) {
		err = errServing
	}
	return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), f.Close())
}
