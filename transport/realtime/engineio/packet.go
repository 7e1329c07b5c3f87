// Package engineio serves the Engine.IO protocol, version 4, as its specification has it
// (socket.io/docs/v4/engine-io-protocol): sessions over WebSocket, over long-polling, and those that change from the
// latter to the former. It knows nothing of what the messages mean. Where the specification is silent it does as the
// reference implementation. JSONP is not offered.
package engineio

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"unicode/utf8"
)

// Type is the kind of a packet.
type Type byte

// The packet types of the protocol, as they stand on the wire less '0'.
const (
	Open Type = iota
	Close
	Ping
	Pong
	Message
	Upgrade
	Noop
)

// String is the type's name in the specification.
func (t Type) String() string {
	if int(t) < len(names) {
		return names[t]
	}
	return "unknown"
}

var names = [...]string{"open", "close", "ping", "pong", "message", "upgrade", "noop"}

// Packet is one Engine.IO packet.
type Packet struct {
	Type Type
	// Binary is true for a message that travels as a binary frame, or as base64 in a payload.
	Binary bool
	// Data aliases what was decoded, except for binary packets of a payload.
	Data []byte
}

// MaxPackets is how many packets one polling payload may hold.
const MaxPackets = 1000

const (
	separator    = 0x1e
	binaryPrefix = 'b'
)

// Errors of the decoders; compare with errors.Is.
var (
	ErrEmpty       = errors.New("engine.io packet is empty")
	ErrType        = errors.New("engine.io packet has an unknown type")
	ErrText        = errors.New("engine.io packet is not valid UTF-8")
	ErrBase64      = errors.New("engine.io packet is not valid base64")
	ErrManyPackets = errors.New("engine.io payload has too many packets")
)

// Decode reads the packet of a text frame, whose UTF-8 the socket has checked.
func Decode(text []byte) (Packet, error) {
	if len(text) == 0 {
		return Packet{}, ErrEmpty
	}
	t := Type(text[0] - '0')
	if text[0] < '0' || t > Noop {
		return Packet{}, fmt.Errorf("%w: %q", ErrType, text[0])
	}
	return Packet{Type: t, Data: text[1:]}, nil
}

// DecodeBinary reads a binary frame, which is a message as it is.
func DecodeBinary(frame []byte) Packet { return Packet{Type: Message, Binary: true, Data: frame} }

// Append appends the form that a WebSocket frame carries: a binary frame if p is binary.
func Append(dst []byte, p Packet) []byte {
	if p.Binary {
		return append(dst, p.Data...)
	}
	return append(append(dst, '0'+byte(p.Type)), p.Data...)
}

// DecodePayload reads the body of a polling request. At most MaxPackets packets are taken.
func DecodePayload(body []byte) ([]Packet, error) {
	if bytes.Count(body, []byte{separator}) >= MaxPackets {
		return nil, ErrManyPackets
	}
	var packets []Packet
	for part := range bytes.SplitSeq(body, []byte{separator}) {
		p, err := decodePart(part)
		if err != nil {
			return nil, fmt.Errorf("packet %d: %w", len(packets)+1, err)
		}
		packets = append(packets, p)
	}
	return packets, nil
}

func decodePart(part []byte) (Packet, error) {
	if len(part) > 0 && part[0] == binaryPrefix {
		data := make([]byte, base64.StdEncoding.DecodedLen(len(part)-1))
		n, err := base64.StdEncoding.Decode(data, part[1:])
		if err != nil {
			return Packet{}, fmt.Errorf("%w: %w", ErrBase64, err)
		}
		return DecodeBinary(data[:n]), nil
	}
	if !utf8.Valid(part) {
		return Packet{}, ErrText
	}
	return Decode(part)
}

// AppendPayload appends the form that the answer to a polling request carries.
func AppendPayload(dst []byte, packets ...Packet) []byte {
	for i, p := range packets {
		if i > 0 {
			dst = append(dst, separator)
		}
		if p.Binary {
			dst = base64.StdEncoding.AppendEncode(append(dst, binaryPrefix), p.Data)
			continue
		}
		dst = Append(dst, p)
	}
	return dst
}
