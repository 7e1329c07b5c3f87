package search

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"parley/persistence"
)

// Prefix is what the keys of an agency's index begin with.
func Prefix(agency string) string { return agency + "/" }

// cursorKey is the key of the document that says how far the index reaches: the empty word's.
func cursorKey(agency string) string { return Prefix(agency) }

// Reached returns the number of blocks that are indexed: all before it are, none from it on.
func Reached(ctx context.Context, s persistence.Store, agency string) (uint64, error) {
	doc, err := s.Document(ctx, persistence.CollectionWord, cursorKey(agency))
	switch {
	case errors.Is(err, persistence.ErrNotFound):
		return 0, nil
	case err != nil:
		return 0, err
	case len(doc) != 8:
		return 0, errOffsets
	}
	return binary.BigEndian.Uint64(doc), nil
}

// Words returns up to limit documents of an agency's index, without the one that says how far it reaches.
func Words(ctx context.Context, s persistence.Store, agency string, limit int) ([]persistence.Document, error) {
	return s.Documents(ctx, persistence.CollectionWord, persistence.Range{Prefix: Prefix(agency), After: cursorKey(agency), Limit: limit})
}

// Reach says that so many blocks are indexed. It belongs into the batch of the last documents of the last one.
func Reach(agency string, blocks uint64) persistence.DocumentOp {
	return persistence.DocumentOp{Collection: persistence.CollectionWord, Key: cursorKey(agency), Data: binary.BigEndian.AppendUint64(nil, blocks)}
}

// SeqOf reads the position out of the key of a message's document.
func SeqOf(agency, key string) (uint64, error) {
	seq, err := strconv.ParseUint(key[len(Prefix(agency)):], 16, 64)
	if err != nil {
		return 0, fmt.Errorf("key of a message: %w", err)
	}
	return seq, nil
}

// Full returns the number of blocks that are full when the log ends with the position last.
func Full(last uint64) uint64 { return (last + 1) / BlockSize }

// BlockOf is the number of the block that a position is in, counted from 0.
func BlockOf(seq uint64) uint64 { return seq / BlockSize }

// spareOffsets is the number of sets that a portion makes at a time.
const spareOffsets = 256

// Portion gathers the words of the messages of one block, or of a part of it when they are very many.
type Portion struct {
	agency string
	from   uint64
	terms  map[string]*offsets
	spare  []offsets // made many at a time
}

// NewPortion begins with the message at a position; the portion ends with the block at the latest.
func NewPortion(agency string, from uint64) *Portion {
	return &Portion{agency: agency, from: from, terms: map[string]*offsets{}}
}

// End is the first position behind the portion's block.
func (p *Portion) End() uint64 { return (BlockOf(p.from) + 1) * BlockSize }

// Span is the range of the keys of the messages, in the order of the log.
func (p *Portion) Span() persistence.Range {
	return persistence.Range{Prefix: Prefix(p.agency), After: lastBefore(p.agency, p.from), Before: persistence.SeqKey(p.agency, p.End())}
}

// lastBefore is the key before that of a position, empty for the first.
func lastBefore(agency string, seq uint64) string {
	if seq == 0 {
		return ""
	}
	return persistence.SeqKey(agency, seq-1)
}

// Add takes the content of the next message.
func (p *Portion) Add(seq uint64, content string) {
	collect(content, func(term string) {
		o := p.terms[term]
		if o == nil {
			if len(p.spare) == 0 {
				p.spare = make([]offsets, spareOffsets)
			}
			o, p.spare = &p.spare[0], p.spare[1:]
			p.terms[term] = o
		}
		o.add(int(seq % BlockSize))
	})
}

// Len is the number of documents that the portion makes.
func (p *Portion) Len() int { return len(p.terms) }

// Documents returns what is to be put, in the order of the keys.
func (p *Portion) Documents() []persistence.DocumentOp {
	prefix, suffix := Prefix(p.agency), blockSuffix(BlockOf(p.from))
	if offset := p.from % BlockSize; offset > 0 {
		suffix += partSuffix(offset)
	}
	ops := make([]persistence.DocumentOp, 0, len(p.terms))
	for _, term := range slices.Sorted(maps.Keys(p.terms)) {
		ops = append(ops, persistence.DocumentOp{Collection: persistence.CollectionWord, Key: prefix + term + suffix, Data: p.terms[term].encode()})
	}
	return ops
}

// Edit returns what is to be put with an edit: the words that the message did not have before. Those that it had are in
// the index, or will be when the block is indexed.
func Edit(agency string, seq uint64, before, after string) []persistence.DocumentOp {
	had := Terms(before)
	var o offsets
	o.add(int(seq % BlockSize))
	data := o.encode()
	var ops []persistence.DocumentOp
	for _, term := range Terms(after) {
		if _, found := slices.BinarySearch(had, term); !found {
			ops = append(ops, persistence.DocumentOp{Collection: persistence.CollectionWord, Key: editKey(agency, term, seq), Data: data})
		}
	}
	return ops
}
