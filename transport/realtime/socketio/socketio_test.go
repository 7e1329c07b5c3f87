package socketio

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
)

func TestDecode(t *testing.T) {
	for in, want := range map[string]Packet{
		`0`:                        {Connect, "/", NoAck, 0, json.RawMessage{}},
		`0{"token":"x"}`:           {Connect, "/", NoAck, 0, json.RawMessage(`{"token":"x"}`)},
		`0/admin,{"token":"x"}`:    {Connect, "/admin", NoAck, 0, json.RawMessage(`{"token":"x"}`)},
		`0/admin`:                  {Connect, "/admin", NoAck, 0, nil},
		`1`:                        {Disconnect, "/", NoAck, 0, json.RawMessage{}},
		`1/admin,`:                 {Disconnect, "/admin", NoAck, 0, json.RawMessage{}},
		`2["hello",1]`:             {Event, "/", NoAck, 0, json.RawMessage(`["hello",1]`)},
		`2/admin,456["x",{}]`:      {Event, "/admin", 456, 0, json.RawMessage(`["x",{}]`)},
		`30[]`:                     {Ack, "/", 0, 0, json.RawMessage(`[]`)},
		`3/admin,7[{}]`:            {Ack, "/admin", 7, 0, json.RawMessage(`[{}]`)},
		`4{"message":"no"}`:        {ConnectError, "/", NoAck, 0, json.RawMessage(`{"message":"no"}`)},
		`51-["x",{"_p":1}]`:        {BinaryEvent, "/", NoAck, 1, json.RawMessage(`["x",{"_p":1}]`)},
		`510-/admin,3["x"]`:        {BinaryEvent, "/admin", 3, 10, json.RawMessage(`["x"]`)},
		`61-/admin,456[{}]`:        {BinaryAck, "/admin", 456, 1, json.RawMessage(`[{}]`)},
		`2999999999999999["x"]`:    {Event, "/", 999999999999999, 0, json.RawMessage(`["x"]`)},
		`2["disconnect reserved"]`: {Event, "/", NoAck, 0, json.RawMessage(`["disconnect reserved"]`)},
	} {
		if got, err := Decode([]byte(in)); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v %v", in, got, err)
		}
	}
	for in, want := range map[string]error{
		"": ErrEmpty, "7": ErrType, "x": ErrType, "/": ErrType,
		"5[]": ErrAttachments, "5-[]": ErrAttachments, "511-[]": ErrAttachments, "5+1-[]": ErrAttachments, "5": ErrAttachments, "50000001-[]": ErrAttachments,
		"2/" + strings.Repeat("n", MaxNamespace) + ",[]": ErrNamespace,
		`21234567890123456["x"]`:                         ErrAckID, `01{}`: ErrAckID, `3[]`: ErrAckID, `11`: ErrAckID,
		`0[]`: ErrData, `0"x"`: ErrData, `1{}`: ErrData, `2`: ErrData, `2{}`: ErrData, `2["x"`: ErrData, `2["x"]]`: ErrData, `4`: ErrData, `4[]`: ErrData,
		`2[` + "\xff" + `]`: ErrData, `30{}`: ErrData, `0{"a":}`: ErrData,
	} {
		if _, err := Decode([]byte(in)); !errors.Is(err, want) {
			t.Errorf("%.30s: %v, want %v", in, err, want)
		}
	}
}

