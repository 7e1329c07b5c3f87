package conn

import (
	"errors"
	"io"
	"log/slog"
	"strings"
	"syscall"
	"testing"
	"time"
)

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// fill pushes until the socket of c takes no more, or c was cut off for that.
func fill(t *testing.T, c *Conn, f *Frame) {
	t.Helper()
	wait(t, "the socket to fill", func() bool {
		for range 8 {
			c.mu.Lock()
			full := c.stalled && c.bytes > 256<<10
			c.mu.Unlock()
			if full || !c.Open() {
				return true
			}
			if c.Waiting() < 512<<10 {
				c.Push(f)
			}
		}
		time.Sleep(time.Millisecond)
		return false
	})
}

// TestSlowConsumer cuts off who does not read, in bytes or in time; others get everything, and
// the code reaches a client that reads again.
func TestSlowConsumer(t *testing.T) {
	f := Text([]byte(strings.Repeat("x", 30000)))
	cases := map[string]struct {
		o     Options
		bytes bool
	}{
		"bytes": {Options{MaxWait: time.Minute, CloseGrace: 5 * time.Second}, true},
		"time":  {Options{MaxWait: 100 * time.Millisecond, CloseGrace: 5 * time.Second}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			h := &recorder{}
			r := newRig(t, tc.o, func() Handler { return h })
			slow := dialRaw(t, r.srv.Listener.Addr().String())
			sc := <-r.conns
			good := dialRaw(t, r.srv.Listener.Addr().String())
			gc := <-r.conns
			fill(t, sc, f)
			if tc.bytes {
				wait(t, "the cut", func() bool { return !sc.Push(f) })
			}
			wait(t, "the cut", func() bool { return !sc.Open() })
			if r.hub.Cut() != 1 {
				t.Fatal("cut off:", r.hub.Cut())
			}
			gc.Push(Text([]byte("still here")))
			if _, p, err := good.recv(); err != nil || string(p) != "still here" {
				t.Fatal(string(p), err)
			}
			if code, reason := slow.expectClose(); code != CodePolicy || reason != "slow consumer" {
				t.Fatal(code, reason)
			}
			slow.send(masked(finBit|opClose, []byte{3, 240}))
			expectEnd(t, h, func(err error) bool { return errors.Is(err, ErrSlowConsumer) })
			if !gc.Open() {
				t.Fatal("the other connection went too")
			}
		})
	}
}

// TestNeverReading: a client that never reads again is gone soon after it was cut off, and what waited for it with it.
func TestNeverReading(t *testing.T) {
	h := &recorder{}
	r := newRig(t, Options{MaxWait: 50 * time.Millisecond, CloseGrace: 100 * time.Millisecond}, func() Handler { return h })
	slow := dialRaw(t, r.srv.Listener.Addr().String())
	c := <-r.conns
	fill(t, c, Text([]byte(strings.Repeat("x", 30000))))
	wait(t, "the connection to go", func() bool { return r.hub.Len() == 0 })
	expectEnd(t, h, func(err error) bool { return errors.Is(err, ErrSlowConsumer) })
	if _, err := io.Copy(io.Discard, slow.nc); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the client then reads to %v", err)
	}
}

// TestSlowButReading: a client that pauses for less than MaxWait loses nothing and keeps order,
// and the fast way works again afterwards.
func TestSlowButReading(t *testing.T) {
	r := newRig(t, Options{MaxWait: 500 * time.Millisecond}, func() Handler { return &recorder{} })
	raw := dialRaw(t, r.srv.Listener.Addr().String())
	c := <-r.conns
	pad := strings.Repeat("x", 9000)
	sent := 0
	push := func() {
		if !c.Push(Text([]byte{byte(sent), byte(sent >> 8)}, []byte(pad))) {
			t.Fatal("push failed at", sent)
		}
		sent++
	}
	read := 0
	for range 3 {
		wait(t, "the socket to fill", func() bool {
			push()
			return c.Waiting() > 300<<10
		})
		for ; read < sent; read++ {
			op, p, err := raw.recv()
			if err != nil || op != opText || len(p) != len(pad)+2 || int(p[0])|int(p[1])<<8 != read&0xFFFF {
				t.Fatalf("frame %d: op %d, %d bytes, %v", read, op, len(p), err)
			}
		}
		wait(t, "the outbox to empty", func() bool { return c.Waiting() == 0 })
		time.Sleep(600 * time.Millisecond) // beyond the write deadline of the slow way
	}
	push()
	if _, _, err := raw.recv(); err != nil {
		t.Fatal(err)
	}
	if !c.Open() || r.hub.Cut() != 0 {
		t.Fatal("was cut off")
	}
}

