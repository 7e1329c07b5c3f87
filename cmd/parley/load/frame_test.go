package load

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"
)

// serverFrame makes an unmasked frame.
func serverFrame(first byte, payload []byte) []byte {
	f := appendFrame(nil, 0, payload)
	f[0] = first
	f[1] &^= 0x80
	mask := len(f) - len(payload) - 4
	return append(f[:mask:mask], payload...)
}

func TestParseFrame(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 125, 126, 65535, 65536, maxFrame} {
		payload := bytes.Repeat([]byte{'a'}, n)
		data := serverFrame(0x81, payload)
		f, size, err := parseFrame(append(data, 0x81))
		if err != nil || size != len(data) || !f.fin || f.op != opText || !bytes.Equal(f.payload, payload) {
			t.Fatalf("payload of %d: size %d, error %v", n, size, err)
		}
		for _, cut := range []int{0, 1, 2, 3, 9, len(data) - 1} {
			if cut >= len(data) {
				continue
			}
			if _, size, err := parseFrame(data[:cut]); size != 0 || err != nil {
				t.Fatalf("payload of %d cut at %d: size %d, error %v", n, cut, size, err)
			}
		}
	}
	for name, bad := range map[string][]byte{
		"masked":              appendFrame(nil, opText, []byte("x")),
		"reserved bit":        serverFrame(0xC1, nil),
		"unknown opcode":      serverFrame(0x83, nil),
		"fragmented ping":     serverFrame(0x09, nil),
		"long ping":           serverFrame(0x89, make([]byte, 126)),
		"wasteful 16 bits":    {0x81, 126, 0, 5, 1, 2, 3, 4, 5},
		"wasteful 64 bits":    {0x81, 127, 0, 0, 0, 0, 0, 0, 0, 1, 'x'},
		"negative as 64 bits": {0x81, 127, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF},
	} {
		if _, _, err := parseFrame(bad); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	large := binary.BigEndian.AppendUint64([]byte{0x81, 127}, maxFrame+1)
	if _, _, err := parseFrame(large); !errors.Is(err, errFrameTooLarge) {
		t.Errorf("too large: %v", err)
	}
}

func TestAppendFrame(t *testing.T) {
	t.Parallel()
	got := appendFrame(nil, opText, []byte("hi"))
	want := []byte{0x81, 0x82, 0, 0, 0, 0, 'h', 'i'}
	if !bytes.Equal(got, want) {
		t.Fatalf("% x, want % x", got, want)
	}
}

func TestCloseCode(t *testing.T) {
	t.Parallel()
	if code, reason := closeCode([]byte("\x03\xf4bye")); code != 1012 || reason != "bye" {
		t.Fatal(code, reason)
	}
	if code, _ := closeCode([]byte{3}); code != closeNoStatus {
		t.Fatal(code)
	}
}

func FuzzParseFrame(f *testing.F) {
	f.Add(serverFrame(0x81, []byte("hello")))
	f.Add(serverFrame(0x88, []byte{3, 232}))
	f.Add([]byte{0x81, 126, 0, 200})
	f.Fuzz(func(t *testing.T, data []byte) {
		fr, n, err := parseFrame(data)
		if err != nil || n == 0 {
			return
		}
		if n > len(data) || len(fr.payload) > n {
			t.Fatalf("frame of %d bytes in %d", n, len(data))
		}
		// What parses writes back to the same bytes: the form is unique.
		first := fr.op
		if fr.fin {
			first |= 0x80
		}
		if again := serverFrame(first, fr.payload); !bytes.Equal(again, data[:n]) {
			t.Fatalf("% x became % x", data[:n], again)
		}
	})
}
