package client

import (
	"context"
	"sync"

	"github.com/coder/websocket"
)

// Tap sees the text frames of one socket as they travel, in their order.
type Tap interface {
	// Sent is called before a frame is sent.
	Sent(text []byte)
	// Received is called for each frame that comes.
	Received(text []byte) error
}

// NewTap makes the tap of each new socket, if it is not nil; format is its wire format. It is set before the first socket
// is opened.
var NewTap func(format string) Tap

// maxInspections is how many frames may wait for their taps.
const maxInspections = 4096

// inspections are the frames that wait for their taps. They are looked at beside the reading, which must not get slow by it.
var inspections struct {
	begin   sync.Once
	queue   chan func()
	pending sync.WaitGroup
}

func inspect(look func()) {
	i := &inspections
	i.begin.Do(func() {
		i.queue = make(chan func(), maxInspections)
		go func() { // for as long as the tests run
			for look := range i.queue {
				look()
				i.pending.Done()
			}
		}()
	})
	i.pending.Add(1)
	i.queue <- look
}

// Settle waits until the taps have seen all frames that have come.
func Settle() { inspections.pending.Wait() }

// line is a connection with its tap.
type line struct {
	*websocket.Conn
	tap Tap // nil: nobody looks
}

func newLine(c *websocket.Conn, f format) *line {
	l := &line{Conn: c}
	if NewTap != nil {
		l.tap = NewTap(f.name())
	}
	return l
}

func (l *line) write(ctx context.Context, text []byte) error {
	if l.tap != nil {
		l.tap.Sent(text)
	}
	return l.Write(ctx, websocket.MessageText, text)
}

// read returns the next frame. What is wrong with it is the tap's to remember.
func (l *line) read(ctx context.Context) (websocket.MessageType, []byte, error) {
	kind, text, err := l.Read(ctx)
	if err == nil && l.tap != nil && kind == websocket.MessageText {
		inspect(func() { _ = l.tap.Received(text) })
	}
	return kind, text, err
}
