package conn

import "syscall"

const (
	// tcpNotSentLowat is TCP_NOTSENT_LOWAT of linux/tcp.h; package syscall does not name it.
	tcpNotSentLowat = 25
	// unsentLimit is how many bytes the kernel takes that it can't send yet. Its own bound is
	// several MB a socket, which would hide for a long time that a client does not read.
	unsentLimit = 128 << 10
)

func limitUnsent(raw syscall.RawConn) {
	// An old kernel without the option only notices slow clients later.
	_ = raw.Control(func(fd uintptr) {
		_ = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpNotSentLowat, unsentLimit)
	})
}
