//go:build unix && !linux

package conn

import "syscall"

func limitUnsent(syscall.RawConn) {}
