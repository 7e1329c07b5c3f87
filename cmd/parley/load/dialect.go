package load

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
)

// kind sorts what the server sends by what the generator has to do about it.
type kind int

const (
	kindOther   kind = iota // another event: counted only
	kindOpen                // the transport is open: authenticate
	kindReady               // authenticated
	kindRefused             // authentication refused
	kindJoined              // agency-joined
	kindLeft                // agency-left
	kindMessage             // message
	kindAck                 // the answer to a post
	kindError               // the event "error"
	kindPing                // a heartbeat: answer with pong
	kindEnd                 // the server ends the session
	kindBroken              // not understood at all
)

// event is one decoded text frame. body is JSON, or for a broken frame the frame itself.
type event struct {
	kind kind
	ack  uint32
	body []byte
}

// dialect is one of the server's two wire formats (decision 26). The append functions write the text
// of one frame behind dst.
type dialect interface {
	// path is the request target of the handshake.
	path() string
	// greets is true when the server speaks first: authentication waits for kindOpen.
	greets() bool
	auth(dst []byte, token string) []byte
	join(dst []byte, agency string) []byte
	// rejoin joins with the position in the room's log up to which everything was received (decision 29).
	rejoin(dst []byte, agency string, since int64) []byte
	leave(dst []byte, agency string) []byte
	// post takes content that needs no escaping in JSON.
	post(dst []byte, ack uint32, agency string, content []byte) []byte
	pong() []byte
	decode(text []byte) event
}

// dialects are the values of --format.
var dialects = map[string]dialect{"socketio": socketIO{}, "plain": plain{}}

var eventKinds = map[string]kind{
	"message": kindMessage, "agency-joined": kindJoined, "agency-left": kindLeft, "error": kindError, "ready": kindReady,
}

// socketIO is Socket.IO v4 on Engine.IO 4 over a WebSocket (clients.md, 3.1).
type socketIO struct{}

func (socketIO) path() string { return "/socket.io/?EIO=4&transport=websocket" }
func (socketIO) greets() bool { return true }
func (socketIO) pong() []byte { return []byte("3") }

// auth declines connection state recovery, whose offset would lengthen every event (decision 29).
func (socketIO) auth(dst []byte, token string) []byte {
	return fmt.Appendf(dst, `40{"token":%q,"recover":false}`, token)
}

func (socketIO) join(dst []byte, agency string) []byte {
	return fmt.Appendf(dst, `42["join-agency",{"agencyId":%q}]`, agency)
}

func (socketIO) rejoin(dst []byte, agency string, since int64) []byte {
	return fmt.Appendf(dst, `42["join-agency",{"agencyId":%q,"since":%d}]`, agency, since)
}

func (socketIO) leave(dst []byte, agency string) []byte {
	return fmt.Appendf(dst, `42["leave-agency",{"agencyId":%q}]`, agency)
}

func (socketIO) post(dst []byte, ack uint32, agency string, content []byte) []byte {
	dst = strconv.AppendUint(append(dst, "42"...), uint64(ack), 10)
	dst = append(append(dst, `["send-message",{"agencyId":"`...), agency...)
	dst = append(append(dst, `","content":"`...), content...)
	return append(dst, `"}]`...)
}

var socketIOMessage = []byte(`42["message",`)

func (s socketIO) decode(text []byte) event {
	if bytes.HasPrefix(text, socketIOMessage) {
		return event{kind: kindMessage, body: text[len(socketIOMessage):]}
	}
	if len(text) == 0 {
		return event{kind: kindBroken, body: text}
	}
	switch text[0] {
	case '0':
		return event{kind: kindOpen, body: text[1:]}
	case '1':
		return event{kind: kindEnd}
	case '2':
		return event{kind: kindPing}
	case '4':
		return s.decodePacket(text[1:])
	case '6':
		return event{kind: kindOther}
	}
	return event{kind: kindBroken, body: text}
}

// decodePacket decodes a Socket.IO packet of the namespace "/".
func (socketIO) decodePacket(packet []byte) event {
	if len(packet) == 0 {
		return event{kind: kindBroken, body: packet}
	}
	body := packet[1:]
	switch packet[0] {
	case '0':
		return event{kind: kindReady, body: body}
	case '1':
		return event{kind: kindEnd}
	case '2':
		return decodeArray(body)
	case '3':
		digits := 0
		for digits < len(body) && body[digits] >= '0' && body[digits] <= '9' {
			digits++
		}
		ack, err := strconv.ParseUint(string(body[:digits]), 10, 32)
		if err != nil {
			return event{kind: kindBroken, body: packet}
		}
		return event{kind: kindAck, ack: uint32(ack), body: body[digits:]}
	case '4':
		return event{kind: kindRefused, body: body}
	}
	return event{kind: kindBroken, body: packet}
}

