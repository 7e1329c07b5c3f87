package agency

import (
	"crypto/rand"
	"encoding/binary"

	"github.com/google/uuid"
)

// LobbyID is the agency that everybody joins. It is the same in every deployment, so that any server can find it.
const LobbyID = "00000000-0000-8000-8000-000000000001"

// LobbySlug is the Lobby's slug (clients.md 4.3).
const LobbySlug = "lobby"

// A message's id is a UUID of version 8 that carries the message's place in the agency's log, so that a message is found
// by its id without an index of its own: 48 bits of time, 12 random bits, 40 bits of sequence, 22 random bits.
const (
	seqBits = 40
	maxSeq  = 1<<seqBits - 1
)

// NewMessageID makes the id of the message at a position.
func NewMessageID(at int64, seq uint64) string {
	var r [8]byte
	_, _ = rand.Read(r[:]) // never fails
	noise := binary.BigEndian.Uint64(r[:])
	var id uuid.UUID
	binary.BigEndian.PutUint64(id[0:], uint64(at)<<16|0x8000|noise>>52)
	binary.BigEndian.PutUint64(id[8:], 0x8000000000000000|(seq&maxSeq)<<22|noise&(1<<22-1))
	return id.String()
}

// SeqOfMessageID returns the position that an id carries. Whether the message there has that id is for the caller to see.
func SeqOfMessageID(id string) (uint64, bool) {
	u, err := uuid.Parse(id)
	if err != nil || len(id) != 36 || u.Version() != 8 {
		return 0, false
	}
	return binary.BigEndian.Uint64(u[8:]) >> 22 & maxSeq, true
}
