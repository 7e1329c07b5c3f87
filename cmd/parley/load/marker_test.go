package load

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

func TestMarker(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	n := needle(newRun(random))
	want := marker{room: 7, poster: 0xFFFFFFFF, seq: 12, due: 1234567890123}
	text := appendMarker(nil, n, want)
	if len(text) != minContent || !bytes.HasPrefix(text, n) {
		t.Fatalf("%q has %d bytes, want %d", text, len(text), minContent)
	}
	if got, ok := parseMarker(text[len(n):]); !ok || got != want {
		t.Fatalf("got %+v", got)
	}
	for i := len(n); i < len(text); i++ {
		if _, ok := parseMarker(text[len(n):i]); ok {
			t.Fatalf("cut at %d accepted", i)
		}
		broken := bytes.Clone(text)
		broken[i] = 'x'
		if _, ok := parseMarker(broken[len(n):]); ok {
			t.Fatalf("broken at %d accepted", i)
		}
	}
}

func TestPadding(t *testing.T) {
	t.Parallel()
	for n := range 200 {
		pad := padding(rand.New(rand.NewPCG(3, uint64(n))), n)
		if len(pad) != n || len(bytes.TrimSpace(pad)) != n || !plainText(string(pad)) {
			t.Fatalf("%d: %q", n, pad)
		}
	}
}
