package client

import (
	"bytes"
	"encoding/json"
	"testing"
)

// formats are both wire formats with frames of each kind.
var formats = map[string]struct {
	format
	event, ack, ping, bad []string
	pong                  string
}{
	"Socket.IO": {socketIO{}, []string{`42["name",{"a":1}]`, `42["name",{"a":1},"offset"]`, `42["name"]`}, []string{`4317[{"ok":true}]`}, []string{`2`},
		[]string{``, `42{}`, `42[]`, `42[5]`, `43[1]`, `4317`, `43x[1]`}, `3`},
	"plain": {plain{}, []string{`{"event":"name","data":{"a":1}}`, `{"event":"name"}`}, []string{`{"ack":17,"data":{"ok":true}}`}, []string{`{"event":"ping"}`},
		[]string{``, `{}`, `[]`, `{"event":5}`, `{"event":"x","ack":5}`}, `{"event":"pong","data":{}}`},
}

func TestDecode(t *testing.T) {
	for name, f := range formats {
		for i, text := range f.event {
			got, answer, ok, err := f.decode([]byte(text))
			if err != nil || !ok || answer != nil || got.Event != "name" || got.Ack != 0 || i == 0 && (got.Args != 1 || string(got.Data) != `{"a":1}`) {
				t.Errorf("%s: %q is %+v %q %t, %v", name, text, got, answer, ok, err)
			}
		}
		for _, text := range f.ack {
			if got, answer, ok, err := f.decode([]byte(text)); err != nil || !ok || answer != nil || got.Ack != 17 || got.Args != 1 || string(got.Data) != `{"ok":true}` {
				t.Errorf("%s: %q is %+v %q %t, %v", name, text, got, answer, ok, err)
			}
		}
		for _, text := range f.ping {
			if _, answer, ok, err := f.decode([]byte(text)); err != nil || ok || string(answer) != f.pong {
				t.Errorf("%s: %q is answered with %q %t, %v", name, text, answer, ok, err)
			}
		}
		for _, text := range f.bad {
			if got, _, _, err := f.decode([]byte(text)); err == nil {
				t.Errorf("%s: %q is %+v, want an error", name, text, got)
			}
		}
	}
	if f, _, _, err := (socketIO{}).decode([]byte(`42["name",{},"offset"]`)); err != nil || f.Args != 2 {
		t.Errorf("two arguments are %+v, %v", f, err)
	}
}

func TestEncode(t *testing.T) {
	for _, c := range []struct {
		format format
		ack    uint64
		want   string
	}{
		{socketIO{}, 0, `42["e",{"a":1}]`},
		{socketIO{}, 7, `427["e",{"a":1}]`},
		{plain{}, 0, `{"event":"e","data":{"a":1}}`},
		{plain{}, 7, `{"event":"e","data":{"a":1},"ack":7}`},
	} {
		got, err := c.format.encode("e", map[string]int{"a": 1}, c.ack)
		if err != nil || string(got) != c.want {
			t.Errorf("got %s, %v, want %s", got, err, c.want)
		}
	}
	if _, err := (plain{}).encode("e", func() {}, 0); err == nil {
		t.Error("a function was encoded")
	}
}

// FuzzDecode: whatever comes, decoders answer with a frame of valid JSON or an error.
func FuzzDecode(f *testing.F) {
	for _, format := range formats {
		for _, text := range bytes.Fields([]byte(`40{} 41 44{"message":"x"} 0{"sid":"x"} 6`)) {
			f.Add(text)
		}
		for _, list := range [][]string{format.event, format.ack, format.ping, format.bad} {
			for _, text := range list {
				f.Add([]byte(text))
			}
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		for name, format := range formats {
			frame, _, ok, err := format.decode(text)
			if err == nil && ok && len(frame.Data) > 0 && !json.Valid(frame.Data) {
				t.Errorf("%s: %q has the data %q", name, text, frame.Data)
			}
		}
	})
}
