package platform

import (
	"encoding/json"
	"io"
	"sync"

	"parley/actors/agency"
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
