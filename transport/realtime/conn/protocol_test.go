package conn

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

// binaryRecorder takes binary messages too.
type binaryRecorder struct{ recorder }

func (r *binaryRecorder) Binary(c *Conn, p []byte) { r.Message(c, append([]byte("bin:"), p...)) }

// TestProtocol sends frames as RFC 6455 allows or forbids them, whole and byte by byte.
func TestProtocol(t *testing.T) {
	const cont, txt, bin, cls, ping, pong = opContinuation, finBit | opText, finBit | opBinary, finBit | opClose, finBit | opPing, finBit | opPong
	join := func(fs ...[]byte) []byte { return bytes.Join(fs, nil) }
	str := func(b byte, s string) []byte { return masked(b, []byte(s)) }
	bye := str(cls, "\x03\xe8")
	cases := map[string]struct {
		in       []byte
		messages []string
		pongs    []string
		code     int
	}{
		"text":                          {in: join(str(txt, "hello"), bye), messages: []string{"hello"}, code: 1000},
		"empty text":                    {in: join(str(txt, ""), bye), messages: []string{""}, code: 1000},
		"126 and 65536 bytes":           {in: join(str(txt, strings.Repeat("a", 126)), str(txt, strings.Repeat("b", 65536)), bye), messages: []string{strings.Repeat("a", 126), strings.Repeat("b", 65536)}, code: 1000},
		"binary":                        {in: join(str(bin, "\x00\xff"), bye), messages: []string{"bin:\x00\xff"}, code: 1000},
		"ping":                          {in: join(str(ping, "are you there"), bye), pongs: []string{"are you there"}, code: 1000},
		"empty ping":                    {in: join(str(ping, ""), bye), pongs: []string{""}, code: 1000},
		"125 byte ping":                 {in: join(str(ping, strings.Repeat("p", 125)), bye), pongs: []string{strings.Repeat("p", 125)}, code: 1000},
		"126 byte ping":                 {in: str(ping, strings.Repeat("p", 126)), code: 1002},
		"ten pings":                     {in: join(bytes.Repeat(str(ping, "x"), 10), bye), pongs: slices.Repeat([]string{"x"}, 10), code: 1000},
		"unsolicited pong":              {in: join(str(pong, "x"), str(txt, "after"), bye), messages: []string{"after"}, code: 1000},
		"fragments":                     {in: join(str(opText, "a"), str(cont, ""), str(cont, "b"), str(finBit, "c"), bye), messages: []string{"abc"}, code: 1000},
		"empty fragments":               {in: join(str(opText, ""), str(cont, ""), str(finBit, ""), bye), messages: []string{""}, code: 1000},
		"ping between fragments":        {in: join(str(opText, "a"), str(ping, "now"), str(finBit, "b"), bye), messages: []string{"ab"}, pongs: []string{"now"}, code: 1000},
		"utf-8 split over fragments":    {in: join(str(opText, "\xe2\x82"), str(finBit, "\xac"), bye), messages: []string{"€"}, code: 1000},
		"fragmented ping":               {in: str(opPing, "x"), code: 1002},
		"continuation of nothing":       {in: str(finBit, "x"), code: 1002},
		"continuation after message":    {in: join(str(txt, "x"), str(finBit, "y")), messages: []string{"x"}, code: 1002},
		"message inside message":        {in: join(str(opText, "x"), str(txt, "y")), code: 1002},
		"rsv1":                          {in: str(txt|0x40, "x"), code: 1002},
		"rsv2":                          {in: str(txt|0x20, "x"), code: 1002},
		"rsv3 on ping":                  {in: str(ping|0x10, "x"), code: 1002},
		"reserved data opcode 3":        {in: str(finBit|3, "x"), code: 1002},
		"reserved control opcode b":     {in: str(finBit|11, "x"), code: 1002},
		"unmasked":                      {in: []byte{txt, 1, 'x'}, code: 1002},
		"negative length":               {in: []byte{txt, 0xFF, 0x80, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0}, code: 1002},
		"invalid utf-8":                 {in: str(txt, "\xc0\xaf"), code: 1007},
		"surrogate":                     {in: str(txt, "\xed\xa0\x80"), code: 1007},
		"utf-8 cut short":               {in: str(txt, "caf\xc3"), code: 1007},
		"invalid utf-8 over fragments":  {in: join(str(opText, "\xe2"), str(finBit, "\x28\xa1")), code: 1007},
		"too big by header alone":       {in: []byte{txt, 0xFF, 0, 0, 0, 0, 0, 2, 0, 1, 1, 2, 3, 4}, code: 1009},
		"largest length there is":       {in: []byte{txt, 0xFF, 0x7F, 255, 255, 255, 255, 255, 255, 255, 1, 2, 3, 4}, code: 1009},
		"too big in fragments":          {in: join(str(opText, strings.Repeat("x", 60000)), str(cont, strings.Repeat("x", 60000)), str(cont, strings.Repeat("x", 60000))), code: 1009},
		"close without code":            {in: str(cls, ""), code: CodeNoStatus},
		"close with half a code":        {in: str(cls, "\x03"), code: 1002},
		"close with reason":             {in: str(cls, "\x0f\xa0bye"), code: 4000},
		"close with code 999":           {in: str(cls, "\x03\xe7"), code: 1002},
		"close with code 1005":          {in: str(cls, "\x03\xed"), code: 1002},
		"close with code 5000":          {in: str(cls, "\x13\x88"), code: 1002},
		"close with invalid reason":     {in: str(cls, "\x03\xe8\xff"), code: 1007},
		"data after close":              {in: join(bye, str(txt, "late")), code: 1000},
		"ping after close":              {in: join(bye, str(ping, "late")), code: 1000},
		"garbage":                       {in: []byte(strings.Repeat("GET / HTTP/1.1\r\n", 20)), code: 1002},
		"garbage that goes on and on":   {in: join([]byte{0, 0}, bytes.Repeat([]byte{0}, 500000)), code: 1002},
		"message, then protocol error":  {in: join(str(txt, "one"), str(finBit|5, "")), messages: []string{"one"}, code: 1002},
		"close inside fragmented":       {in: join(str(opText, "x"), bye), code: 1000},
		"fragment of a binary message":  {in: join(str(opBinary, "a"), str(finBit, "b"), bye), messages: []string{"bin:ab"}, code: 1000},
		"non-minimal length is allowed": {in: join([]byte{txt, 0xFE, 0, 1, 0, 0, 0, 0, 'x'}, bye), messages: []string{"x"}, code: 1000},
	}
	h := &binaryRecorder{}
	r := newRig(t, Options{MaxFrame: 128 << 10, Burst: 10000}, func() Handler { return h })
	for name, tc := range cases {
		for _, step := range []int{1 << 30, 1} {
			if step == 1 && len(tc.in) > 1000 {
				continue
			}
			h.mu.Lock()
			h.texts, h.closed = nil, nil
			h.mu.Unlock()
			raw := dialRaw(t, r.srv.Listener.Addr().String())
			for in := tc.in; len(in) > 0; {
				n := min(step, len(in))
				raw.send(in[:n])
				in = in[n:]
			}
			var pongs []string
			code := -1
			for code < 0 {
				op, p, err := raw.recv()
				switch {
				case err != nil:
					t.Fatalf("%s: no close frame: %v", name, err)
				case op == opPong:
					pongs = append(pongs, string(p))
				case op == opClose && len(p) == 0:
					code = CodeNoStatus
				case op == opClose:
					code = int(p[0])<<8 | int(p[1])
				}
			}
			_ = raw.nc.Close()
			wait(t, "Closed", func() bool { return len(h.ends()) == 1 })
			if code != tc.code || !slices.Equal(h.got(), tc.messages) || !slices.Equal(pongs, tc.pongs) {
				t.Errorf("%s (by %d bytes): code %d, messages %.80q, pongs %.80q", name, step, code, h.got(), pongs)
			}
		}
	}
}

