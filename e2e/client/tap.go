package client

import (
	"context"

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
		_ = l.tap.Received(text)
	}
	return kind, text, err
}
