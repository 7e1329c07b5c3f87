//go:build !linux

package bolt

import (
	"fmt"
	"os"
)

// flush makes what was written to a file durable.
func flush(f *os.File) error {
	if err := f.Sync(); err != nil {
		return fmt.Errorf("sync %s: %w", f.Name(), err)
	}
	return nil
}

// reserve does nothing here: writing asks for the space.
func reserve(*os.File, int64, int64) {}
