package conn

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/coder/websocket"
)

// journal is a sink that writes down what it gets.
type journal struct{ log []string }

func (j *journal) message(op byte, p []byte) error {
	j.log = append(j.log, fmt.Sprintf("%d %q", op, p))
	return nil
}

func (j *journal) control(op byte, p []byte) error {
	if op == opClose {
		ce, err := parseClose(p)
		if err != nil {
			return err
		}
		return ce
	}
	return nil
}

func (j *journal) fragment() error { return nil }

// fuzzLimit is small so that the fuzzer's inputs stay small.
const fuzzLimit = 200

// FuzzReader: however the bytes are cut the outcome is the same, and it is the library's.
func FuzzReader(f *testing.F) {
	f.Add(text("hello"), byte(3))
	f.Add(append(masked(opText, []byte("a")), masked(finBit, []byte("b"))...), byte(1))
	f.Add(append(masked(finBit|opPing, []byte("a")), masked(finBit|opClose, []byte{3, 232})...), byte(2))
	f.Add([]byte{0x81, 0xFF, 0x7F, 255, 255, 255, 255, 255, 255, 255, 1, 2, 3, 4}, byte(7))
	f.Add(append(masked(opBinary, make([]byte, 150)), masked(finBit, make([]byte, 60))...), byte(50))
	f.Fuzz(func(t *testing.T, in []byte, step byte) {
		whole, wholeErr := feedAll(in, len(in)+1)
		parts, partsErr := feedAll(in, int(step)+1)
		if fmt.Sprint(whole) != fmt.Sprint(parts) || fmt.Sprint(wholeErr) != fmt.Sprint(partsErr) {
			t.Fatalf("whole %q %v\nparts %q %v", whole, wholeErr, parts, partsErr)
		}
		lib, code := library(t, in)
		if fmt.Sprint(whole) != fmt.Sprint(lib) {
			t.Fatalf("ours %q %v\nlibrary %q %d", whole, wholeErr, lib, code)
		}
		var ce *CloseError
		if errors.As(wholeErr, &ce) && ce.Remote && ce.Code != code {
			t.Fatalf("ours %v, library %d", wholeErr, code)
		}
	})
}

func feedAll(in []byte, step int) ([]string, error) {
	r := reader{limit: fuzzLimit}
	var j journal
	defer r.drop()
	in = bytes.Clone(in)
	for len(in) > 0 {
		n := min(step, len(in))
		if err := r.feed(in[:n], &j); err != nil {
			return j.log, err
		}
		in = in[n:]
	}
	return j.log, nil
}

// library reads the same bytes with the library.
func library(t *testing.T, in []byte) (log []string, code int) {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.Header = http.Header{"Connection": {"Upgrade"}, "Upgrade": {"websocket"}, "Sec-Websocket-Version": {"13"}, "Sec-Websocket-Key": {"dGhlIHNhbXBsZSBub25jZQ=="}}
	ws, err := websocket.Accept(&memoryWriter{httptest.NewRecorder(), &memoryConn{r: bytes.NewReader(in)}}, r, nil)
	if err != nil {
		t.Fatal(err)
	}
	// CloseNow would wait for a close handshake that this connection can't do.
	ws.SetReadLimit(fuzzLimit)
	for {
		typ, p, err := ws.Read(context.Background())
		if err != nil {
			return log, int(websocket.CloseStatus(err))
		}
		log = append(log, fmt.Sprintf("%d %q", typ, p))
	}
}

// memoryConn is a network connection whose client has said everything already.
type memoryConn struct {
	net.Conn
	r *bytes.Reader
}

// Read ends with an error of its own, since the library takes io.EOF for the end of a message.
func (c *memoryConn) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	if err != nil {
		err = net.ErrClosed
	}
	return n, err
}

func (c *memoryConn) Write(p []byte) (int, error) { return len(p), nil }
func (c *memoryConn) Close() error                { return nil }

type memoryWriter struct {
	*httptest.ResponseRecorder
	nc net.Conn
}

func (w *memoryWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return w.nc, bufio.NewReadWriter(bufio.NewReader(w.nc), bufio.NewWriter(io.Discard)), nil
}

func FuzzUnmask(f *testing.F) {
	f.Add([]byte("some bytes to be unmasked"), []byte{1, 2, 3, 4}, 5)
	f.Fuzz(func(t *testing.T, p, k []byte, cut int) {
		if len(k) < 4 || cut < 0 || cut > len(p) {
			return
		}
		key := [4]byte(k)
		want := bytes.Clone(p)
		for i := range want {
			want[i] ^= key[i&3]
		}
		unmask(p[cut:], unmask(p[:cut], key))
		if !bytes.Equal(p, want) {
			t.Fatalf("got %x, want %x", p, want)
		}
	})
}
