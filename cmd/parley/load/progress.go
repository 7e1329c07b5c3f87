package load

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// How often the progress is shown.
const (
	terminalEvery = 250 * time.Millisecond
	plainEvery    = 2 * time.Second
)

// progress shows what a run is doing: one line that is refreshed on a terminal, plain lines
// elsewhere.
type progress struct {
	mu       sync.Mutex
	out      io.Writer
	terminal bool
	every    time.Duration
	shown    time.Time
	open     bool // a refreshed line stands on the terminal
}

func newProgress(out io.Writer) *progress {
	p := &progress{out: out, every: plainEvery}
	if f, ok := out.(*os.File); ok && isTerminal(f.Fd()) {
		p.terminal, p.every = true, terminalEvery
	}
	return p
}

// update shows a line unless the last one is too young.
func (p *progress) update(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Since(p.shown) < p.every {
		return
	}
	p.shown = time.Now()
	if p.terminal {
		p.open = true
		p.print("\r\x1b[K"+format, args...)
		return
	}
	p.print(format+"\n", args...)
}

// note shows a line that stays.
func (p *progress) note(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open {
		p.open = false
		p.print("\r\x1b[K")
	}
	p.shown = time.Time{}
	p.print(format+"\n", args...)
}

// print writes; a display that is gone must not end the measurement.
func (p *progress) print(format string, args ...any) {
	_, _ = fmt.Fprintf(p.out, format, args...)
}
