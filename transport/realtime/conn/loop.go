package conn

import (
	"encoding/binary"
	"errors"
	"io"
	"os"
	"runtime/debug"
	"sync"
	"time"
	"unicode/utf8"
)

const (
	// chunkSize is how many bytes one read takes at most.
	chunkSize = 16 << 10
	// napLimit is the longest sleep of a reader that must slow down, so that it notices a close.
	napLimit = 50 * time.Millisecond
	// lingerTime is how long a goroutine with a grown stack waits for the next message before it is replaced.
	lingerTime = 2 * time.Second
)

type chunk [chunkSize]byte

var chunks = sync.Pool{New: func() any { return new(chunk) }}

// errStop ends the reading of a connection that something else has ended.
var errStop = errors.New("stop")

// loop is the goroutine of the connection. It must stay shallow: what it needs of the stack while
// it waits is paid for by every connection.
func (c *Conn) loop() {
	if len(c.early) > 0 {
		early := c.early
		c.early = nil
		if err := c.work(early); err != nil {
			c.end(err)
			return
		}
	}
	for {
		buf, n, err := c.read()
		if err == nil {
			if buf == nil {
				c.ran = false
				go c.loop()
				return
			}
			err = c.work(buf[:n])
		}
		if buf != nil {
			chunks.Put(buf)
		}
		if err != nil {
			c.end(err)
			return
		}
	}
}

// read waits for bytes. No buffer without an error: the goroutine should be replaced first.
func (c *Conn) read() (*chunk, int, error) {
	if c.raw == nil {
		buf := chunks.Get().(*chunk)
		n, err := c.nc.Read(buf[:])
		if n > 0 {
			err = nil
		}
		return buf, n, err
	}
	for {
		err := c.raw.Read(c.tryRead)
		buf, n := c.chunk, c.chunkN
		c.chunk = nil
		switch {
		case c.renew:
			c.renew = false
			if !c.linger() {
				return nil, 0, err
			}
		case errors.Is(err, os.ErrDeadlineExceeded):
			c.lingers = false
			return nil, 0, c.nc.SetReadDeadline(time.Time{})
		case err == nil:
			if c.hub.now()-c.lingerAt > lingerTime.Milliseconds()/2 {
				c.lingers = false // the next wait moves the deadline
			}
			return buf, n, c.readErr
		default:
			return buf, n, err
		}
	}
}

// linger lets the goroutine wait for a while although its stack has grown: a client that sends often would have a new
// one grown for each of its messages, which costs more than the message.
func (c *Conn) linger() bool {
	c.lingerAt = c.hub.now()
	c.lingers = c.nc.SetReadDeadline(time.Now().Add(lingerTime)) == nil
	return c.lingers
}

// readNow is called by the runtime whenever the socket may be readable; false lets it wait.
func (c *Conn) readNow(fd uintptr) bool {
	buf := chunks.Get().(*chunk)
	n, wait, err := tryRead(fd, buf[:])
	if wait {
		chunks.Put(buf)
		c.renew = c.ran && !c.lingers
		return c.renew
	}
	c.chunk, c.chunkN, c.readErr = buf, n, err
	return true
}

// work parses bytes and runs what they bring. An error ends the connection.
func (c *Conn) work(p []byte) error {
	if c.discard {
		return nil
	}
	c.lastRead.Store(busyReading)
	err := c.in.feed(p, c)
	now := c.hub.now()
	c.lastRead.Store(now)
	switch {
	case c.in.idle():
		c.msgStart.Store(0)
	case c.msgStart.Load() == 0:
		c.msgStart.Store(now)
	}
	var ce *CloseError
	if err == nil || !errors.As(err, &ce) || ce.Remote {
		return err
	}
	// The client broke the protocol. What it still sends is read and dropped, since closing a
	// socket with unread bytes would reset it and lose the close frame.
	c.discard = true
	c.in.drop()
	c.mu.Lock()
	c.half = true
	wake := c.startCloseLocked(CloseFrame(ce.Code, ce.Reason), ce)
	over := !wake && !c.busy
	c.mu.Unlock()
	if wake {
		c.worker.add(c)
	}
	if over {
		return err
	}
	return nil
}

// end is the last thing the goroutine does.
func (c *Conn) end(err error) {
	c.in.drop()
	var ce *CloseError
	if !errors.As(err, &ce) || !ce.Remote {
		if errors.Is(err, errStop) {
			err = nil
		}
		c.shutdown(err)
	}
	why := c.why(err)
	if why == nil {
		why = io.EOF
	}
	c.handler.Closed(c, why)
	c.hub.readers.Done()
}

// message implements sink.
func (c *Conn) message(op byte, payload []byte) error {
	if !c.slow() {
		return c.dropped()
	}
	if op == opText {
		if !utf8.Valid(payload) {
			return &CloseError{Code: CodeInvalidPayload, Reason: "text is not valid UTF-8"}
		}
		c.call(c.handler.Message, payload)
		return nil
	}
	h, ok := c.handler.(BinaryHandler)
	if !ok {
		return &CloseError{Code: CodeUnsupported, Reason: "binary messages are not taken"}
	}
	c.call(h.Binary, payload)
	return nil
}

// call runs a method of the handler. A panic in it costs this connection alone.
func (c *Conn) call(f func(*Conn, []byte), payload []byte) {
	c.ran = true
	defer func() {
		if p := recover(); p != nil {
			c.hub.o.Logger.Error("panic in a message handler", "panic", p, "stack", string(debug.Stack()))
			c.Close(CodeInternal, "internal error")
		}
	}()
	f(c, payload)
}

// fragment implements sink.
func (c *Conn) fragment() error {
	if !c.slow() {
		return c.dropped()
	}
	return nil
}

// control implements sink.
func (c *Conn) control(op byte, payload []byte) error {
	switch op {
	case opPing:
		if !c.slow() {
			return c.dropped()
		}
		c.Push(newFrame(opPong, payload))
		return nil
	case opPong:
		return c.fragment()
	}
	ce, err := parseClose(payload)
	if err != nil {
		return err
	}
	c.peerClosed(CloseFrame(ce.Code, ""), ce)
	return ce
}

// dropped is for what comes while the connection closes: dropped, and the end once it is closed.
func (c *Conn) dropped() error {
	if c.phase.Load() == stateClosed {
		return errStop
	}
	return nil
}

// slow takes an event from the rate and sleeps while there is none; false: the connection is not
// open any more.
func (c *Conn) slow() bool {
	o := &c.hub.o
	wait := c.pace.take(int64(time.Since(c.hub.start)), time.Second/time.Duration(o.Rate), o.Burst)
	for wait > 0 && c.Open() {
		nap := min(wait, napLimit)
		time.Sleep(nap)
		wait -= nap
	}
	return c.Open()
}

// parseClose reads the payload of a client's close frame (RFC 6455, section 5.5.1).
func parseClose(p []byte) (*CloseError, error) {
	if len(p) == 0 {
		return &CloseError{Code: CodeNoStatus, Remote: true}, nil
	}
	if len(p) == 1 {
		return nil, protocolError("close frame has half a code")
	}
	code := int(binary.BigEndian.Uint16(p))
	if !validCode(code) {
		return nil, protocolError("close code is not valid")
	}
	if !utf8.Valid(p[2:]) {
		return nil, &CloseError{Code: CodeInvalidPayload, Reason: "close reason is not valid UTF-8"}
	}
	return &CloseError{Code: code, Reason: string(p[2:]), Remote: true}, nil
}
