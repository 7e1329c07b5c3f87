package load

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// clockTick is the unit of CPU times in /proc: USER_HZ is 100 on every Linux that Go runs on.
const clockTick = time.Second / 100

// errNoProcess means that no process of this user listens at the server's address.
var errNoProcess = errors.New("no process that may be inspected listens there")

// tcpListen is the state LISTEN in /proc/net/tcp.
const tcpListen = "0A"

// findProcess answers the process that listens at an address of this machine: it looks the socket's
// inode up in /proc/net/tcp and then among the descriptors of the processes that may be read.
func findProcess(addr netip.AddrPort) (int, error) {
	inodes := make(map[string]bool)
	for _, name := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		table, err := os.ReadFile(name)
		if err != nil {
			continue // a kernel without that family
		}
		listeners(string(table), addr, inodes)
	}
	links, err := filepath.Glob("/proc/[0-9]*/fd/*")
	if err != nil {
		return 0, fmt.Errorf("list descriptors: %w", err)
	}
	for _, link := range links {
		to, err := os.Readlink(link)
		if err != nil || !inodes[strings.TrimSuffix(strings.TrimPrefix(to, "socket:["), "]")] {
			continue
		}
		return strconv.Atoi(strings.Split(link, "/")[2])
	}
	return 0, errNoProcess
}

// listeners adds the inodes of a table's sockets that accept connections to addr.
func listeners(table string, addr netip.AddrPort, inodes map[string]bool) {
	for line := range strings.Lines(table) {
		f := strings.Fields(line)
		if len(f) < 10 || f[3] != tcpListen {
			continue
		}
		at, ok := parseProcAddr(f[1])
		if ok && at.Port() == addr.Port() && (at.Addr().IsUnspecified() || at.Addr() == addr.Addr()) {
			inodes[f[9]] = true
		}
	}
}

// parseProcAddr reads an address of /proc/net/tcp: words in the machine's byte order, which is
// little-endian on all that matter here, and a hexadecimal port.
func parseProcAddr(text string) (netip.AddrPort, bool) {
	host, port, _ := strings.Cut(text, ":")
	raw, err := hex.DecodeString(host)
	if err != nil || len(raw)%4 != 0 {
		return netip.AddrPort{}, false
	}
	for i := 0; i < len(raw); i += 4 {
		raw[i], raw[i+1], raw[i+2], raw[i+3] = raw[i+3], raw[i+2], raw[i+1], raw[i]
	}
	addr, ok := netip.AddrFromSlice(raw)
	n, err := strconv.ParseUint(port, 16, 16)
	return netip.AddrPortFrom(addr.Unmap(), uint16(n)), ok && err == nil
}

// sampleProcess reads the memory and CPU time of a process.
func sampleProcess(pid int) (sample, error) {
	dir := "/proc/" + strconv.Itoa(pid)
	status, err := os.ReadFile(dir + "/status")
	if err != nil {
		return sample{}, fmt.Errorf("read memory of process %d: %w", pid, err)
	}
	stat, err := os.ReadFile(dir + "/stat")
	if err != nil {
		return sample{}, fmt.Errorf("read CPU time of process %d: %w", pid, err)
	}
	s := sample{rss: kilobytes(status, "VmRSS:"), anon: kilobytes(status, "RssAnon:")}
	// The command's name may hold anything but ends at the last parenthesis; utime and stime are
	// fields 14 and 15 of the whole line.
	f := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(f) < 13 {
		return sample{}, fmt.Errorf("read CPU time of process %d: unknown form", pid)
	}
	for _, field := range f[11:13] {
		ticks, err := strconv.ParseInt(string(field), 10, 64)
		if err != nil {
			return sample{}, fmt.Errorf("read CPU time of process %d: %w", pid, err)
		}
		s.cpu += time.Duration(ticks) * clockTick
	}
	// Proportional set size needs the right to trace; without it the field stays 0.
	if rollup, err := os.ReadFile(dir + "/smaps_rollup"); err == nil {
		s.pss = kilobytes(rollup, "Pss:")
	}
	return s, nil
}

// kilobytes reads a "Name:  N kB" line as bytes, 0 without one.
func kilobytes(text []byte, name string) int64 {
	for line := range bytes.Lines(text) {
		f := bytes.Fields(line)
		if len(f) >= 2 && string(f[0]) == name {
			n, err := strconv.ParseInt(string(f[1]), 10, 64)
			if err != nil {
				return 0
			}
			return n << 10
		}
	}
	return 0
}

// raiseFiles raises the limit of open files for n sockets and tells when they do not fit.
func raiseFiles(n int) error {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return fmt.Errorf("read limit of open files: %w", err)
	}
	need := uint64(n + spareFiles)
	raised := unix.Rlimit{Cur: limit.Max, Max: limit.Max}
	if need > limit.Max {
		// Only a privileged process may; the check below tells when it is not one.
		privileged := unix.Rlimit{Cur: need, Max: need}
		if unix.Setrlimit(unix.RLIMIT_NOFILE, &privileged) == nil {
			return nil
		}
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &raised); err != nil {
		return fmt.Errorf("raise limit of open files: %w", err)
	}
	if need > limit.Max {
		return fmt.Errorf("%d connections need %d open files but this process may have only %d: raise the hard limit (ulimit -Hn, or LimitNOFILE of the service) or lower --connections", n, need, limit.Max)
	}
	return nil
}

// isTerminal says whether a descriptor is one.
func isTerminal(fd uintptr) bool {
	_, err := unix.IoctlGetTermios(int(fd), unix.TCGETS)
	return err == nil
}
