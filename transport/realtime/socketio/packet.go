// Package socketio serves the Socket.IO protocol, version 5, as its specification has it
// (socket.io/docs/v4/socket-io-protocol), over sessions of package engineio: namespaces, events and acks both ways, and
// binary attachments. It knows nothing of what the events mean.
package socketio

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
)

// Type is the kind of a packet.
type Type byte

// The packet types of the protocol, as they stand on the wire less '0'.
const (
	Connect Type = iota
	Disconnect
	Event
	Ack
	ConnectError
	BinaryEvent
	BinaryAck
)

// Limits of what is decoded.
const (
	// MaxAckDigits keeps ack ids within what a float64 of a JavaScript client counts exactly.
	MaxAckDigits = 15
	// MaxAttachments is how many binary frames may follow one packet.
	MaxAttachments = 10
	// MaxNamespace is the longest namespace in bytes.
	MaxNamespace = 256
	// MaxEventName is the longest event name in bytes, as it stands in the JSON.
	MaxEventName = 256
)

// NoAck as an ack id means that there is none.
const NoAck = -1

// Root is the namespace that needs no name on the wire.
const Root = "/"

// Errors of Decode and SplitEvent; compare with errors.Is.
var (
	ErrEmpty       = errors.New("socket.io packet is empty")
	ErrType        = errors.New("socket.io packet has an unknown type")
	ErrAttachments = errors.New("socket.io packet has a bad attachment count")
	ErrNamespace   = errors.New("socket.io packet has a bad namespace")
	ErrAckID       = errors.New("socket.io packet has a bad ack id")
	ErrData        = errors.New("socket.io packet has data that its type does not allow")
	ErrEventName   = errors.New("socket.io event has no valid name")
)

// Packet is one Socket.IO packet.
type Packet struct {
	Type Type
	// Namespace begins with a slash.
	Namespace string
	// AckID is NoAck when there is none.
	AckID int64
	// Attachments is the number of binary frames that follow.
	Attachments int
	// Data is valid JSON, or empty; it aliases what was decoded.
	Data json.RawMessage
}

// Decode reads a packet. Its data is valid JSON of the form that the type asks for: an object or
// nothing for Connect, an object or a string for ConnectError, nothing for Disconnect, an array
// that begins with a name for events (the name itself is checked by SplitEvent), an array for acks.
func Decode(text []byte) (Packet, error) {
	if len(text) == 0 {
		return Packet{}, ErrEmpty
	}
	p := Packet{Type: Type(text[0] - '0'), Namespace: Root, AckID: NoAck}
	if text[0] < '0' || p.Type > BinaryAck {
		return Packet{}, ErrType
	}
	rest := text[1:]
	var err error
	if p.Type == BinaryEvent || p.Type == BinaryAck {
		if p.Attachments, rest, err = attachments(rest); err != nil {
			return Packet{}, err
		}
	}
	if p.Namespace, rest, err = namespace(rest); err != nil {
		return Packet{}, err
	}
	if p.AckID, rest, err = ackID(rest); err != nil {
		return Packet{}, err
	}
	p.Data = rest
	return p, p.check()
}

// attachments reads the count and its dash.
func attachments(b []byte) (int, []byte, error) {
	digits, _, found := bytes.Cut(b[:min(len(b), 4)], []byte{'-'})
	if !found || !plainNumber(digits) {
		return 0, nil, ErrAttachments
	}
	n, err := strconv.Atoi(string(digits))
	if err != nil || n > MaxAttachments {
		return 0, nil, ErrAttachments
	}
	return n, b[len(digits)+1:], nil
}

// namespace reads a name and its comma, if there is one.
func namespace(b []byte) (string, []byte, error) {
	if len(b) == 0 || b[0] != '/' {
		return Root, b, nil
	}
	i := bytes.IndexByte(b[:min(len(b), MaxNamespace+1)], ',')
	switch {
	case i >= 0:
		return string(b[:i]), b[i+1:], nil
	case len(b) <= MaxNamespace:
		return string(b), nil, nil
	}
	return "", nil, ErrNamespace
}

// ackID reads the digits in front of the data.
func ackID(b []byte) (int64, []byte, error) {
	n := 0
	for n < len(b) && b[n] >= '0' && b[n] <= '9' {
		n++
	}
	if n == 0 {
		return NoAck, b, nil
	}
	if n > MaxAckDigits {
		return 0, nil, ErrAckID
	}
	id, err := strconv.ParseInt(string(b[:n]), 10, 64)
	if err != nil {
		return 0, nil, ErrAckID
	}
	return id, b[n:], nil
}

func plainNumber(b []byte) bool {
	for _, c := range b {
		if c < '0' || c > '9' {
			return false
		}
	}
	return len(b) > 0
}

// check holds the packet against its type.
func (p *Packet) check() error {
	first := byte(0)
	if len(p.Data) > 0 {
		first = p.Data[0]
	}
	acks := p.Type == Event || p.Type == Ack || p.Type == BinaryEvent || p.Type == BinaryAck
	if p.AckID != NoAck && !acks {
		return ErrAckID
	}
	ok := false
	switch p.Type {
	case Connect:
		ok = first == 0 || first == '{'
	case Disconnect:
		ok = first == 0
	case ConnectError:
		ok = first == '{' || first == '"'
	case Event, BinaryEvent:
		ok = first == '['
	case Ack, BinaryAck:
		if p.AckID == NoAck {
			return ErrAckID
		}
		ok = first == '['
	}
	if !ok || (first != 0 && !json.Valid(p.Data)) {
		return ErrData
	}
	return nil
}
