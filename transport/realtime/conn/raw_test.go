package conn

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// rawClient speaks WebSocket byte by byte, well or badly.
type rawClient struct {
	t  testing.TB
	nc net.Conn
	br *bufio.Reader
}

const upgrade = "GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" +
	"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"

// dialRaw connects and sends early behind the request in the same segment.
func dialRaw(t testing.TB, addr string, early ...byte) *rawClient {
	t.Helper()
	nc, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = nc.Close() })
	c := &rawClient{t: t, nc: nc, br: bufio.NewReader(nc)}
	c.send(append([]byte(upgrade), early...))
	_ = nc.SetReadDeadline(time.Now().Add(10 * time.Second))
	status, err := c.br.ReadString('\n')
	if err != nil || !strings.Contains(status, "101") {
		t.Fatalf("handshake: %q %v", status, err)
	}
	for {
		line, err := c.br.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if line == "\r\n" {
			return c
		}
	}
}

func (c *rawClient) send(b []byte) {
	c.t.Helper()
	_ = c.nc.SetWriteDeadline(time.Now().Add(10 * time.Second))
	_, _ = c.nc.Write(b) // the answer shows what became of it
}

// recv reads the next frame of the server that is no heartbeat.
func (c *rawClient) recv() (op byte, payload []byte, err error) {
	for {
		op, payload, err = c.frame()
		if op != opPing {
			return op, payload, err
		}
	}
}

// frame reads one frame of the server.
func (c *rawClient) frame() (op byte, payload []byte, err error) {
	_ = c.nc.SetReadDeadline(time.Now().Add(10 * time.Second))
	var h [2]byte
	if _, err = io.ReadFull(c.br, h[:]); err != nil {
		return 0, nil, err
	}
	if h[0]&finBit == 0 || h[0]&rsvBits != 0 || h[1]&maskBit != 0 {
		return 0, nil, fmt.Errorf("torn frame: header %x", h)
	}
	n := uint64(h[1])
	switch n {
	case 126:
		var b [2]byte
		_, err = io.ReadFull(c.br, b[:])
		n = uint64(binary.BigEndian.Uint16(b[:]))
	case 127:
		var b [8]byte
		_, err = io.ReadFull(c.br, b[:])
		n = binary.BigEndian.Uint64(b[:])
	}
	if err != nil {
		return 0, nil, err
	}
	if n > 64<<20 {
		return 0, nil, fmt.Errorf("torn frame: length %d", n)
	}
	payload = make([]byte, n)
	_, err = io.ReadFull(c.br, payload)
	return h[0] & 0x0F, payload, err
}

// expectClose reads on to the close frame and returns its code.
func (c *rawClient) expectClose() (int, string) {
	c.t.Helper()
	for {
		op, p, err := c.recv()
		if err != nil {
			c.t.Fatalf("no close frame: %v", err)
		}
		if op != opClose {
			continue
		}
		if len(p) < 2 {
			return CodeNoStatus, ""
		}
		return int(binary.BigEndian.Uint16(p)), string(p[2:])
	}
}

// masked makes a client frame; b0 is the first byte.
func masked(b0 byte, payload []byte) []byte {
	key := [4]byte{1, 2, 3, 250}
	b := []byte{b0}
	switch n := len(payload); {
	case n > 0xFFFF:
		b = append(b, maskBit|127)
		b = binary.BigEndian.AppendUint64(b, uint64(n))
	case n > maxControl:
		b = append(b, maskBit|126)
		b = binary.BigEndian.AppendUint16(b, uint16(n))
	default:
		b = append(b, maskBit|byte(n))
	}
	b = append(b, key[:]...)
	for i, x := range payload {
		b = append(b, x^key[i&3])
	}
	return b
}

func text(s string) []byte { return masked(finBit|opText, []byte(s)) }
