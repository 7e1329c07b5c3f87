package conformance

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/coder/websocket"
)

const socketIO = "/socket.io/"

// connected opens a WebSocket and sends packets, the first of which connect.
func (r *rig) connected(packets ...string) *socket {
	r.t.Helper()
	s := r.dial("?EIO=4&transport=websocket")
	text, _ := s.next()
	r.opened(text)
	s.send(packets...)
	return s
}

// entered wants the answer to CONNECT and the event that tells of its payload.
func (s *socket) entered(namespace, auth string) (sid string) {
	s.r.t.Helper()
	text, err := s.next()
	body, ok := strings.CutPrefix(text, "40"+namespace)
	var answer map[string]string
	if err != nil || !ok || json.Unmarshal([]byte(body), &answer) != nil || len(answer) != 1 || answer["sid"] == "" {
		s.r.t.Fatalf("CONNECT is answered with %q, %v", text, err)
	}
	s.wants("42" + namespace + `["auth",` + auth + `]`)
	return answer["sid"]
}

func TestConnect(t *testing.T) {
	r := start(t, socketIO, calm)
	r.connected("40").entered("", "{}")
	r.connected(`40{"token":"123"}`).entered("", `{"token":"123"}`)
	r.connected("40/custom,").entered("/custom,", "{}")
	r.connected("40/custom").entered("/custom,", "{}")
	s := r.connected(`40/custom,{"token":"abc"}`)
	sid := s.entered("/custom,", `{"token":"abc"}`)
	s.send("40")
	if s.entered("", "{}") == sid {
		t.Error("two sockets have one id")
	}
	s.send("40/random", `40/random2,{"a":1}`)
	s.wants(`44/random,{"message":"Invalid namespace"}`, `44/random2,{"message":"Invalid namespace"}`)
	s.send(`42["message",1]`, `42/custom,["message",2]`) // neither has suffered
	s.wants(`42["message-back",1]`, `42/custom,["message-back",2]`)
}

func TestDisconnect(t *testing.T) {
	r := start(t, socketIO, calm)
	s := r.connected("40")
	s.entered("", "{}")
	s.send("40/custom")
	s.entered("/custom,", "{}")
	s.send("41/custom", `42["message","message to main namespace"]`)
	s.wants(`42["message-back","message to main namespace"]`)
	s.send("41/custom,", `43/custom,1[]`) // crossed with the end, and dropped
	s.send("40/custom")
	s.entered("/custom,", "{}")
	s.send("41")
	s.send(`42/custom,["message",1]`)
	s.wants(`42/custom,["message-back",1]`)
}

func TestEvents(t *testing.T) {
	r := start(t, socketIO, calm)
	for _, c := range []struct{ sent, got string }{
		{`42["message",1,"2",{"3":[true]}]`, `42["message-back",1,"2",{"3":[true]}]`},
		{`42["message"]`, `42["message-back"]`},
		{`42[ "message" , 1 , [ 2 ] ] `, `42["message-back",1,[ 2 ]]`},
		{`42456["message-with-ack",1,"2",{"3":[false]}]`, `43456[1,"2",{"3":[false]}]`},
		{`420["message-with-ack"]`, `430[]`},
	} {
		s := r.connected("40")
		s.entered("", "{}")
		s.send(c.sent)
		s.wants(c.got)
	}
	s := r.connected("40")
	s.entered("", "{}")
	places := `{"_placeholder":true,"num":0},{"_placeholder":true,"num":1}`
	s.send(`452-["message",`+places+`]`, "b:\x01\x02\x03", "b:\x04\x05\x06")
	s.wants(`452-["message-back",`+places+`]`, "b:\x01\x02\x03", "b:\x04\x05\x06")
	s.send(`452-789["message-with-ack",`+places+`]`, "b:\x01\x02\x03", "b:")
	s.wants(`462-789[`+places+`]`, "b:\x01\x02\x03", "b:")
	s.send("40/custom,")
	s.entered("/custom,", "{}")
	s.send(`451-/custom,7["message-with-ack",{"_placeholder":true,"num":0}]`, "b:x")
	s.wants(`461-/custom,7[{"_placeholder":true,"num":0}]`, "b:x")
	s.send(`450-["message",{"x":1}]`)
	s.wants(`42["message-back",{"x":1}]`)
}

