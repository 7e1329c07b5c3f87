package search

import (
	"context"
	"errors"
	"fmt"
	"math"

	"parley/persistence"
)

// The work of one search is bounded: reading a row of the index costs rowCost, looking at a message messageCost and what
// its length and the phrases of the query make of it, and all together may cost MaxWork. That is a walk over the rows of
// two common words in ten million messages, or 10,000 messages that the index has named in vain. Few searches come near
// it, since they end with their page.
const (
	MaxWork     = 40_000
	rowCost     = 1
	messageCost = 4
	costBytes   = 2048 // of a content that cost 1
	costSteps   = 256  // in phrases that cost 1
)

// tailPage is the number of messages that are read at once where the index does not reach.
const tailPage = 256

// ErrBehind says that the index lacks so much that it has to be written first.
var ErrBehind = errors.New("the index is behind")

// BroadError says that a search took too much work. The messages from there on, in the direction of the search, have not
// been looked at.
type BroadError struct {
	Reached uint64 // position in the log
	Found   int    // hits before it
}

func (e *BroadError) Error() string {
	return fmt.Sprintf("search stopped at %d with %d hits", e.Reached, e.Found)
}

// Request is a search in one agency.
type Request struct {
	Store  persistence.Store
	Agency string
	Query  *Query
	// After and Before bound the positions, both exclusive; Before 0 is no bound.
	After, Before uint64
	Limit         int
	Ascending     bool // the oldest first, else the newest
	// Content reads the content of a message document.
	Content func(doc []byte) (string, error)
}

// Result is a page of hits.
type Result struct {
	Messages []persistence.Document
	// Behind says that full blocks wait to be indexed: whoever owns the agency should be told.
	Behind bool
}

// finder is a search at work.
type finder struct {
	Request
	firstBlock, lastBlock uint64 // of the index that are walked, both inclusive
	edge                  uint64 // first position that is not indexed
	at                    uint64 // position that the search has come to
	work                  int
	behind                bool
	found                 []persistence.Document
}

var errWork = errors.New("too much work")

// Find returns the page of messages that match. It fails with *BroadError when the search would take too much work, with
// ErrBehind when that is because the index has still to be written, and as the store does.
func Find(ctx context.Context, r Request) (Result, error) {
	f := &finder{Request: r}
	if f.Before == 0 || f.Before > math.MaxInt64 {
		f.Before = math.MaxInt64
	}
	blocks, err := Reached(ctx, r.Store, r.Agency)
	if err != nil {
		return Result{}, err
	}
	f.edge = blocks * BlockSize
	if f.Ascending {
		f.at = f.After + 1
		if err = f.index(ctx); err == nil {
			err = f.tail(ctx)
		}
	} else {
		f.at = f.Before - 1
		if err = f.tail(ctx); err == nil {
			err = f.index(ctx)
		}
	}
	switch {
	case err == nil:
		return Result{Messages: f.found, Behind: f.behind}, nil
	case errors.Is(err, errWork) && f.behind:
		return Result{Behind: true}, ErrBehind
	case errors.Is(err, errWork):
		return Result{}, &BroadError{Reached: f.at, Found: len(f.found)}
	default:
		return Result{}, err
	}
}

func (f *finder) full() bool { return len(f.found) >= f.Limit }

// ahead reports whether the search meets the one before the other.
func (f *finder) ahead(one, other uint64) bool {
	if f.Ascending {
		return one < other
	}
	return one > other
}

func (f *finder) spend(n int) error {
	if f.work += n; f.work > MaxWork {
		return errWork
	}
	return nil
}

