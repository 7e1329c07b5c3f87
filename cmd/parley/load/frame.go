package load

import (
	"encoding/binary"
	"errors"
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

// maxFrame is the largest frame, and the largest fragmented message, that a connection accepts from
// the server, in bytes. It lies well above the largest answer to a join (decision 29: 256 KB).
const maxFrame = 1 << 20

// maxControl is the largest payload of a control frame (RFC 6455, section 5.5).
const maxControl = 125

// closeNoStatus stands for a close frame without a code (RFC 6455, section 7.4.1).
const closeNoStatus = 1005

// errFrame means that the server broke the framing rules of RFC 6455; errFrameTooLarge that a frame
// or message exceeds maxFrame.
var (
	errFrame         = errors.New("broken WebSocket frame")
	errFrameTooLarge = errors.New("WebSocket frame above 1 MiB")
)

// frame is one WebSocket frame from the server. Its payload points into the read buffer.
type frame struct {
	fin     bool
	op      byte
	payload []byte
}

// parseFrame reads the frame at the start of data. It answers how many bytes the frame takes, 0 when
// data does not hold all of it yet.
func parseFrame(data []byte) (frame, int, error) {
	if len(data) < 2 {
		return frame{}, 0, nil
	}
	f := frame{fin: data[0]&0x80 != 0, op: data[0] & 0x0F}
	// No extension is negotiated and servers never mask: any such bit is an error.
	if data[0]&0x70 != 0 || data[1]&0x80 != 0 || !knownOpcode(f.op) {
		return frame{}, 0, errFrame
	}
	size, head := uint64(data[1]), 2
	switch size {
	case 126:
		if head = 4; len(data) < head {
			return frame{}, 0, nil
		}
		if size = uint64(binary.BigEndian.Uint16(data[2:])); size < 126 {
			return frame{}, 0, errFrame
		}
	case 127:
		if head = 10; len(data) < head {
			return frame{}, 0, nil
		}
		if size = binary.BigEndian.Uint64(data[2:]); size < 1<<16 {
			return frame{}, 0, errFrame
		}
	}
	if f.op >= opClose && (!f.fin || size > maxControl) {
		return frame{}, 0, errFrame
	}
	if size > maxFrame {
		return frame{}, 0, errFrameTooLarge
	}
	total := head + int(size)
	if len(data) < total {
		return frame{}, 0, nil
	}
	f.payload = data[head:total]
	return f, total, nil
}

func knownOpcode(op byte) bool {
	return op <= opBinary || (op >= opClose && op <= opPong)
}

// appendFrame appends a final client frame to dst. Its mask key is zero, which is valid and leaves
// the payload as it is, so that masking costs nothing.
func appendFrame(dst []byte, op byte, payload []byte) []byte {
	dst = append(dst, 0x80|op)
	switch n := len(payload); {
	case n < 126:
		dst = append(dst, 0x80|byte(n))
	case n < 1<<16:
		dst = binary.BigEndian.AppendUint16(append(dst, 0x80|126), uint16(n))
	default:
		dst = binary.BigEndian.AppendUint64(append(dst, 0x80|127), uint64(n))
	}
	dst = append(dst, 0, 0, 0, 0)
	return append(dst, payload...)
}

// closeCode reads the code and the reason of a close frame's payload.
func closeCode(payload []byte) (int, string) {
	if len(payload) < 2 {
		return closeNoStatus, ""
	}
	return int(binary.BigEndian.Uint16(payload)), string(payload[2:])
}
