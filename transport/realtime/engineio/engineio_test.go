package engineio

import (
	"bytes"
	"errors"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestDecode(t *testing.T) {
	for in, want := range map[string]Packet{
		"0{}": {Type: Open, Data: []byte("{}")}, "1": {Type: Close, Data: []byte{}},
		"2probe": {Type: Ping, Data: []byte("probe")}, "3": {Type: Pong, Data: []byte{}},
		"4hello": {Type: Message, Data: []byte("hello")}, "5": {Type: Upgrade, Data: []byte{}}, "6": {Type: Noop, Data: []byte{}},
	} {
		got, err := Decode([]byte(in))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %v %v", in, got, err)
		}
		if out := string(Append(nil, got)); out != in {
			t.Errorf("%q became %q", in, out)
		}
	}
	for in, want := range map[string]error{"": ErrEmpty, "7": ErrType, "/": ErrType, "b": ErrType, "\xff": ErrType} {
		if _, err := Decode([]byte(in)); !errors.Is(err, want) {
			t.Errorf("%q: %v", in, err)
		}
	}
}

func TestPayload(t *testing.T) {
	const golden = "4hello\x1e2\x1e4€\x1ebAQID"
	packets := []Packet{
		{Type: Message, Data: []byte("hello")}, {Type: Ping, Data: []byte{}},
		{Type: Message, Data: []byte("€")}, {Type: Message, Binary: true, Data: []byte{1, 2, 3}},
	}
	if got := string(AppendPayload(nil, packets...)); got != golden {
		t.Errorf("got %q", got)
	}
	if got, err := DecodePayload([]byte(golden)); err != nil || !reflect.DeepEqual(got, packets) {
		t.Errorf("got %v %v", got, err)
	}
	for in, want := range map[string]error{
		"": ErrEmpty, "4a\x1e": ErrEmpty, "4a\x1e9": ErrType, "bA": ErrBase64, "4\xff": ErrText,
		strings.Repeat("6\x1e", MaxPackets) + "6": ErrManyPackets,
	} {
		if _, err := DecodePayload([]byte(in)); !errors.Is(err, want) {
			t.Errorf("%.20q: %v", in, err)
		}
	}
}

func TestOpenPacket(t *testing.T) {
	got, err := AppendOpen(nil, Handshake{SID: "abc", PingInterval: 25 * time.Second, PingTimeout: 20 * time.Second, MaxPayload: 1000000})
	want := `0{"sid":"abc","upgrades":[],"pingInterval":25000,"pingTimeout":20000,"maxPayload":1000000}`
	if err != nil || string(got) != want {
		t.Errorf("got %s %v", got, err)
	}
}

func TestParseRequest(t *testing.T) {
	for _, tc := range []struct {
		method, query string
		want          *Error
	}{
		{"GET", "EIO=4&transport=websocket", nil},
		{"GET", "transport=polling&EIO=4&t=abc", nil},
		{"POST", "EIO=4&transport=polling&sid=x", nil},
		{"GET", "EIO=4", ErrTransport},
		{"GET", "EIO=4&transport=webtransport", ErrTransport},
		{"GET", "EIO=3&transport=polling", ErrVersion},
		{"GET", "transport=polling", ErrVersion},
		{"POST", "EIO=4&transport=polling", ErrMethod},
		{"POST", "EIO=4&transport=websocket&sid=x", ErrRequest},
		{"PUT", "EIO=4&transport=polling&sid=x", ErrRequest},
		{"GET", "EIO=4&transport=polling&sid=" + strings.Repeat("x", 65), ErrSession},
	} {
		q, err := url.ParseQuery(tc.query)
		if err != nil {
			t.Fatal(err)
		}
		if _, got := ParseRequest(tc.method, q); got != tc.want {
			t.Errorf("%s %s: %v", tc.method, tc.query, got)
		}
	}
	if ErrForbidden.Status() != 403 || ErrVersion.Status() != 400 {
		t.Error("statuses")
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte("4hello\x1e2\x1ebAQID"))
	f.Fuzz(func(t *testing.T, in []byte) {
		if p, err := Decode(in); err == nil && !bytes.Equal(Append(nil, p), in) {
			t.Fatalf("%q became %q", in, Append(nil, p))
		}
		packets, err := DecodePayload(in)
		if err != nil {
			return
		}
		again, err := DecodePayload(AppendPayload(nil, packets...))
		if err != nil || !reflect.DeepEqual(again, packets) {
			t.Fatalf("%q: %v became %v, %v", in, packets, again, err)
		}
	})
}
