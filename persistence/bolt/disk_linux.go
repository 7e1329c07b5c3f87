package bolt

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// flush makes what was written to a file durable. Its times are not waited for.
func flush(f *os.File) error {
	for {
		switch err := syscall.Fdatasync(int(f.Fd())); {
		case err == nil:
			return nil
		case !errors.Is(err, syscall.EINTR):
			return fmt.Errorf("sync %s: %w", f.Name(), err)
		}
	}
}

// reserve gives a file space up to size, so that flushing what is written there need not change its length. A file
// system that cannot is no error: writing asks for the space then.
func reserve(f *os.File, from, size int64) {
	_ = syscall.Fallocate(int(f.Fd()), 0, from, size-from)
}