// decodeArray decodes ["name", argument, …], perhaps with an ack id in front. The name alone is
// decoded; the rest stays as it is.
func decodeArray(body []byte) event {
	start := bytes.IndexByte(body, '[')
	if start < 0 {
		return event{kind: kindBroken, body: body}
	}
	var name string
	dec := json.NewDecoder(bytes.NewReader(body[start+1:]))
	if err := dec.Decode(&name); err != nil {
		return event{kind: kindBroken, body: body}
	}
	return event{kind: eventKinds[name], body: body[start+1+int(dec.InputOffset()):]}
}

// plain is the format of /ws (decisions 26 and 45).
type plain struct{}

func (plain) path() string { return "/ws" }
func (plain) greets() bool { return false }
func (plain) pong() []byte { return []byte(`{"event":"pong"}`) }

func (plain) auth(dst []byte, token string) []byte {
	return fmt.Appendf(dst, `{"event":"auth","data":{"token":%q}}`, token)
}

func (plain) join(dst []byte, agency string) []byte {
	return fmt.Appendf(dst, `{"event":"join-agency","data":{"agencyId":%q}}`, agency)
}

func (plain) rejoin(dst []byte, agency string, since int64) []byte {
	return fmt.Appendf(dst, `{"event":"join-agency","data":{"agencyId":%q,"since":%d}}`, agency, since)
}

func (plain) leave(dst []byte, agency string) []byte {
	return fmt.Appendf(dst, `{"event":"leave-agency","data":{"agencyId":%q}}`, agency)
}

func (plain) post(dst []byte, ack uint32, agency string, content []byte) []byte {
	dst = append(append(dst, `{"event":"send-message","data":{"agencyId":"`...), agency...)
	dst = append(append(dst, `","content":"`...), content...)
	dst = strconv.AppendUint(append(dst, `"},"ack":`...), uint64(ack), 10)
	return append(dst, '}')
}

var plainMessage = []byte(`{"event":"message",`)

func (plain) decode(text []byte) event {
	if bytes.HasPrefix(text, plainMessage) {
		return event{kind: kindMessage, body: text[len(plainMessage):]}
	}
	var env struct {
		Event string          `json:"event"`
		Ack   *uint32         `json:"ack"`
		Data  json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(text, &env); err != nil {
		return event{kind: kindBroken, body: text}
	}
	switch {
	case env.Event == "" && env.Ack != nil:
		return event{kind: kindAck, ack: *env.Ack, body: env.Data}
	case env.Event == "":
		return event{kind: kindBroken, body: text}
	case env.Event == "ping":
		return event{kind: kindPing}
	}
	return event{kind: eventKinds[env.Event], body: env.Data}
}

var ackedOK = []byte(`"ok":true`)

// ackOK reads the answer to a post (clients.md, 3.4); when it is not ok, the text says why.
func ackOK(body []byte) (bool, string) {
	if bytes.Contains(body, ackedOK) {
		return true, ""
	}
	var answer struct {
		OK      bool   `json:"ok"`
		Content string `json:"content"`
		Error   string `json:"error"`
	}
	// Socket.IO wraps the one argument in an array.
	body = bytes.TrimSuffix(bytes.TrimPrefix(body, []byte("[")), []byte("]"))
	if err := json.Unmarshal(body, &answer); err != nil {
		return false, "unreadable ack"
	}
	return answer.OK, firstOf(answer.Content, answer.Error, "refused without a reason")
}

// messageOf reads the field message of an error event's body, which may still carry the bracket of
// its array.
func messageOf(body []byte) string {
	var data struct {
		Message string `json:"message"`
	}
	body = bytes.TrimLeft(body, ", ")
	if err := json.NewDecoder(bytes.NewReader(body)).Decode(&data); err != nil {
		return "unreadable error"
	}
	return firstOf(data.Message, "error without a message")
}

func firstOf(texts ...string) string {
	for _, text := range texts {
		if text != "" {
			return text
		}
	}
	return ""
}

var logField = []byte(`"seq":`)

// logSeq finds the position in the room's log that a message carries (decision 39), -1 without one.
// Quotes inside of texts are escaped, so the first match is the field itself.
func logSeq(body []byte) int64 {
	i := bytes.Index(body, logField)
	if i < 0 {
		return -1
	}
	rest := bytes.TrimLeft(body[i+len(logField):], " ")
	digits := 0
	for digits < len(rest) && digits < 18 && rest[digits] >= '0' && rest[digits] <= '9' {
		digits++
	}
	if digits == 0 {
		return -1
	}
	var v int64
	for _, c := range rest[:digits] {
		v = v*10 + int64(c-'0')
	}
	return v
}
