package conn

import (
	"strings"
	"testing"
)

// TestSent compares what is counted with what clients got, heartbeats included, on the quick way and on that of a client
// for whom frames wait.
func TestSent(t *testing.T) {
	r := newRig(t, Options{Workers: 2}, func() Handler { return &recorder{} })
	quick := dialRaw(t, r.srv.Listener.Addr().String())
	quickConn := <-r.conns
	slow := dialRaw(t, r.srv.Listener.Addr().String())
	slowConn := <-r.conns
	var frames, bytes int64
	receive := func(c *rawClient, texts int) {
		t.Helper()
		for texts > 0 {
			op, p, err := c.frame()
			if err != nil {
				t.Fatal(err)
			}
			frames++
			bytes += int64(newFrame(op, p).Size())
			if op == opText {
				texts--
			}
		}
	}
	agree := func() bool {
		f, b := r.hub.Sent()
		return f >= frames && f <= frames+2 && b >= bytes && b <= bytes+2*int64(pingFrame.Size()) // a heartbeat each may be on its way
	}
	for range 10 {
		quickConn.Push(Text([]byte("hello")))
	}
	receive(quick, 10)
	wait(t, "ten small frames to be counted", agree)

	big, pushed := Text([]byte(strings.Repeat("x", 9000))), 0
	wait(t, "the socket to fill", func() bool {
		if slowConn.Push(big) {
			pushed++
		}
		return slowConn.Waiting() > 300<<10
	})
	if _, b := r.hub.Sent(); b >= bytes+int64(pushed*big.Size()) {
		t.Errorf("%d bytes are counted while some wait", b)
	}
	receive(slow, pushed)
	wait(t, "the big frames to be counted", agree)
}
