package main

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"
)

// Memory that is left for those who are connected when new connections are turned away.
const (
	// pressureEvery is how long a look at the memory counts.
	pressureEvery = 250 * time.Millisecond
	// leastReserve and reserveShare say how much memory must be free: at least the first, in bytes, and one part in so many of
	// all there is.
	leastReserve = 64 << 20
	reserveShare = 32
)

// pressure tells whether the machine, or the container that the server runs in, is about to run out of memory. Where
// neither says what it has (not on Linux), it never is.
type pressure struct {
	root string // of the file system; / but in tests
	now  func() time.Time

	mu     sync.Mutex
	looked time.Time
	why    string
}

func newPressure(root string) *pressure { return &pressure{root: root, now: time.Now} }

// Why says, in words, what is short; empty when nothing is.
func (p *pressure) Why() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now := p.now(); now.Sub(p.looked) >= pressureEvery {
		p.looked = now
		p.why = p.look()
	}
	return p.why
}

func (p *pressure) look() string {
	for _, of := range []func() (free, all int64, ok bool){p.container, p.machine} {
		free, all, ok := of()
		if reserve := max(leastReserve, all/reserveShare); ok && free < reserve {
			return fmt.Sprintf("%d MiB of memory are left, and %d are kept for those who are connected", free>>20, reserve>>20)
		}
	}
	return ""
}

// container reads the limit of the control group (version 2, which every current system has) that a container is.
func (p *pressure) container() (free, all int64, ok bool) {
	all, limited := p.number("sys/fs/cgroup/memory.max")
	used, known := p.number("sys/fs/cgroup/memory.current")
	if !limited || !known {
		return 0, 0, false
	}
	stat, _ := os.ReadFile(p.path("sys/fs/cgroup/memory.stat")) // without it, what can be reclaimed counts as used
	return all - used + field(stat, "inactive_file ", 1), all, true
}

// machine reads what the kernel says is available.
func (p *pressure) machine() (free, all int64, ok bool) {
	info, err := os.ReadFile(p.path("proc/meminfo"))
	free, all = field(info, "MemAvailable:", 1024), field(info, "MemTotal:", 1024)
	return free, all, err == nil && all > 0 && free > 0
}

func (p *pressure) path(name string) string { return filepath.Join(p.root, filepath.FromSlash(name)) }

// number reads a file that holds one number; one that says "max" does not.
func (p *pressure) number(name string) (int64, bool) {
	text, err := os.ReadFile(p.path(name))
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseInt(string(bytes.TrimSpace(text)), 10, 64)
	return n, err == nil && n < math.MaxInt64>>1
}

// field reads the number behind a name in a file of lines, 0 when there is none.
func field(text []byte, name string, unit int64) int64 {
	for line := range bytes.Lines(text) {
		rest, found := bytes.CutPrefix(line, []byte(name))
		if !found {
			continue
		}
		words := bytes.Fields(rest)
		if len(words) == 0 {
			return 0
		}
		n, err := strconv.ParseInt(string(words[0]), 10, 64)
		if err != nil {
			return 0
		}
		return n * unit
	}
	return 0
}
