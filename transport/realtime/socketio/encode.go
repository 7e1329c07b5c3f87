package socketio

import (
	"encoding/json"
	"strconv"
)

// AppendEvent appends an event of the root namespace with exactly one argument, which is what
// existing clients take (clients.md 3.1). data must be valid JSON; empty becomes null. ackID is
// NoAck when no answer is wanted.
func AppendEvent(dst []byte, name string, data []byte, ackID int64) []byte {
	return append(appendEvent(dst, name, data, ackID), ']')
}

// AppendEventOffset is AppendEvent with the offset of connection state recovery as a last
// argument (decision 29).
func AppendEventOffset(dst []byte, name string, data []byte, offset string) []byte {
	dst = append(appendEvent(dst, name, data, NoAck), ',')
	return append(appendString(dst, offset), ']')
}

func appendEvent(dst []byte, name string, data []byte, ackID int64) []byte {
	dst = append(dst, '0'+byte(Event))
	if ackID >= 0 {
		dst = strconv.AppendInt(dst, ackID, 10)
	}
	dst = append(appendString(append(dst, '['), name), ',')
	return appendValue(dst, data)
}

// AppendAck appends the answer to the event with that ack id, with exactly one argument. data
// must be valid JSON; empty becomes null.
func AppendAck(dst []byte, ackID int64, data []byte) []byte {
	dst = strconv.AppendInt(append(dst, '0'+byte(Ack)), ackID, 10)
	return append(appendValue(append(dst, '['), data), ']')
}

// AppendPacket appends any packet. An empty namespace is the root, and an AckID is told for events and acks only.
func AppendPacket(dst []byte, p Packet) []byte {
	dst = append(dst, '0'+byte(p.Type))
	if p.Type == BinaryEvent || p.Type == BinaryAck {
		dst = append(strconv.AppendInt(dst, int64(p.Attachments), 10), '-')
	}
	dst = appendNamespace(dst, p.Namespace)
	if p.AckID >= 0 && p.Type != Connect && p.Type != Disconnect && p.Type != ConnectError {
		dst = strconv.AppendInt(dst, p.AckID, 10)
	}
	return append(dst, p.Data...)
}

// EventData is the data of an event: its name, and then its arguments, each of which must be valid JSON.
func EventData(name string, args ...json.RawMessage) json.RawMessage {
	dst := appendString([]byte{'['}, name)
	for _, a := range args {
		dst = appendValue(append(dst, ','), a)
	}
	return append(dst, ']')
}

// AckData is the data of an ack.
func AckData(args ...json.RawMessage) json.RawMessage {
	dst := []byte{'['}
	for i, a := range args {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendValue(dst, a)
	}
	return append(dst, ']')
}

// AppendConnect appends the answer that accepts a client in a namespace. pid is left out when
// empty; it is the private id of connection state recovery.
func AppendConnect(dst []byte, namespace, sid, pid string) []byte {
	dst = appendNamespace(append(dst, '0'+byte(Connect)), namespace)
	dst = appendString(append(dst, `{"sid":`...), sid)
	if pid != "" {
		dst = appendString(append(dst, `,"pid":`...), pid)
	}
	return append(dst, '}')
}

// AppendConnectError appends the answer that refuses a client in a namespace.
func AppendConnectError(dst []byte, namespace, message string) []byte {
	dst = appendNamespace(append(dst, '0'+byte(ConnectError)), namespace)
	return append(appendString(append(dst, `{"message":`...), message), '}')
}

// AppendDisconnect appends the packet that ends a namespace.
func AppendDisconnect(dst []byte, namespace string) []byte {
	return appendNamespace(append(dst, '0'+byte(Disconnect)), namespace)
}

func appendNamespace(dst []byte, namespace string) []byte {
	if namespace == "" || namespace == Root {
		return dst
	}
	return append(append(dst, namespace...), ',')
}

func appendValue(dst, data []byte) []byte {
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
	dst = append(dst, '"')
	dst = append(dst, s...)
	return append(dst, '"')
}
