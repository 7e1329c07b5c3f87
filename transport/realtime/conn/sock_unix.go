//go:build unix

package conn

import (
	"errors"
	"io"
	"net"
	"syscall"
)

// rawOf returns the way to the file descriptor of a TCP connection, nil for any other.
func rawOf(nc net.Conn) syscall.RawConn {
	tcp, ok := nc.(*net.TCPConn)
	if !ok {
		return nil
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return nil
	}
	limitUnsent(raw)
	return raw
}

// tryRead reads once without waiting. wait is true when nothing is there yet.
func tryRead(fd uintptr, b []byte) (n int, wait bool, err error) {
	for {
		n, err = syscall.Read(int(fd), b)
		switch {
		case err == nil && n == 0:
			return 0, false, io.EOF
		case err == nil:
			return n, false, nil
		case errors.Is(err, syscall.EINTR):
		case errors.Is(err, syscall.EAGAIN):
			return 0, true, nil
		default:
			return 0, false, err
		}
	}
}

// tryWrite writes once without waiting; n is 0 when the socket takes nothing now.
func tryWrite(fd uintptr, b []byte) (n int, err error) {
	for {
		n, err = syscall.Write(int(fd), b)
		switch {
		case err == nil:
			return n, nil
		case errors.Is(err, syscall.EINTR):
		case errors.Is(err, syscall.EAGAIN):
			return 0, nil
		default:
			return 0, err
		}
	}
}
