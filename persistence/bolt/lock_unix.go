//go:build unix && !solaris && !aix

package bolt

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"parley/persistence"
)

// lockPoll is how often a locked file is tried again.
const lockPoll = 20 * time.Millisecond

// lock takes the lock that bbolt will take, before anything is read from the file: a file that another process is
// writing looks damaged.
func lock(ctx context.Context, f *os.File, exclusive bool) error {
	how := syscall.LOCK_SH | syscall.LOCK_NB
	if exclusive {
		how = syscall.LOCK_EX | syscall.LOCK_NB
	}
	deadline := time.Now().Add(lockWait)
	for {
		err := syscall.Flock(int(f.Fd()), how)
		switch {
		case err == nil:
			return nil
		case !errors.Is(err, syscall.EWOULDBLOCK):
			return fmt.Errorf("lock the store %s: %w", f.Name(), err)
		case time.Now().After(deadline):
			return fmt.Errorf("%s is open in another process; stop that one first: %w", f.Name(), persistence.ErrLocked)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("lock the store %s: %w", f.Name(), context.Cause(ctx))
		case <-time.After(lockPoll):
		}
	}
}
