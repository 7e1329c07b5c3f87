package main

import (
	"errors"

	"golang.org/x/sys/unix"
)

// exchange swaps two folders in one step, so that at no moment one of them is missing. exchanged is false, without an
// error, on a file system that can't.
func exchange(a, b string) (exchanged bool, err error) {
	err = unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) {
		return false, nil
	}
	return err == nil, err
}
