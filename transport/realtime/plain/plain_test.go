package plain

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
)

func TestDecode(t *testing.T) {
	for in, want := range map[string]Frame{
		`{"event":"auth","data":{"token":"t"}}`:                 {"auth", json.RawMessage(`{"token":"t"}`), NoAck},
		` {"ack":0,"data":[1,2],"event":"x","unknown":{}}`:      {"x", json.RawMessage(`[1,2]`), 0},
		`{"event":"x","ack":9007199254740991}`:                  {"x", nil, MaxAck},
		`{"event":"x","ack":null,"data":null}`:                  {"x", nil, NoAck},
		`{"ack":5,"data":"yes"}`:                                {"", json.RawMessage(`"yes"`), 5},
		`{"event":"\u00e9\""}`:                                  {`é"`, nil, NoAck},
		`{"event":"` + strings.Repeat("n", MaxEventName) + `"}`: {strings.Repeat("n", MaxEventName), nil, NoAck},
	} {
		if got, err := Decode([]byte(in)); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v %v", in, got, err)
		}
	}
	for in, want := range map[string]error{
		``: ErrObject, ` `: ErrObject, `null`: ErrObject, `[]`: ErrObject, `"x"`: ErrObject, `{`: ErrObject, `{"event":"x"}{}`: ErrObject, `{"event":"x",}`: ErrObject,
		`{}`: ErrEvent, `{"Event":"x"}`: ErrEvent, `{"event":""}`: ErrEvent, `{"event":1}`: ErrEvent, `{"event":["x"]}`: ErrEvent, `{"data":1}`: ErrEvent,
		`{"event":"` + strings.Repeat("n", MaxEventName+1) + `"}`: ErrEvent,
		`{"event":"x","ack":-1}`:                                  ErrAck, `{"event":"x","ack":1.5}`: ErrAck, `{"event":"x","ack":"1"}`: ErrAck, `{"event":"x","ack":9007199254740992}`: ErrAck,
		`{"event":"x","ack":1e3}`: ErrAck, `{"event":"x","ack":true}`: ErrAck, `{"event":"x","ack":99999999999999999999999}`: ErrAck,
	} {
		if _, err := Decode([]byte(in)); !errors.Is(err, want) {
			t.Errorf("%.40s: %v, want %v", in, err, want)
		}
	}
}

func TestEncode(t *testing.T) {
	for want, got := range map[string][]byte{
		`{"event":"message","data":{"a":1}}`:   AppendEvent(nil, "message", []byte(`{"a":1}`), NoAck),
		`{"event":"x","data":null,"ack":7}`:    AppendEvent(nil, "x", nil, 7),
		`{"event":"a\"b","data":1}`:            AppendEvent(nil, `a"b`, []byte("1"), NoAck),
		`{"ack":0,"data":{"ok":true}}`:         AppendAck(nil, 0, []byte(`{"ok":true}`)),
		`{"ack":9007199254740991,"data":null}`: AppendAck(nil, MaxAck, nil),
	} {
		if string(got) != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// FuzzDecode: what was understood comes back the same after encoding.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{`{"event":"auth","data":{"token":"t"}}`, `{"ack":1,"data":[1]}`, `{"event":"\u00e9","ack":3}`, `{"event":"a","event":"b"}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		frame, err := Decode(in)
		if err != nil {
			return
		}
		out := AppendAck(nil, frame.Ack, frame.Data)
		if frame.Event != "" {
			out = AppendEvent(nil, frame.Event, frame.Data, frame.Ack)
		}
		again, err := Decode(out)
		if err != nil || !reflect.DeepEqual(again, frame) {
			t.Fatalf("%q: %+v became %s: %+v %v", in, frame, out, again, err)
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	in := []byte(`{"event":"send-message","data":{"agencyId":"0123456789abcdef","content":"` + strings.Repeat("hello ", 30) + `"},"ack":17}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Decode(in); err != nil {
			b.Fatal(err)
		}
	}
}
