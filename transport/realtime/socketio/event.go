package socketio

import (
	"bytes"
	"encoding/json"
)

// SplitEvent takes the data of an event apart: its name, its first argument (nil: none) and what
// follows that, as a JSON array without its opening bracket and comma (nil: nothing). data must
// have come out of Decode, which has checked that it is a JSON array. first and rest alias it.
func SplitEvent(data json.RawMessage) (name string, first, rest json.RawMessage, err error) {
	b := space(data)
	if len(b) == 0 || b[0] != '[' {
		return "", nil, nil, ErrEventName
	}
	b = space(b[1:])
	if len(b) == 0 || b[0] != '"' {
		return "", nil, nil, ErrEventName
	}
	n := valueEnd(b)
	if n < 2 || n-2 > MaxEventName {
		return "", nil, nil, ErrEventName
	}
	if name, err = unquote(b[:n]); err != nil {
		return "", nil, nil, err
	}
	if reserved(name) {
		return "", nil, nil, ErrEventName
	}
	b = space(b[n:])
	if len(b) == 0 || b[0] != ',' {
		return name, nil, nil, nil
	}
	b = space(b[1:])
	n = valueEnd(b)
	first = json.RawMessage(b[:n])
	b = space(b[n:])
	if len(b) > 0 && b[0] == ',' {
		rest = json.RawMessage(space(b[1:]))
	}
	return name, first, rest, nil
}

// reserved says whether a name is kept for what the libraries tell their own users; the reference implementation takes no
// such event from the wire.
func reserved(name string) bool {
	switch name {
	case "connect", "connect_error", "disconnect", "disconnecting", "newListener", "removeListener":
		return true
	}
	return false
}

// FirstArgument is the first element of an ack's data, nil when there is none. data must have
// come out of Decode.
func FirstArgument(data json.RawMessage) json.RawMessage {
	b := space(data)
	if len(b) == 0 || b[0] != '[' {
		return nil
	}
	b = space(b[1:])
	if len(b) == 0 || b[0] == ']' {
		return nil
	}
	return json.RawMessage(b[:valueEnd(b)])
}

// unquote turns a JSON string into its text.
func unquote(b []byte) (string, error) {
	if bytes.IndexByte(b, '\\') < 0 {
		return string(b[1 : len(b)-1]), nil
	}
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return "", ErrEventName
	}
	return s, nil
}

// space skips the white space of JSON.
func space(b []byte) []byte {
	for len(b) > 0 && (b[0] == ' ' || b[0] == '\t' || b[0] == '\n' || b[0] == '\r') {
		b = b[1:]
	}
	return b
}

// valueEnd is the length of the JSON value that b begins with. The JSON around it must be valid,
// which makes counting brackets outside strings enough.
func valueEnd(b []byte) int {
	depth := 0
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '"':
			i = stringEnd(b, i)
			if depth == 0 {
				return min(i+1, len(b))
			}
		case '[', '{':
			depth++
		case ']', '}':
			depth--
			switch {
			case depth < 0: // the end of the array around a number or a literal
				return i
			case depth == 0:
				return i + 1
			}
		case ',', ' ', '\t', '\n', '\r':
			if depth == 0 {
				return i
			}
		}
	}
	return len(b)
}

// stringEnd is the position of the quote that closes the string which opens at i.
func stringEnd(b []byte, i int) int {
	for i++; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return i
}
