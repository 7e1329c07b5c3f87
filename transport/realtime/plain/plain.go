// Package plain is the codec of the JSON frames that clients without a Socket.IO library speak at
// /ws (decision 26): {"event":NAME,"data":…,"ack":N?} both ways, and {"ack":N,"data":…} as the
// answer to an event that asked for one.
package plain

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
)

const (
	// MaxEventName is the longest event name in bytes.
	MaxEventName = 64
	// MaxAck is the largest ack id: 2^53-1, the last that every JSON reader counts exactly.
	MaxAck = 1<<53 - 1
)

// NoAck as an ack id means that there is none.
const NoAck = -1

// Errors of Decode, each a sentence for the client; compare with errors.Is.
var (
	ErrObject = errors.New(`frame must be a JSON object such as {"event":"name","data":{}}`)
	ErrEvent  = errors.New("event must be a string of 1 to 64 bytes")
	ErrAck    = errors.New("ack must be a whole number from 0 to 9007199254740991")
)

// Frame is what a client sent: an event, or an answer to one when Event is empty.
type Frame struct {
	Event string
	// Data is valid JSON, nil when absent or null. It is a copy.
	Data json.RawMessage
	// Ack is NoAck when there is none.
	Ack int64
}

// Decode reads a frame. Unknown fields are passed over and null counts as absent; names are
// matched exactly. An event may lack its data, an answer (no event) must have its ack.
func Decode(text []byte) (Frame, error) {
	f := Frame{Ack: NoAck}
	trimmed := bytes.TrimLeft(text, " \t\r\n")
	if len(trimmed) == 0 || trimmed[0] != '{' {
		return f, ErrObject
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(text, &fields); err != nil {
		return f, fmt.Errorf("%w: %w", ErrObject, err)
	}
	event, hasEvent := present(fields["event"])
	ack, hasAck := present(fields["ack"])
	f.Data, _ = present(fields["data"])
	if hasEvent {
		if err := json.Unmarshal(event, &f.Event); err != nil || f.Event == "" || len(f.Event) > MaxEventName {
			return Frame{Ack: NoAck}, ErrEvent
		}
	}
	if hasAck {
		n, err := strconv.ParseUint(string(ack), 10, 64)
		if err != nil || n > MaxAck {
			return Frame{Ack: NoAck}, ErrAck
		}
		f.Ack = int64(n)
	}
	if !hasEvent && !hasAck {
		return Frame{Ack: NoAck}, ErrEvent
	}
	return f, nil
}

// present is false for a field that is absent or null.
func present(v json.RawMessage) (json.RawMessage, bool) {
	if len(v) == 0 || string(v) == "null" {
		return nil, false
	}
	return v, true
}

// AppendEvent appends an event. data must be valid JSON; empty becomes null. ack is NoAck when no
// answer is wanted.
func AppendEvent(dst []byte, event string, data []byte, ack int64) []byte {
	dst = appendString(append(dst, `{"event":`...), event)
	dst = appendData(dst, data)
	if ack >= 0 {
		dst = strconv.AppendInt(append(dst, `,"ack":`...), ack, 10)
	}
	return append(dst, '}')
}

// AppendAck appends the answer to the event that came with ack. data must be valid JSON; empty
// becomes null.
func AppendAck(dst []byte, ack int64, data []byte) []byte {
	dst = strconv.AppendInt(append(dst, `{"ack":`...), ack, 10)
	return append(appendData(dst, data), '}')
}

func appendData(dst, data []byte) []byte {
	dst = append(dst, `,"data":`...)
	if len(data) == 0 {
		return append(dst, "null"...)
	}
	return append(dst, data...)
}

// appendString appends s as JSON; plain ASCII goes without the encoder.
func appendString(dst []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			b, err := json.Marshal(s)
			if err != nil {
				return append(dst, `""`...) // a string always marshals
			}
			return append(dst, b...)
		}
	}
	dst = append(append(dst, '"'), s...)
	return append(dst, '"')
}
