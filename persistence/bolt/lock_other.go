//go:build !unix || solaris || aix

package bolt

import (
	"context"
	"os"
)

// lock does nothing here: these systems have no lock that this file and bbolt could share, so bbolt's own, taken a
// moment later, is the only one.
func lock(context.Context, *os.File, bool) error { return nil }