func TestViolations(t *testing.T) {
	r := start(t, socketIO, calm)
	big := strings.Repeat("x", 600_000)
	for name, c := range map[string]struct {
		packets []string // behind the handshake
		code    websocket.StatusCode
	}{
		"invalid handshake":         {[]string{"4abc"}, 1002},
		"event before CONNECT":      {[]string{`42["message",1]`}, 1008},
		"ack before CONNECT":        {[]string{`431[]`}, 1008},
		"disconnect before CONNECT": {[]string{"41"}, 1008},
		"event after a refusal":     {[]string{"40/random", `42/random,["message"]`}, 1008},
		"event to another":          {[]string{"40", `42/custom,["message"]`}, 1008},
		"event after the end":       {[]string{"40", "41", `42["message"]`}, 1008},
		"second CONNECT":            {[]string{"40", "40"}, 1002},
		"CONNECT_ERROR":             {[]string{"40", `44{"message":"x"}`}, 1002},
		"no array":                  {[]string{"40", `42{}`}, 1002},
		"no JSON":                   {[]string{"40", `42["message"`}, 1002},
		"no name":                   {[]string{"40", `42[]`}, 1002},
		"reserved name":             {[]string{"40", `42["connect"]`}, 1002},
		"CONNECT of an array":       {[]string{"40[]"}, 1002},
		"ack without an id":         {[]string{"40", "43[]"}, 1002},
		"too many attachments":      {[]string{"40", `4511-["message"]`}, 1002},
		"no attachment count":       {[]string{"40", `45["message"]`}, 1002},
		"text among attachments":    {[]string{"40", `451-["message",{"_placeholder":true,"num":0}]`, `42["message"]`}, 1002},
		"placeholder out of range":  {[]string{"40", `451-["message",{"_placeholder":true,"num":1}]`, "b:x"}, 1002},
		"placeholder of nonsense":   {[]string{"40", `451-["message",[{"_placeholder":true,"num":"0"}]]`, "b:x"}, 1002},
		"stray attachment":          {[]string{"40", "b:x"}, 1003},
		"one attachment too many":   {[]string{"40", `451-["nothing",{"_placeholder":true,"num":0}]`, "b:x", "b:x"}, 1003},
		"attachments too big":       {[]string{"40", `452-["message"]`, "b:" + big, "b:" + big}, 1009},
		"binary event to another":   {[]string{"40", `451-/custom,["message"]`}, 1008},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := (&rig{t, r.s, r.base}).connected()
			if !strings.Contains(name, "before") { // in one namespace before, which must make no difference
				s.send("40/custom", "41/custom")
			}
			s.send(c.packets...)
			if code := s.closes(); code != c.code {
				t.Errorf("closed with %d, want %d", code, c.code)
			}
		})
	}
}

// Everything works over polling as well, with attachments in base64.
func TestSocketIOPolling(t *testing.T) {
	r := start(t, socketIO, calm)
	q := r.open()
	r.wants("POST", q, "40", 200, "ok")
	a := r.do("GET", q, "")
	if connect, auth, ok := strings.Cut(a.body, "\x1e"); !ok || !strings.HasPrefix(connect, `40{"sid":"`) || auth != `42["auth",{}]` {
		t.Fatalf("CONNECT is answered with %q", a.body)
	}
	binary := `451-["message",{"_placeholder":true,"num":0}]` + "\x1ebAQID"
	r.wants("POST", q, `421["message-with-ack",2]`+"\x1e"+binary, 200, "ok")
	r.wants("GET", q, "", 200, `431[2]`+"\x1e"+`451-["message-back",{"_placeholder":true,"num":0}]`+"\x1ebAQID")
	r.wants("POST", q, `42["message"`, 200, "ok") // the payload is fine, what is in it is not
	r.wants("GET", q, "", 200, "1")
	r.refused("GET", q, 1)
}
