package conn

import (
	"encoding/binary"
	"math"
	"slices"
	"sync"
)

const (
	// keepMessage is the largest message buffer that goes back to the pool.
	keepMessage = 64 << 10
	// firstMessage is the least a message buffer is grown to.
	firstMessage = 1 << 10
	// tinyFragment is the size in bytes under which a fragment counts as an event of its own, so
	// that a flood of empty ones falls under the rate limit.
	tinyFragment = 64
)

// sink is what a reader hands complete messages and control frames to. The slices are valid
// during the call only. An error ends the reading and is returned by feed.
type sink interface {
	message(op byte, payload []byte) error
	control(op byte, payload []byte) error
	fragment() error
}

// reader parses the frames of a client (RFC 6455, section 5) from the bytes as they come. It
// holds memory only while a message is incomplete. With its limit set it is ready.
type reader struct {
	limit   int     // largest message in bytes
	left    int     // payload bytes of the current frame still to come
	msg     *[]byte // the message so far, when it did not come in one piece; pooled
	ctl     []byte  // the control payload so far, when it did not come in one piece
	key     [4]byte // mask, turned to the position
	head    [maxHeader]byte
	have    uint8 // bytes in head
	op      byte  // opcode of the current frame
	msgOp   byte  // opcode of the message in progress, 0 when there is none
	fin     bool
	payload bool // the header is complete, the payload is not
}

var messages = sync.Pool{New: func() any { return new([]byte) }}

// idle says that no frame or message is half read.
func (r *reader) idle() bool { return r.have == 0 && !r.payload && r.msgOp == 0 }

// feed parses p and changes it: payloads are unmasked in place.
func (r *reader) feed(p []byte, s sink) error {
	for len(p) > 0 || (r.payload && r.left == 0) {
		if !r.payload {
			n, done := r.header(p)
			p = p[n:]
			if !done {
				return nil
			}
			if err := r.begin(); err != nil {
				return err
			}
			continue
		}
		n := min(r.left, len(p))
		chunk := p[:n]
		p = p[n:]
		r.key = unmask(chunk, r.key)
		r.left -= n
		if err := r.body(chunk, s); err != nil {
			return err
		}
	}
	return nil
}

// drop gives back what a half-read message holds.
func (r *reader) drop() {
	if r.msg != nil {
		if cap(*r.msg) <= keepMessage {
			*r.msg = (*r.msg)[:0]
			messages.Put(r.msg)
		}
		r.msg = nil
	}
	r.ctl = nil
	r.msgOp = 0
}

// header moves bytes of p into head until a header is complete.
func (r *reader) header(p []byte) (n int, done bool) {
	for {
		want := r.headerSize()
		if int(r.have) >= want {
			return n, true
		}
		if n == len(p) {
			return n, false
		}
		k := copy(r.head[r.have:want], p[n:])
		n += k
		r.have += uint8(k)
	}
}

func (r *reader) headerSize() int {
	if r.have < 2 {
		return 2
	}
	size := 2
	switch r.head[1] &^ maskBit {
	case 126:
		size += 2
	case 127:
		size += 8
	}
	if r.head[1]&maskBit != 0 {
		size += 4
	}
	return size
}

// begin checks a complete header and prepares for its payload.
func (r *reader) begin() error {
	b0, b1 := r.head[0], r.head[1]
	size := int(r.have)
	r.have = 0
	r.op, r.fin = b0&0x0F, b0&finBit != 0
	if b0&rsvBits != 0 {
		return protocolError("reserved bits are set")
	}
	if b1&maskBit == 0 {
		return protocolError("frame is not masked")
	}
	length := uint64(b1 &^ maskBit)
	switch length {
	case 126:
		length = uint64(binary.BigEndian.Uint16(r.head[2:]))
	case 127:
		length = binary.BigEndian.Uint64(r.head[2:])
	}
	if length > math.MaxInt64 {
		return protocolError("length is not valid")
	}
	copy(r.key[:], r.head[size-4:size])
	if err := r.checkOpcode(length); err != nil {
		return err
	}
	if r.op < opClose {
		if length > uint64(r.limit) || r.size()+int(length) > r.limit {
			return &CloseError{Code: CodeTooBig, Reason: "message is too big"}
		}
		if r.op != opContinuation {
			r.msgOp = r.op
		}
	}
	r.left = int(length)
	r.payload = true
	return nil
}

func (r *reader) checkOpcode(length uint64) error {
	switch r.op {
	case opContinuation:
		if r.msgOp == 0 {
			return protocolError("continuation of no message")
		}
	case opText, opBinary:
		if r.msgOp != 0 {
			return protocolError("new message inside a fragmented one")
		}
	case opClose, opPing, opPong:
		if length > maxControl {
			return protocolError("control frame is too long")
		}
		if !r.fin {
			return protocolError("control frame is fragmented")
		}
	default:
		return protocolError("unknown opcode")
	}
	return nil
}

// size is the length of the message so far.
func (r *reader) size() int {
	if r.msg == nil {
		return 0
	}
	return len(*r.msg)
}

// body takes the next piece of the current payload.
func (r *reader) body(chunk []byte, s sink) error {
	done := r.left == 0
	r.payload = !done
	if r.op >= opClose {
		if !done || len(r.ctl) > 0 {
			r.ctl = append(r.ctl, chunk...)
			chunk = r.ctl
		}
		if !done {
			return nil
		}
		r.ctl = nil
		return s.control(r.op, chunk)
	}
	if done && r.fin && r.msg == nil {
		op := r.msgOp
		r.msgOp = 0
		return s.message(op, chunk)
	}
	r.store(chunk)
	if !done {
		return nil
	}
	if !r.fin {
		if len(chunk) < tinyFragment {
			return s.fragment()
		}
		return nil
	}
	op := r.msgOp
	err := s.message(op, *r.msg)
	r.drop()
	return err
}

// store appends to the message. Memory grows with what has come, never with what a header claims.
func (r *reader) store(chunk []byte) {
	if r.msg == nil {
		r.msg = messages.Get().(*[]byte)
	}
	m := *r.msg
	if need := len(m) + len(chunk); need > cap(m) {
		room := max(need, min(need+r.left, 2*cap(m), r.limit), firstMessage)
		m = slices.Grow(m, room-len(m))
	}
	*r.msg = append(m, chunk...)
}

func protocolError(reason string) error {
	return &CloseError{Code: CodeProtocol, Reason: reason}
}

// unmask turns b into the clear (RFC 6455, section 5.3) and returns the key for what follows.
func unmask(b []byte, key [4]byte) [4]byte {
	if len(b) >= 8 {
		k := uint64(binary.LittleEndian.Uint32(key[:]))
		k |= k << 32
		for len(b) >= 8 {
			binary.LittleEndian.PutUint64(b, binary.LittleEndian.Uint64(b)^k)
			b = b[8:]
		}
	}
	for i := range b {
		b[i] ^= key[i&3]
	}
	n := len(b) & 3
	return [4]byte{key[n], key[(n+1)&3], key[(n+2)&3], key[(n+3)&3]}
}