func TestBigFrameMayWaitAlone(t *testing.T) {
	r := newRig(t, Options{}, func() Handler { return &recorder{} })
	raw := dialRaw(t, r.srv.Listener.Addr().String())
	c := <-r.conns
	big := Text([]byte(strings.Repeat("y", 6<<20)))
	if !c.Push(big) {
		t.Fatal("a big frame was refused")
	}
	wait(t, "the socket to fill", func() bool { c.mu.Lock(); defer c.mu.Unlock(); return c.stalled })
	if c.Push(Text([]byte("one more"))) {
		t.Fatal("more was taken behind it")
	}
	if op, p, err := raw.recv(); err != nil || op != opText || len(p) != 6<<20 {
		t.Fatal(op, len(p), err)
	}
	if code, _ := raw.expectClose(); code != CodePolicy {
		t.Fatal(code)
	}
}

// TestHeartbeat: who answers stays, who is silent goes, and what is sent is the chosen frame.
func TestHeartbeat(t *testing.T) {
	o := Options{PingInterval: 50 * time.Millisecond, PingTimeout: 700 * time.Millisecond}
	h := &recorder{}
	r := newRig(t, o, func() Handler { return h })
	ws, c := r.dial()
	go func() { _, _, _ = ws.Read(within(t)) }() // answers pings
	dialRaw(t, r.srv.Listener.Addr().String())
	mute := <-r.conns
	begun := time.Now()
	expectEnd(t, h, func(err error) bool { return errors.Is(err, ErrPingTimeout) })
	if mute.Open() {
		t.Fatal("the mute connection lives")
	}
	if took := time.Since(begun); took > 4*time.Second {
		t.Fatal("took", took)
	}
	time.Sleep(time.Second) // longer than a silent connection may live
	if !c.Open() {
		t.Fatal("the answering connection was closed")
	}
}

// TestBusyHandlerIsNotDead: a client is not blamed for a handler that takes its time.
func TestBusyHandlerIsNotDead(t *testing.T) {
	release := make(chan struct{})
	h := &recorder{on: func(*Conn, []byte) { <-release }}
	r := newRig(t, Options{PingInterval: 30 * time.Millisecond, PingTimeout: 30 * time.Millisecond}, func() Handler { return h })
	ws, c := r.dial()
	go func() { _, _, _ = ws.Read(within(t)) }()
	if err := ws.Write(within(t), 1, []byte("x")); err != nil {
		t.Fatal(err)
	}
	time.Sleep(300 * time.Millisecond)
	close(release)
	time.Sleep(100 * time.Millisecond)
	if !c.Open() {
		t.Fatal(h.ends())
	}
}

func TestMessageTimeout(t *testing.T) {
	o := Options{PingInterval: 20 * time.Millisecond, PingTimeout: 10 * time.Second, MessageTimeout: 50 * time.Millisecond}
	h := &recorder{}
	r := newRig(t, o, func() Handler { return h })
	raw := dialRaw(t, r.srv.Listener.Addr().String())
	raw.send(text("half a message")[:9])
	if code, _ := raw.expectClose(); code != CodePolicy {
		t.Fatal(code)
	}
	_ = raw.nc.Close()
	expectEnd(t, h, func(err error) bool { return errors.Is(err, ErrMessageTimeout) })
}

func TestDrain(t *testing.T) {
	r := newRig(t, Options{}, func() Handler { return &recorder{} })
	for range 20 {
		ws, _ := r.dial()
		go func() { _, _, _ = ws.Read(within(t)) }()
	}
	begun := time.Now()
	if err := r.hub.Drain(within(t), CodeServiceRestart, "restart", 200*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(begun); took < 150*time.Millisecond {
		t.Fatal("not spread out:", took)
	}
	if r.hub.Len() != 0 {
		t.Fatal("left:", r.hub.Len())
	}
}

func TestHubCloseWaitsForClosed(t *testing.T) {
	h := &recorder{}
	r := newRig(t, Options{}, func() Handler { return h })
	raw := dialRaw(t, r.srv.Listener.Addr().String())
	<-r.conns
	r.hub.Close()
	if ends := h.ends(); len(ends) != 1 || !errors.Is(ends[0], ErrHubClosed) {
		t.Fatal(ends)
	}
	if _, _, err := raw.recv(); err == nil || errors.Is(err, io.ErrNoProgress) {
		t.Fatal("the connection lives")
	}
}
