package process

import (
	"bytes"
	"strings"
	"sync"
)

// maxOutput is how much of a server's output is kept, in bytes; what comes later is dropped, since the beginning tells
// more about a failed test than the end of a flood.
const maxOutput = 4 << 20

// announcement begins the line with which a server says that it accepts requests (decisions, run-time interface).
const announcement = "listening on "

// output keeps what a process writes and waits for its announcement.
type output struct {
	mu      sync.Mutex
	b       bytes.Buffer
	address string
	ready   chan struct{} // closed when address is there
}

func newOutput() *output { return &output{ready: make(chan struct{})} }

// Write implements io.Writer.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if room := maxOutput - o.b.Len(); room > 0 {
		o.b.Write(p[:min(room, len(p))])
	}
	if o.address == "" {
		o.findAddress()
	}
	return len(p), nil
}

// findAddress looks for the announcement among the complete lines.
func (o *output) findAddress() {
	text := o.b.String()
	for _, line := range strings.Split(text[:strings.LastIndexByte(text, '\n')+1], "\n") {
		if address, ok := strings.CutPrefix(strings.TrimSpace(line), announcement); ok {
			o.address = address
			close(o.ready)
			return
		}
	}
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// announced returns the address of the announcement.
func (o *output) announced() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.address
}
