package load

import (
	"encoding/hex"
	"math/rand/v2"
)

// The text that every post carries, so that receivers can check it without decoding JSON:
//
//	~parley<run><room><poster><seq><due>~
//
// All numbers are hexadecimal and of fixed width. None of the characters is ever escaped in JSON.
const (
	markerLead   = "~parley"
	markerFields = 3*8 + 16 // room, poster and sequence of 8 digits, due of 16
	runDigits    = 8
	// minContent is the smallest content of a post in bytes: a bare marker.
	minContent = len(markerLead) + runDigits + markerFields + 1
)

// marker identifies one post of a run.
type marker struct {
	room, poster, seq uint32
	// due is the time for which the post was scheduled, in nanoseconds since the run began. Latency
	// is counted from it, and not from the time of the write, so that a slow server cannot hide
	// its slowness by delaying the generator (coordinated omission).
	due int64
}

// needle is what receivers look for: the lead and the run's id.
func needle(run string) []byte { return []byte(markerLead + run) }

// appendMarker appends the marker of m to dst, behind the needle.
func appendMarker(dst, needle []byte, m marker) []byte {
	dst = append(dst, needle...)
	dst = appendHex(dst, uint64(m.room), 8)
	dst = appendHex(dst, uint64(m.poster), 8)
	dst = appendHex(dst, uint64(m.seq), 8)
	dst = appendHex(dst, uint64(m.due), 16)
	return append(dst, '~')
}

// parseMarker reads the fields that follow a needle; false when they are no marker.
func parseMarker(data []byte) (marker, bool) {
	const size = markerFields
	if len(data) <= size || data[size] != '~' {
		return marker{}, false
	}
	room, ok1 := parseHex(data[:8])
	poster, ok2 := parseHex(data[8:16])
	seq, ok3 := parseHex(data[16:24])
	due, ok4 := parseHex(data[24:size])
	m := marker{room: uint32(room), poster: uint32(poster), seq: uint32(seq), due: int64(due)}
	return m, ok1 && ok2 && ok3 && ok4
}

func appendHex(dst []byte, v uint64, digits int) []byte {
	const set = "0123456789abcdef"
	for shift := 4 * (digits - 1); shift >= 0; shift -= 4 {
		dst = append(dst, set[v>>uint(shift)&0xF])
	}
	return dst
}

func parseHex(data []byte) (uint64, bool) {
	var v uint64
	for _, c := range data {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		default:
			return 0, false
		}
		v = v<<4 | uint64(c)
	}
	return v, true
}

// newRun draws the id of a run, runDigits hexadecimal digits.
func newRun(random *rand.Rand) string {
	var raw [runDigits / 2]byte
	for i := range raw {
		raw[i] = byte(random.Uint32())
	}
	return hex.EncodeToString(raw[:])
}

// padding makes n bytes of text that looks like words and needs no escaping. It does not end in a
// space, because the server trims content (decision 21).
func padding(random *rand.Rand, n int) []byte {
	pad := make([]byte, n)
	for i := range pad {
		pad[i] = byte('a' + random.IntN(26))
		if i > 0 && i < n-1 && random.IntN(6) == 0 {
			pad[i] = ' '
		}
	}
	return pad
}
