package engineio

import (
	"crypto/rand"
	"encoding/base64"
)

// ID is the id of a session: 120 random bits, which is what a stranger has to guess.
type ID [15]byte

// NewID makes an id.
func NewID() (id ID) {
	_, _ = rand.Read(id[:]) // never fails
	return id
}

// String is the id as clients know it.
func (id ID) String() string { return base64.RawURLEncoding.EncodeToString(id[:]) }

// parseID reads what String wrote.
func parseID(text string) (id ID, ok bool) {
	if base64.RawURLEncoding.DecodedLen(len(text)) != len(id) {
		return id, false
	}
	n, err := base64.RawURLEncoding.Decode(id[:], []byte(text))
	return id, err == nil && n == len(id)
}
