package platform

import (
	"context"
	"encoding/json"
	"io"
	"slices"
	"sync"

	"parley/actors/agency"
	"parley/actors/explore"
	"parley/actors/kernel"
	"parley/persistence"
)

// Encoded is an answer that is JSON already.
type Encoded interface {
	io.WriterTo
	// Size is the number of bytes that WriteTo writes.
	Size() int64
}

// AgencyList is an answer of many agencies, encoded as far as it can be before anybody asks. Its JSON is that of the
// []agency.View of the same agencies.
type AgencyList struct {
	own    []listed
	public []*agency.Row
	skip   []int32 // of public, ascending
	from   int     // of the agencies of own and public without skip
	to     int
}

func newAgencyList(own []listed, public []*agency.Row, skip []int32, limit, offset int) *AgencyList {
	l := &AgencyList{own: own, public: public, skip: skip}
	all := min(len(own)+len(public)-len(skip), MaxAgencies)
	l.from = min(max(offset, 0), all)
	l.to = all
	if limit > 0 && limit < all-l.from {
		l.to = l.from + limit
	}
	return l
}

// Len is the number of agencies.
func (l *AgencyList) Len() int { return l.to - l.from }

// first is the list without what is behind the first n.
func (l *AgencyList) first(n int) *AgencyList {
	short := *l
	short.to = min(l.to, l.from+n)
	return &short
}

// each visits the agencies in order.
func (l *AgencyList) each(visit func(row *agency.Row, role agency.Role)) {
	for i := l.from; i < min(l.to, len(l.own)); i++ {
		visit(l.own[i].row, l.own[i].role)
	}
	at, skip := len(l.own), l.skip
	for i, row := range l.public {
		if len(skip) > 0 && int(skip[0]) == i {
			skip = skip[1:]
			continue
		}
		if at >= l.to {
			return
		}
		if at >= l.from {
			visit(row, "")
		}
		at++
	}
}

// Size implements Encoded.
func (l *AgencyList) Size() int64 {
	size := int64(len("[]\n") + max(l.Len()-1, 0))
	l.each(func(row *agency.Row, role agency.Role) { size += int64(row.Size(role)) })
	return size
}

// writeChunk is how much WriteTo gathers before it writes, in bytes: most answers leave in one piece.
const writeChunk = 128 << 10

var chunks = sync.Pool{New: func() any { b := make([]byte, 0, writeChunk); return &b }}

// WriteTo implements io.WriterTo: it writes the list as JSON, with a line feed at the end as json.Encoder has it.
func (l *AgencyList) WriteTo(w io.Writer) (n int64, err error) {
	chunk := chunks.Get().(*[]byte)
	defer chunks.Put(chunk)
	b := append((*chunk)[:0], '[')
	flush := func() {
		var m int
		if err == nil {
			m, err = w.Write(b)
			n += int64(m)
		}
		b = b[:0]
	}
	first := true
	l.each(func(row *agency.Row, role agency.Role) {
		size := row.Size(role) + len(",]\n")
		if len(b)+size > writeChunk && len(b) > 0 {
			flush()
		}
		if !first {
			b = append(b, ',')
		}
		first = false
		b = row.Append(b, role)
	})
	b = append(b, ']', '\n')
	flush()
	if cap(b) <= writeChunk {
		*chunk = b
	}
	return n, err
}

// Views decodes the list, for callers inside of the program.
func (l *AgencyList) Views() ([]agency.View, error) {
	views := make([]agency.View, 0, l.Len())
	var err error
	l.each(func(row *agency.Row, role agency.Role) {
		var v agency.View
		if err == nil {
			err = json.Unmarshal(row.Append(nil, role), &v)
		}
		views = append(views, v)
	})
	return views, err
}

// ListAgencies returns the agencies that the caller may see: its own and the Lobby, the oldest first, then the public ones
// in the order of the directory, together at most MaxAgencies; with a text those that match it, of the public ones at most
// MaxFound. Limit 0 means all of them (clients.md 1.1). Whatever was committed before the call is in it.
func (p *Platform) ListAgencies(ctx context.Context, id *Identity, g Page) (Encoded, error) {
	if blank(g.Text) {
		return p.listing(ctx, id, g.Limit, g.Offset)
	}
	return p.searchListing(ctx, id, g.Text, g.Limit, g.Offset)
}

func (p *Platform) listing(ctx context.Context, id *Identity, limit, offset int) (*AgencyList, error) {
	c, public, err := p.listings.of(ctx, id.ID)
	if err != nil {
		return nil, kernel.AsError(err)
	}
	return newAgencyList(c.rows(public), public.rows, c.skip, limit, offset), nil
}

// Agencies is ListAgencies for callers inside of the program.
func (p *Platform) Agencies(ctx context.Context, id *Identity, limit, offset int) ([]agency.View, error) {
	l, err := p.listing(ctx, id, limit, offset)
	if err != nil {
		return nil, err
	}
	views, err := l.Views()
	if err != nil {
		return nil, kernel.AsError(err)
	}
	return views, nil
}

func (p *Platform) searchListing(ctx context.Context, id *Identity, text string, limit, offset int) (*AgencyList, error) {
	c, public, err := p.listings.of(ctx, id.ID)
	if err != nil {
		return nil, kernel.AsError(err)
	}
	q := explore.Parse(text)
	own := c.rows(public)
	mine := make(map[string]bool, len(own))
	for _, o := range own {
		mine[o.row.ID] = true
	}
	own = slices.DeleteFunc(own, func(o listed) bool { return !q.Matches(o.row.Slug, o.row.Name) })
	others, err := find(ctx, p, explore.Agencies, q, MaxFound, 0, func(ctx context.Context, id string) (*agency.Row, error) {
		if mine[id] {
			return nil, nil
		}
		doc, err := p.Store.Document(ctx, persistence.CollectionAgency, id)
		if err != nil {
			return nil, absent(err)
		}
		row, err := agency.NewRow(doc)
		if err != nil || !row.Listed || !q.Matches(row.Slug, row.Name) {
			return nil, err
		}
		return row, nil
	})
	if err != nil {
		return nil, err
	}
	return newAgencyList(own, others, nil, limit, offset), nil
}
