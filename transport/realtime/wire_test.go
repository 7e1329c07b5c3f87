package realtime

import (
	"net/http/httptest"
	"net/url"
	"testing"

	"parley/actors/agency"
	"parley/actors/command"
	"parley/actors/kernel"
	"parley/actors/mirror"
	"parley/transport/realtime/conn"
)

// TestGoldenFrames holds what goes over the wire, byte for byte, in both formats.
func TestGoldenFrames(t *testing.T) {
	event := func() *mirror.Event { return &mirror.Event{Name: "message", Data: []byte(`{"id":"m"}`), Seq: 1} }
	posted := ackOf(&agency.Posted{ID: "0193-x"})
	unknown := ackOf(command.Unknown("/nope now"))
	failed := ackOfError(kernel.Forbidden("no"))
	for _, tc := range []struct {
		name  string
		frame any
		want  string
	}{
		{"socket.io event", socketWire{}.event(event()), `42["message",{"id":"m"}]`},
		{"plain event", plainWire{}.event(event()), `{"event":"message","data":{"id":"m"}}`},
		{"socket.io ack", socketWire{}.ack(12, posted), `4312[{"ok":true,"messageId":"0193-x"}]`},
		{"plain ack", plainWire{}.ack(12, posted), `{"ack":12,"data":{"ok":true,"messageId":"0193-x"}}`},
		{"plain ack of a command", plainWire{}.ack(0, unknown),
			`{"ack":0,"data":{"ok":false,"command":"/nope","content":"Unknown command /nope.","type":"system","ephemeral":true}}`},
		{"socket.io ack of a failure", socketWire{}.ack(0, failed), `430[{"ok":false,"error":"no","content":"no","type":"system"}]`},
		{"socket.io ack of nothing to say", socketWire{}.ack(3, ackOf(kernel.Done{})), `433[{"ok":true}]`},
		{"plain ack of a reaction", plainWire{}.ack(3, ackOf(&agency.Reacted{MessageID: "m", Emoji: "👍", Count: 2})),
			`{"ack":3,"data":{"ok":true,"messageId":"m","emoji":"👍","count":2}}`},
		{"socket.io error", socketWire{}.event(errorEvent("join-agency", kernel.NotFound("gone"))),
			`42["error",{"message":"gone","event":"join-agency"}]`},
		{"socket.io goodbye", socketWire{}.goodbye(), `41`},
	} {
		if got := string(tc.frame.(*conn.Frame).Payload()); got != tc.want {
			t.Errorf("%s:\n got %s\nwant %s", tc.name, got, tc.want)
		}
	}
}

// TestEventIsEncodedOnce holds that every socket of a format gets the same frame.
func TestEventIsEncodedOnce(t *testing.T) {
	e := &mirror.Event{Name: "message", Data: []byte(`{}`)}
	first := e.Encoded(mirror.SocketIO, socketWire{}.event)
	if e.Encoded(mirror.SocketIO, socketWire{}.event) != first {
		t.Error("encoded again for the second socket")
	}
	if e.Encoded(mirror.Plain, plainWire{}.event) == first {
		t.Error("the formats share a frame")
	}
}

func TestOrigin(t *testing.T) {
	parse := func(s string) *url.URL {
		u, err := url.Parse(s)
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	s := New(Options{PublicURL: parse("https://chat.example.org"), WebURL: parse("https://www.example.org:8443")})
	for origin, want := range map[string]bool{
		"": true, "https://chat.example.org": true, "https://www.example.org:8443": true, "http://inner:8080": true,
		"http://chat.example.org": false, "https://www.example.org": false, "https://evil.example.org": false,
		"https://chat.example.org.evil.net": false, "null": false, "://": false,
	} {
		r := httptest.NewRequest("GET", "http://inner:8080/ws", nil)
		if origin != "" {
			r.Header.Set("Origin", origin)
		}
		if got := s.originOK(r); got != want {
			t.Errorf("origin %q: got %v, want %v", origin, got, want)
		}
	}
}

func TestBearer(t *testing.T) {
	for header, want := range map[string]string{"": "", "Bearer abc": "abc", "bearer  abc ": "abc", "Basic abc": "", "Bearer": ""} {
		r := httptest.NewRequest("GET", "/ws", nil)
		r.Header.Set("Authorization", header)
		if got := bearer(r); got != want {
			t.Errorf("%q: got %q, want %q", header, got, want)
		}
	}
}
