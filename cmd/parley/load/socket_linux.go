package load

import (
	"errors"
	"fmt"
	"net/netip"

	"golang.org/x/sys/unix"
)

// slowBuffer is what the system takes in for a connection that does not read, in bytes.
const slowBuffer = 64 << 10

// dialSocket opens a non-blocking TCP socket and begins to connect it, from the source address when
// that is valid.
func dialSocket(source netip.Addr, target netip.AddrPort, slow bool) (int, error) {
	family := unix.AF_INET
	if target.Addr().Is6() {
		family = unix.AF_INET6
	}
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("open socket: %w", err)
	}
	if slow { // else the system would read for it, up to tens of megabytes
		if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, slowBuffer); err != nil {
			return -1, errors.Join(fmt.Errorf("set SO_RCVBUF: %w", err), unix.Close(fd))
		}
	}
	if err := connectSocket(fd, source, target); err != nil {
		_ = unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

func connectSocket(fd int, source netip.Addr, target netip.AddrPort) error {
	// Frames are small and each is a whole event: waiting for more would only add latency.
	if err := unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1); err != nil {
		return fmt.Errorf("set TCP_NODELAY: %w", err)
	}
	if source.IsValid() {
		// The port is chosen at connect, when the whole address pair is known.
		if err := unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_BIND_ADDRESS_NO_PORT, 1); err != nil {
			return fmt.Errorf("set IP_BIND_ADDRESS_NO_PORT: %w", err)
		}
		if err := unix.Bind(fd, sockaddr(netip.AddrPortFrom(source, 0))); err != nil {
			return fmt.Errorf("bind %s: %w", source, err)
		}
	}
	if err := unix.Connect(fd, sockaddr(target)); err != nil && err != unix.EINPROGRESS {
		return fmt.Errorf("connect: %w", err)
	}
	return nil
}

func sockaddr(a netip.AddrPort) unix.Sockaddr {
	if a.Addr().Is4() {
		return &unix.SockaddrInet4{Port: int(a.Port()), Addr: a.Addr().As4()}
	}
	return &unix.SockaddrInet6{Port: int(a.Port()), Addr: a.Addr().As16()}
}

// socketError answers how a pending connect went.
func socketError(fd int) error {
	n, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ERROR)
	if err != nil {
		return fmt.Errorf("read SO_ERROR: %w", err)
	}
	if n != 0 {
		return fmt.Errorf("connect: %w", unix.Errno(n))
	}
	return nil
}
