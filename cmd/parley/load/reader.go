package load

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strconv"
	"time"
)

// selfPID is this program's own process.
var selfPID = os.Getpid()

// readerBuffer holds the headers of an answer and the part of its body that came with them.
const readerBuffer = 64 << 10

// reader sends one request again and again over one connection. It parses no more of an answer than its length, so that
// the measuring costs little beside what it measures.
type reader struct {
	conn net.Conn
	in   *bufio.Reader
	readTally
}

// readTally is what reading gave.
type readTally struct {
	requests          int64
	bytes             int // of the latest body
	latency, lag      latencies
	took              time.Duration
	serverCPU, ownCPU time.Duration
}

func (t *readTally) perSecond() float64 { return float64(t.requests) / t.took.Seconds() }

func (t *readTally) merge(other *readTally) {
	t.requests += other.requests
	t.bytes = max(t.bytes, other.bytes)
	t.latency.merge(other.latency)
	t.lag.merge(other.lag)
}

func dialReader(ctx context.Context, addr netip.AddrPort) (*reader, error) {
	d := net.Dialer{Timeout: requestTimeout}
	conn, err := d.DialContext(ctx, "tcp", addr.String())
	if err != nil {
		return nil, err
	}
	return &reader{conn: conn, in: bufio.NewReaderSize(conn, readerBuffer), readTally: readTally{latency: newLatencies(), lag: newLatencies()}}, nil
}

func (c *reader) close() { _ = c.conn.Close() }

// loop reads until the pacer's end. Latency counts from the time for which a request was due.
func (c *reader) loop(ctx context.Context, request []byte, p *pacer, began time.Time) error {
	for {
		now := int64(time.Since(began))
		if p.over(now) || ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if wait := p.due - now; p.fixed() && wait > 0 {
			time.Sleep(time.Duration(wait))
			now = int64(time.Since(began))
		}
		due := p.posted(now)
		c.lag.add(now - due)
		if err := c.conn.SetDeadline(time.Now().Add(requestTimeout)); err != nil {
			return err
		}
		if _, err := c.conn.Write(request); err != nil {
			return err
		}
		if err := c.answer(); err != nil {
			return err
		}
		c.latency.add(int64(time.Since(began)) - due)
		c.requests++
	}
}

var (
	statusOK      = []byte("HTTP/1.1 200 ")
	contentLength = []byte("Content-Length: ")
)

// answer reads one answer to its end.
func (c *reader) answer() error {
	length := -1
	for first := true; ; first = false {
		line, err := c.in.ReadSlice('\n')
		if err != nil {
			return err
		}
		switch {
		case first && !bytes.HasPrefix(line, statusOK):
			return fmt.Errorf("the server answered %q", bytes.TrimSpace(line))
		case bytes.HasPrefix(line, contentLength):
			if length, err = strconv.Atoi(string(bytes.TrimSpace(line[len(contentLength):]))); err != nil {
				return fmt.Errorf("content length: %w", err)
			}
		case len(line) <= 2:
			if length < 0 {
				return errors.New("an answer without a length")
			}
			c.bytes = length
			_, err = c.in.Discard(length)
			return err
		}
	}
}

// sampleOrZero is sampleProcess for figures that may be left out.
func sampleOrZero(pid int) sample {
	if pid == 0 {
		return sample{}
	}
	s, err := sampleProcess(pid)
	if err != nil {
		return sample{}
	}
	return s
}