func TestBinaryIsRefusedUnlessHandled(t *testing.T) {
	r := newRig(t, Options{}, func() Handler { return &recorder{} })
	raw := dialRaw(t, r.srv.Listener.Addr().String())
	raw.send(masked(finBit|opBinary, []byte("x")))
	if code, _ := raw.expectClose(); code != CodeUnsupported {
		t.Fatal(code)
	}
}

func TestSetReadLimit(t *testing.T) {
	h := &recorder{on: func(c *Conn, p []byte) {
		c.SetReadLimit(1000)
		c.Push(Text(p))
	}}
	r := newRig(t, Options{MaxFrame: 10}, func() Handler { return h })
	raw := dialRaw(t, r.srv.Listener.Addr().String())
	raw.send(text("hi"))
	raw.send(text(strings.Repeat("x", 1000)))
	raw.send(text(strings.Repeat("x", 1001)))
	for _, want := range []int{2, 1000} {
		if _, p, err := raw.recv(); err != nil || len(p) != want {
			t.Fatal(len(p), err)
		}
	}
	if code, _ := raw.expectClose(); code != CodeTooBig {
		t.Fatal(code)
	}
}

func TestFrames(t *testing.T) {
	for _, tc := range []struct {
		f    *Frame
		want string
	}{
		{Text([]byte("a"), nil, []byte("bc")), "\x81\x03abc"},
		{Binary(), "\x82\x00"},
		{Ping(), "\x89\x00"},
		{CloseFrame(1000, "ok"), "\x88\x04\x03\xe8ok"},
		{CloseFrame(CodeNoStatus, "unseen"), "\x88\x00"},
		{CloseFrame(1006, ""), "\x88\x02\x03\xf3"},
		{CloseFrame(70000, ""), "\x88\x02\x03\xf3"},
		{CloseFrame(4000, strings.Repeat("é", 100)), "\x88\x7c\x0f\xa0" + strings.Repeat("é", 61)},
	} {
		if got := string(tc.f.b); got != tc.want {
			t.Errorf("got %q, want %q", got, tc.want)
		}
		if tc.f.Size() != len(tc.want) || string(tc.f.Payload()) != tc.want[2:] {
			t.Errorf("size %d, payload %q of %q", tc.f.Size(), tc.f.Payload(), tc.want)
		}
	}
	if f := Text(make([]byte, 126)); !bytes.Equal(f.b[:4], []byte{0x81, 126, 0, 126}) || len(f.Payload()) != 126 {
		t.Errorf("header of 126 bytes: %x", f.b[:4])
	}
	if f := Text(make([]byte, 65536)); !bytes.Equal(f.b[:10], []byte{0x81, 127, 0, 0, 0, 0, 0, 1, 0, 0}) {
		t.Errorf("header of 65536 bytes: %x", f.b[:10])
	}
}
