package load

import (
	"bytes"
	"crypto/sha1"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/sys/unix"
)

// maxHandshake bounds the server's answer to the handshake, in bytes.
const maxHandshake = 16 << 10

// keepBuffer is the largest buffer that a connection keeps while it holds nothing.
const keepBuffer = 4 << 10

// The handshake's key can be the same for all connections: it only proves that the other side
// speaks WebSocket (RFC 6455, section 1.3).
const (
	handshakeKey  = "cGFybGV5LWxvYWQtdGVzdA=="
	handshakeGUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
)

var handshakeAccept = func() string {
	sum := sha1.Sum([]byte(handshakeKey + handshakeGUID))
	return base64.StdEncoding.EncodeToString(sum[:])
}()

// serve does what the poller says about one socket.
func (l *loop) serve(c *conn, events uint32) {
	if c.fd < 0 {
		return
	}
	if c.state == stateConnecting {
		if err := socketError(c.fd); err != nil {
			l.drop(c, err.Error())
			return
		}
		l.upgrade(c)
		return
	}
	if events&unix.EPOLLOUT != 0 {
		l.flush(c)
	}
	switch {
	case c.fd < 0 || events&(unix.EPOLLIN|unix.EPOLLHUP|unix.EPOLLERR|unix.EPOLLRDHUP) == 0:
	case c.slow && c.state == stateJoined:
		l.drop(c, "cut off")
	default:
		l.read(c)
	}
}

func (l *loop) upgrade(c *conn) {
	c.state = stateUpgrading
	l.setOut(c, false)
	l.text = fmt.Appendf(l.text[:0], "GET %s HTTP/1.1\r\nHost: %s\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"+
		"Sec-WebSocket-Key: %s\r\nSec-WebSocket-Version: 13\r\nUser-Agent: parley-load\r\n\r\n",
		strings.TrimRight(l.target.base.Path, "/")+l.dialect.path(), l.target.base.Host, handshakeKey)
	l.write(c, l.text)
}

// read takes what the socket has and handles every whole frame in it.
func (l *loop) read(c *conn) {
	kept := copy(l.buf, c.rest)
	n, err := unix.Read(c.fd, l.buf[kept:])
	switch {
	case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EINTR):
		return
	case err != nil:
		l.drop(c, "read: "+err.Error())
		return
	case n == 0:
		l.drop(c, "closed without a close frame")
		return
	}
	data := l.buf[:kept+n]
	now := l.now()
	used, err := l.consume(c, data, now)
	if err != nil {
		l.drop(c, err.Error())
	}
	if c.fd < 0 {
		return
	}
	if used == len(data) && cap(c.rest) > keepBuffer {
		c.rest = nil
		return
	}
	c.rest = append(c.rest[:0], data[used:]...)
}

// consume handles the handshake's answer and the frames in data, and answers how many bytes it used.
func (l *loop) consume(c *conn, data []byte, now int64) (int, error) {
	used := 0
	if c.state == stateUpgrading {
		n, err := checkHandshake(data)
		if n == 0 || err != nil {
			return 0, err
		}
		used = n
		l.upgraded(c)
	}
	for c.fd >= 0 {
		f, n, err := parseFrame(data[used:])
		if n == 0 || err != nil {
			return used, err
		}
		used += n
		if err := l.handleFrame(c, f, now); err != nil {
			return used, err
		}
	}
	return used, nil
}

// checkHandshake reads the answer to the upgrade: its length, 0 when it is not complete.
func checkHandshake(data []byte) (int, error) {
	end := bytes.Index(data, []byte("\r\n\r\n"))
	if end < 0 {
		if len(data) > maxHandshake {
			return 0, fmt.Errorf("answer to the handshake above %d bytes", maxHandshake)
		}
		return 0, nil
	}
	head := string(data[:end])
	status, rest, _ := strings.Cut(head, "\r\n")
	if !strings.HasPrefix(status, "HTTP/1.1 101") {
		return 0, fmt.Errorf("handshake refused: %s", status)
	}
	for line := range strings.SplitSeq(rest, "\r\n") {
		name, value, _ := strings.Cut(line, ":")
		if strings.EqualFold(name, "Sec-WebSocket-Accept") && strings.TrimSpace(value) == handshakeAccept {
			return end + 4, nil
		}
	}
	return 0, fmt.Errorf("handshake: wrong Sec-WebSocket-Accept")
}

