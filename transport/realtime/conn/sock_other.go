//go:build !unix

package conn

import (
	"errors"
	"net"
	"syscall"
)

// rawOf returns nil: without Unix descriptors every connection takes the portable way.
func rawOf(net.Conn) syscall.RawConn { return nil }

func tryRead(uintptr, []byte) (int, bool, error) { return 0, false, errors.ErrUnsupported }

func tryWrite(uintptr, []byte) (int, error) { return 0, errors.ErrUnsupported }
