package search

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"strconv"

	"parley/persistence"
)

// The log is cut into blocks of BlockSize positions; a message is at an offset in its block.
const (
	blockBits = 10
	BlockSize = 1 << blockBits
)

// maxTerm is the longest word that is part of a key as it is, in bytes; of a longer one there is a hash.
const maxTerm = 40

// Words have neither of these, so that no two kinds of terms are the same.
const (
	mentionMark = "@"
	hashMark    = "#"
)

func mentionTerm(handle string) string { return mentionMark + handle }

// termOf is what stands for a word in keys.
func termOf(w string) string {
	if len(w) <= maxTerm {
		return w
	}
	sum := sha256.Sum256([]byte(w))
	return hashMark + hex.EncodeToString(sum[:16])
}

// Terms returns what a content is indexed under, each once and sorted.
func Terms(content string) []string {
	set := map[string]struct{}{}
	collect(content, func(term string) { set[term] = struct{}{} })
	return slices.Sorted(maps.Keys(set))
}

func collect(content string, add func(term string)) {
	firstWords(fold(content), func(w word) bool {
		add(termOf(w.text))
		return true
	})
	Mentions(content, func(handle string) bool {
		add(mentionTerm(handle))
		return true
	})
}

// offsets is a set of positions in a block.
type offsets [BlockSize / 64]uint64

func (o *offsets) add(n int)      { o[n/64] |= 1 << (n % 64) }
func (o *offsets) has(n int) bool { return o[n/64]&(1<<(n%64)) != 0 }
func (o *offsets) merge(other offsets) {
	for i := range o {
		o[i] |= other[i]
	}
}

// keep leaves what both have, and reports whether there is anything.
func (o *offsets) keep(other *offsets) bool {
	any := uint64(0)
	for i := range o {
		o[i] &= other[i]
		any |= o[i]
	}
	return any != 0
}

func (o *offsets) count() (n int) {
	for _, w := range o {
		n += bits.OnesCount64(w)
	}
	return n
}

const mapBytes = BlockSize / 8

var errOffsets = errors.New("malformed positions in the index")

// encode writes few offsets as a list of 16 bits each, many as a map of bits. The lengths tell which it is.
func (o *offsets) encode() []byte {
	if n := o.count(); 2*n < mapBytes {
		data := make([]byte, 0, 2*n)
		for i, w := range o {
			for ; w != 0; w &= w - 1 {
				data = binary.BigEndian.AppendUint16(data, uint16(64*i+bits.TrailingZeros64(w)))
			}
		}
		return data
	}
	data := make([]byte, 0, mapBytes)
	for _, w := range o {
		data = binary.BigEndian.AppendUint64(data, w)
	}
	return data
}

func decodeOffsets(data []byte) (o offsets, err error) {
	switch {
	case len(data) == mapBytes:
		for i := range o {
			o[i] = binary.BigEndian.Uint64(data[8*i:])
		}
	case len(data) > mapBytes || len(data)%2 != 0:
		return o, errOffsets
	default:
		for ; len(data) > 0; data = data[2:] {
			n := binary.BigEndian.Uint16(data)
			if n >= BlockSize {
				return o, errOffsets
			}
			o.add(int(n))
		}
	}
	return o, nil
}

// Keys of an agency's index are agency/term/block for what a block was indexed with, agency/term/block/pOFFSET for a part
// of the block that begins there, and agency/term/block/OFFSET for what an edit of the message there has added: all of
// one block stand together and blocks stand in their order.
func blockKey(agency, term string, block uint64) string {
	return Prefix(agency) + term + blockSuffix(block)
}

// Digits of a block in a key, and what sorts behind all that stands under a block.
const (
	blockDigits = 8
	behindBlock = "/~"
)

func blockSuffix(block uint64) string { return fmt.Sprintf("/%08x", block) }
func partSuffix(offset uint64) string { return fmt.Sprintf("/p%03x", offset) }

func editKey(agency, term string, seq uint64) string {
	return blockKey(agency, term, BlockOf(seq)) + fmt.Sprintf("/%03x", seq%BlockSize)
}

// readRow takes a document of a term apart; prefix is agency/term/.
func readRow(prefix string, d persistence.Document) (block uint64, o offsets, err error) {
	rest := d.Key[len(prefix):]
	if len(rest) < blockDigits {
		return 0, o, errOffsets
	}
	if block, err = strconv.ParseUint(rest[:blockDigits], 16, 64); err != nil {
		return 0, o, errOffsets
	}
	o, err = decodeOffsets(d.Data)
	return block, o, err
}