func (l *loop) upgraded(c *conn) {
	if c.state = stateGreeting; !l.dialect.greets() {
		l.authenticate(c)
	}
}

func (l *loop) authenticate(c *conn) {
	c.state = stateAuthenticating
	l.text = l.dialect.auth(l.text[:0], c.token)
	l.send(c, opText, l.text)
}

func (l *loop) handleFrame(c *conn, f frame, now int64) error {
	switch f.op {
	case opText:
		if c.inFrags {
			return errFrame
		}
		if f.fin {
			l.handle(c, f.payload, now)
			return nil
		}
		c.inFrags, c.frags = true, append(c.frags[:0], f.payload...)
	case opContinuation:
		if !c.inFrags {
			return errFrame
		}
		if len(c.frags)+len(f.payload) > maxFrame {
			return errFrameTooLarge
		}
		if c.frags = append(c.frags, f.payload...); f.fin {
			whole := c.frags
			c.inFrags, c.frags = false, nil
			l.handle(c, whole, now)
		}
	case opPing:
		l.send(c, opPong, f.payload)
	case opClose:
		code, reason := closeCode(f.payload)
		l.drop(c, strings.TrimSpace(fmt.Sprintf("close code %d %s", code, reason)))
	case opBinary:
		return fmt.Errorf("a binary frame, which the server never sends")
	}
	return nil
}

// send writes one frame.
func (l *loop) send(c *conn, op byte, payload []byte) {
	l.wire = appendFrame(l.wire[:0], op, payload)
	l.write(c, l.wire)
}

func (l *loop) write(c *conn, data []byte) {
	if len(c.unsent) == 0 {
		n, err := unix.Write(c.fd, data)
		if err != nil && err != unix.EAGAIN && err != unix.EINTR {
			l.drop(c, "write: "+err.Error())
			return
		}
		if data = data[max(n, 0):]; len(data) == 0 {
			return
		}
	}
	if len(c.unsent)+len(data) > maxUnsent {
		l.drop(c, "the server does not read: more than 1 MiB waits")
		return
	}
	c.unsent = append(c.unsent, data...)
	l.setOut(c, true)
}

// flush writes what a socket did not take before.
func (l *loop) flush(c *conn) {
	if len(c.unsent) > 0 {
		n, err := unix.Write(c.fd, c.unsent)
		if err != nil && err != unix.EAGAIN && err != unix.EINTR {
			l.drop(c, "write: "+err.Error())
			return
		}
		c.unsent = c.unsent[:copy(c.unsent, c.unsent[max(n, 0):])]
	}
	if len(c.unsent) > 0 {
		return
	}
	c.unsent = nil
	l.setOut(c, false)
	if c.poster != nil && c.poster.blocked {
		l.post(c, l.now())
	}
}

func (l *loop) setOut(c *conn, on bool) {
	if c.wantOut == on {
		return
	}
	c.wantOut = on
	ev := unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(c.slot)}
	if on {
		ev.Events |= unix.EPOLLOUT
	}
	if err := unix.EpollCtl(l.poll, unix.EPOLL_CTL_MOD, c.fd, &ev); err != nil {
		l.drop(c, "change poller: "+err.Error())
	}
}

// drop gives a connection up and books why: as a failure to join, or as an unexpected end.
func (l *loop) drop(c *conn, why string) {
	if c.state == stateClosed {
		return
	}
	if c.fd >= 0 {
		_ = unix.Close(c.fd) // leaves the poller too
		c.fd = -1
	}
	if c.away {
		l.tally.errors.add("on the way back: " + why)
		l.again(c)
		return
	}
	switch {
	case c.slow && c.state == stateJoined:
		l.tally.cut.Add(1)
	case c.state == stateJoined:
		l.tally.closed.Add(1)
		l.tally.closes.add(why)
		if c.hears {
			c.room.members.Add(-1)
		}
	default:
		l.opening--
		l.tally.failed.Add(1)
		l.tally.failures.add(why)
	}
	c.state = stateClosed
	c.rest, c.frags, c.unsent = nil, nil, nil
}
