package search

import (
	"context"
	"fmt"
	"math"

	"parley/persistence"
)

// Rows of a column that are read at once: few at first, since a page of results is often full soon, then more.
const (
	firstRows = 8
	mostRows  = 1024
)

// column walks the blocks that have one word, in the direction of the search.
type column struct {
	find   *finder
	prefix string
	rows   []persistence.Document // read and not gathered
	last   string                 // key of the last gathered row
	ahead  int                    // rows to read next
	done   bool                   // nothing is behind rows

	block uint64 // where the column is, once it is somewhere
	set   offsets
	begun bool
	over  bool
}

func (f *finder) column(term string) *column {
	return &column{find: f, prefix: Prefix(f.Agency) + term + "/", ahead: firstRows}
}

// seek goes on to the first block from target on that has the word; over says that there is none.
func (c *column) seek(ctx context.Context, target uint64) error {
	if c.over || c.begun && !c.find.ahead(c.block, target) {
		return nil
	}
	for {
		for len(c.rows) > 0 {
			block, _, err := c.row()
			if err != nil {
				return err
			}
			if !c.find.ahead(block, target) {
				return c.gather(ctx)
			}
			if c.rows = c.rows[1:]; len(c.rows) == 0 { // read in vain: other words are rarer
				c.ahead = max(c.ahead/4, firstRows)
			}
		}
		if c.over = c.done; c.over {
			return nil
		}
		if err := c.read(ctx, c.from(target)); err != nil {
			return err
		}
	}
}

// gather joins the rows of the next block, which a page may end within.
func (c *column) gather(ctx context.Context) error {
	c.set = offsets{}
	for first := true; ; first = false {
		if len(c.rows) == 0 {
			if c.done {
				return nil
			}
			r := c.from(c.block)
			if c.find.Ascending {
				r.After = c.last
			} else {
				r.Before = c.last
			}
			if err := c.read(ctx, r); err != nil {
				return err
			}
			if len(c.rows) == 0 {
				return nil
			}
		}
		block, set, err := c.row()
		if err != nil {
			return err
		}
		if !first && block != c.block {
			return nil
		}
		c.block, c.begun = block, true
		c.set.merge(set)
		c.last, c.rows = c.rows[0].Key, c.rows[1:]
	}
}

func (c *column) row() (uint64, offsets, error) {
	block, set, err := readRow(c.prefix, c.rows[0])
	if err != nil {
		err = fmt.Errorf("%w: %q", err, c.rows[0].Key)
	}
	return block, set, err
}

// from is the range of the rows from a block on.
func (c *column) from(target uint64) persistence.Range {
	first, last := target, c.find.lastBlock
	if !c.find.Ascending {
		first, last = c.find.firstBlock, target
	}
	r := persistence.Range{Prefix: c.prefix, Reverse: !c.find.Ascending}
	if first > 0 {
		r.After = fmt.Sprintf("%s%08x%s", c.prefix, first-1, behindBlock)
	}
	if last < math.MaxUint32 {
		r.Before = fmt.Sprintf("%s%08x", c.prefix, last+1)
	}
	return r
}

func (c *column) read(ctx context.Context, r persistence.Range) error {
	r.Limit = c.ahead
	rows, err := c.find.Store.Documents(ctx, persistence.CollectionWord, r)
	if err != nil {
		return err
	}
	c.rows, c.done = rows, len(rows) == 0
	c.ahead = min(2*c.ahead, mostRows)
	return c.find.spend(len(rows) * rowCost)
}
