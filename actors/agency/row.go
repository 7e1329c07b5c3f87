package agency

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
)

// Row is an agency as it appears in lists, encoded once for all callers: only what concerns the caller is filled in each
// time. It is read-only.
type Row struct {
	ID, Name, Slug string
	CreatedAt      int64
	Listed         bool // anybody may see it
	Shown          bool // it appears in its members' lists; direct messages don't (clients.md 4.3)

	doc       []byte // the record that it was made of
	text      []byte // as an outsider sees it
	from, end int    // the caller's part of text
}

// callerParts are the fields that differ between callers, as View has them.
var callerParts = func() map[Role][]byte {
	parts := map[Role][]byte{}
	for _, role := range []Role{"", Owner, Admin, Moderator, Member, AgentRole} {
		v := NewView(&Record{}, role)
		b, err := json.Marshal(struct {
			IsMember  bool  `json:"isMember"`
			IsMember2 bool  `json:"is_member"`
			Role      *Role `json:"role"`
		}{v.IsMember, v.IsMember2, v.Role})
		if err != nil {
			panic(err) // three plain fields always encode
		}
		parts[role] = b[1 : len(b)-1]
	}
	return parts
}()

// NewRow encodes the record in a document, which must not change any more.
func NewRow(doc []byte) (*Row, error) {
	r, err := DecodeRecord(doc)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(NewView(r, "")); err != nil {
		return nil, fmt.Errorf("agency row: %w", err)
	}
	row := &Row{ID: r.ID, Name: r.Name, Slug: r.Slug, CreatedAt: r.CreatedAt, Listed: r.Listed(), Shown: r.Kind.listed(),
		doc: doc, text: bytes.TrimSuffix(b.Bytes(), []byte("\n"))}
	part := callerParts[""]
	row.from = bytes.LastIndex(row.text, part) // a quote inside of a text is escaped, so this can be nothing else
	if row.from < 0 {
		return nil, fmt.Errorf("agency row: a view without %s", part)
	}
	row.end = row.from + len(part)
	return row, nil
}

// Of says whether the row was made of this document.
func (r *Row) Of(doc []byte) bool { return bytes.Equal(r.doc, doc) }

// Cost is roughly the memory of the row in bytes.
func (r *Row) Cost() int { return 200 + len(r.doc) + len(r.text) }

// Size is the number of bytes that Append adds.
func (r *Row) Size(role Role) int {
	if role == "" {
		return len(r.text)
	}
	return len(r.text) - (r.end - r.from) + len(callerParts[role])
}

// Append adds the row as a caller with a role sees it: the JSON of a View.
func (r *Row) Append(b []byte, role Role) []byte {
	if role == "" {
		return append(b, r.text...)
	}
	b = append(b, r.text[:r.from]...)
	b = append(b, callerParts[role]...)
	return append(b, r.text[r.end:]...)
}

// CompareRows sorts the Lobby, which everybody is in, first, and others by age.
func CompareRows(a, b *Row) int {
	lobby := func(r *Row) int {
		if r.ID == LobbyID {
			return 0
		}
		return 1
	}
	return cmp.Or(cmp.Compare(lobby(a), lobby(b)), cmp.Compare(a.CreatedAt, b.CreatedAt), cmp.Compare(a.ID, b.ID))
}
