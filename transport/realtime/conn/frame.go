package conn

import (
	"encoding/binary"
	"unicode/utf8"
)

// Opcodes of RFC 6455, section 5.2.
const (
	opContinuation = 0x0
	opText         = 0x1
	opBinary       = 0x2
	opClose        = 0x8
	opPing         = 0x9
	opPong         = 0xA
)

const (
	finBit  = 0x80
	rsvBits = 0x70
	maskBit = 0x80

	// maxControl is the largest payload of a control frame (RFC 6455, section 5.5).
	maxControl = 125
	// maxHeader is the longest header of a client's frame: 2, 8 of length, 4 of mask.
	maxHeader = 14
)

// Frame is one encoded frame of the server, header and payload. It never changes once made, so
// one Frame may be pushed to any number of connections.
type Frame struct {
	b    []byte
	head int
}

// Text makes a text frame of the parts, joined. They must be valid UTF-8.
func Text(parts ...[]byte) *Frame { return newFrame(opText, parts...) }

// Binary makes a binary frame of the parts, joined.
func Binary(parts ...[]byte) *Frame { return newFrame(opBinary, parts...) }

var pingFrame = newFrame(opPing)

// Ping returns an empty ping frame.
func Ping() *Frame { return pingFrame }

// CloseFrame makes a close frame. A code that may not be sent (RFC 6455, section 7.4) becomes
// 1011, CodeNoStatus an empty payload; the reason is cut to the 123 bytes that fit.
func CloseFrame(code int, reason string) *Frame {
	if code == CodeNoStatus {
		return newFrame(opClose)
	}
	if !validCode(code) {
		code = CodeInternal
	}
	var c [2]byte
	binary.BigEndian.PutUint16(c[:], uint16(code))
	return newFrame(opClose, c[:], []byte(cutReason(reason)))
}

// Size is the length of the frame on the wire in bytes.
func (f *Frame) Size() int { return len(f.b) }

// IsBinary says whether it is a binary frame.
func (f *Frame) IsBinary() bool { return f.b[0]&^finBit == opBinary }

// Payload is what the frame carries. It must not be changed.
func (f *Frame) Payload() []byte { return f.b[f.head:] }

func newFrame(op byte, parts ...[]byte) *Frame {
	n := 0
	for _, p := range parts {
		n += len(p)
	}
	head := 2
	switch {
	case n > 0xFFFF:
		head = 10
	case n > maxControl:
		head = 4
	}
	b := make([]byte, 0, head+n)
	b = append(b, finBit|op)
	switch head {
	case 2:
		b = append(b, byte(n))
	case 4:
		b = append(b, 126)
		b = binary.BigEndian.AppendUint16(b, uint16(n))
	default:
		b = append(b, 127)
		b = binary.BigEndian.AppendUint64(b, uint64(n))
	}
	for _, p := range parts {
		b = append(b, p...)
	}
	return &Frame{b: b, head: head}
}

func cutReason(s string) string {
	const most = maxControl - 2
	if len(s) <= most {
		return s
	}
	cut := most
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut]
}

// validCode says whether a close code may travel in a close frame (RFC 6455, section 7.4.1, and
// the codes that IANA registered since).
func validCode(code int) bool {
	switch {
	case code == 1004, code == CodeNoStatus, code == 1006:
		return false
	case code >= CodeNormal && code <= 1014:
		return true
	}
	return code >= 3000 && code <= 4999
}