// tail looks at the messages that are not indexed.
func (f *finder) tail(ctx context.Context) error {
	r := persistence.Range{Prefix: Prefix(f.Agency), Limit: tailPage, Reverse: !f.Ascending, Before: persistence.SeqKey(f.Agency, f.Before)}
	if from := max(f.After+1, f.edge); from > 0 {
		r.After = persistence.SeqKey(f.Agency, from-1)
	}
	for !f.full() {
		rows, err := f.Store.Documents(ctx, persistence.CollectionMessage, r)
		if err != nil || len(rows) == 0 {
			return err
		}
		for _, d := range rows {
			if err := f.look(d); err != nil || f.full() {
				return err
			}
		}
		if last := rows[len(rows)-1].Key; f.Ascending {
			r.After = last
		} else {
			r.Before = last
		}
	}
	return nil
}

// look takes a message of the tail into the page if it matches.
func (f *finder) look(d persistence.Document) error {
	seq, err := SeqOf(f.Agency, d.Key)
	if err != nil {
		return err
	}
	f.at = seq
	f.behind = f.behind || BlockOf(seq) > BlockOf(f.edge)+1 // one block may be on its way
	return f.check(d)
}

func (f *finder) check(d persistence.Document) error {
	if err := f.spend(messageCost); err != nil {
		return err
	}
	content, err := f.Content(d.Data)
	if err != nil {
		return err
	}
	found, steps := f.Query.match(content)
	if found {
		f.found = append(f.found, d)
	}
	f.work += len(content)/costBytes + steps/costSteps // the next message is one too many, not this one
	return nil
}

// index walks the blocks that have all words.
func (f *finder) index(ctx context.Context) error {
	end := min(f.Before, f.edge)
	if f.full() || end == 0 || f.After+1 >= end {
		return nil
	}
	f.firstBlock, f.lastBlock = BlockOf(f.After+1), BlockOf(end-1)
	var columns []*column
	for _, term := range f.Query.walked() {
		columns = append(columns, f.column(term))
	}
	target, last := f.lastBlock, f.firstBlock
	if f.Ascending {
		target, last = last, target
	}
	for {
		f.reach(target)
		block, ok, err := f.meet(ctx, columns, target)
		if err != nil || !ok {
			return err
		}
		common := columns[0].set
		any := true
		for _, c := range columns[1:] {
			any = common.keep(&c.set) && any
		}
		if any {
			if err := f.hits(ctx, block, &common); err != nil || f.full() {
				return err
			}
		}
		if block == last {
			return nil
		}
		if target = block - 1; f.Ascending {
			target = block + 1
		}
	}
}

// meet finds the first block from target on that has all words.
func (f *finder) meet(ctx context.Context, columns []*column, target uint64) (uint64, bool, error) {
	for i := 0; i < len(columns); {
		c := columns[i]
		if err := c.seek(ctx, target); err != nil || c.over {
			return 0, false, err
		}
		if c.block == target {
			i++
			continue
		}
		target = c.block
		if i == 0 {
			i++
		} else {
			i = 0
		}
		f.reach(target)
	}
	return target, true, nil
}

// reach notes how far the search has come: to the edge of a block.
func (f *finder) reach(block uint64) {
	seq := block * BlockSize
	if !f.Ascending {
		seq += BlockSize - 1
	}
	if f.ahead(f.at, seq) {
		f.at = seq
	}
}

// hits looks at the messages that the index names in a block.
func (f *finder) hits(ctx context.Context, block uint64, set *offsets) error {
	for i := range BlockSize {
		n := i
		if !f.Ascending {
			n = BlockSize - 1 - i
		}
		seq := block*BlockSize + uint64(n)
		if !set.has(n) || seq <= f.After || seq >= f.Before {
			continue
		}
		f.at = seq
		key := persistence.SeqKey(f.Agency, seq)
		doc, err := f.Store.Document(ctx, persistence.CollectionMessage, key)
		if errors.Is(err, persistence.ErrNotFound) {
			err = f.spend(messageCost)
		} else if err == nil {
			err = f.check(persistence.Document{Key: key, Data: doc})
		}
		if err != nil || f.full() {
			return err
		}
	}
	return nil
}