func TestSplitEvent(t *testing.T) {
	for in, want := range map[string][3]string{
		`["a"]`:                          {"a", "", ""},
		`["a",1]`:                        {"a", "1", ""},
		` [ "a" , -1.5e3 ] `:             {"a", "-1.5e3", ""},
		`["a",{"x":[1,"]},"]},"off"]`:    {"a", `{"x":[1,"]},"]}`, `"off"]`},
		`["a",[[],{}],null , true]`:      {"a", `[[],{}]`, `null , true]`},
		`["a","\\\"],"]`:                 {"a", `"\\\"],"`, ""},
		`["\u0061\"b",null]`:             {`a"b`, "null", ""},
		`["send-message",{"content":1}]`: {"send-message", `{"content":1}`, ""},
	} {
		name, first, rest, err := SplitEvent(json.RawMessage(in))
		if got := [3]string{name, string(first), string(rest)}; err != nil || got != want {
			t.Errorf("%s: %q %v", in, got, err)
		}
	}
	for _, in := range []string{`[]`, `[1]`, `[null,"a"]`, `{}`, ``, `["` + strings.Repeat("n", MaxEventName+1) + `"]`} {
		if _, _, _, err := SplitEvent(json.RawMessage(in)); !errors.Is(err, ErrEventName) {
			t.Errorf("%.30s: %v", in, err)
		}
	}
	for in, want := range map[string]string{`[]`: "", `[ ]`: "", `[{"a":1}]`: `{"a":1}`, `[1,2]`: "1"} {
		if got := FirstArgument(json.RawMessage(in)); string(got) != want {
			t.Errorf("%s: %s", in, got)
		}
	}
}

func TestEncode(t *testing.T) {
	for want, got := range map[string][]byte{
		`2["message",{"a":1}]`:         AppendEvent(nil, "message", []byte(`{"a":1}`), NoAck),
		`27["message",null]`:           AppendEvent(nil, "message", nil, 7),
		`2["a\"b",1]`:                  AppendEvent(nil, `a"b`, []byte("1"), NoAck),
		`2["message",{},"42"]`:         AppendEventOffset(nil, "message", []byte(`{}`), "42"),
		`30[{"ok":true}]`:              AppendAck(nil, 0, []byte(`{"ok":true}`)),
		`0{"sid":"s1"}`:                AppendConnect(nil, Root, "s1", ""),
		`0/x,{"sid":"s1","pid":"p"}`:   AppendConnect(nil, "/x", "s1", "p"),
		`4{"message":"unknown token"}`: AppendConnectError(nil, "", "unknown token"),
		`1`:                            AppendDisconnect(nil, Root),
		`1/x,`:                         AppendDisconnect(nil, "/x"),
	} {
		if string(got) != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, s := range []string{`0{"token":"x"}`, `2/a,1["x",{"y":"]"},3]`, `51-["x",{}]`, `3/a,7[{}]`, `2["\u0061" , [1 ] ,2]`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		p, err := Decode(in)
		if err != nil || (p.Type != Event && p.Type != BinaryEvent) {
			return
		}
		name, first, rest, err := SplitEvent(p.Data)
		if err != nil {
			return
		}
		var all []json.RawMessage
		if err := json.Unmarshal(p.Data, &all); err != nil {
			t.Fatal(err)
		}
		var want string
		if err := json.Unmarshal(all[0], &want); err != nil || (want != name && !strings.ContainsRune(want, '\ufffd')) {
			t.Fatalf("name %q, want %q, %v", name, want, err)
		}
		if (len(all) > 1) != (first != nil) || (first != nil && string(first) != string(all[1])) || (len(all) > 2) != (rest != nil) {
			t.Fatalf("%s: first %q rest %q", p.Data, first, rest)
		}
		if out := AppendEvent(nil, name, first, p.AckID); !json.Valid(out[indexBracket(out):]) {
			t.Fatalf("made invalid %s", out)
		}
	})
}

func indexBracket(b []byte) int { return strings.IndexByte(string(b), '[') }

func BenchmarkDecodeEvent(b *testing.B) {
	in := []byte(`217["send-message",{"agencyId":"0123456789abcdef","content":"` + strings.Repeat("hello ", 30) + `"}]`)
	b.ReportAllocs()
	for b.Loop() {
		p, err := Decode(in)
		if err != nil {
			b.Fatal(err)
		}
		if _, _, _, err := SplitEvent(p.Data); err != nil {
			b.Fatal(err)
		}
	}
}
