package platform

import (
	"context"
	"errors"
	"slices"

	"parley/actors/agency"
	"parley/actors/explore"
	"parley/persistence"
)

// Limits of what is remembered between two lists of agencies, in bytes, roughly.
const (
	maxListedBytes  = 32 << 20 // of the public agencies in lists; those that come behind are found by search
	maxCallersBytes = 32 << 20 // of the memberships of callers
	maxPrivateBytes = 16 << 20 // of private agencies
)

// listings answers who may see which agencies. Existing clients ask for all of them again and again (clients.md 6.3), so
// what the store has not changed since the last answer is neither read nor encoded again.
type listings struct {
	store   persistence.Store
	public  shared[publicList]
	callers *bounded[*callerList]
	private *bounded[privateRow]
}

func newListings(s persistence.Store) *listings {
	return &listings{store: s, public: newShared[publicList](), callers: newBounded[*callerList](maxCallersBytes),
		private: newBounded[privateRow](maxPrivateBytes)}
}

// publicList is the agencies that anybody may see, in the order of the directory, up to MaxAgencies.
type publicList struct {
	serial  uint64 // no other list has it
	version uint64 // of the collection, when the reading began
	rows    []*agency.Row
	at      map[string]int32 // index of each
}

// privateRow is an agency that is in no public list, as of a version of the records; nil: there is none.
type privateRow struct {
	version uint64
	row     *agency.Row
}

// mine is a membership of a caller.
type mine struct {
	agency string
	role   agency.Role
}

// callerList is what a caller sees before the public agencies. It holds no public row, so that a caller who is gone
// keeps none in memory that has changed since.
type callerList struct {
	memberships uint64 // version of the collection, when mine was read
	mine        []mine

	public  uint64 // serial of the list that own and skip refer to
	records uint64 // version of the records, when own was put together
	private bool   // own has agencies that are not in the list: it depends on that version
	own     []ownRow
	skip    []int32 // the public ones that are in own, ascending
}

// ownRow is an agency of a caller's own.
type ownRow struct {
	at   int32       // its index in the public list
	row  *agency.Row // when it is not there
	role agency.Role
}

// listed is an agency in a list of a caller with a role there.
type listed struct {
	row  *agency.Row
	role agency.Role
}

// of returns what a caller sees: its own agencies, and those of the public ones that are among them. Whatever was
// committed before the call is in it.
func (l *listings) of(ctx context.Context, account string) (*callerList, *publicList, error) {
	public, err := l.public.get(ctx, l.refresh)
	if err != nil {
		return nil, nil, err
	}
	c, err := l.caller(ctx, account, public)
	return c, public, err
}

func (l *listings) caller(ctx context.Context, account string, public *publicList) (*callerList, error) {
	memberships, err := l.store.Version(ctx, persistence.CollectionMembership)
	if err != nil {
		return nil, err
	}
	records, err := l.store.Version(ctx, persistence.CollectionAgency)
	if err != nil {
		return nil, err
	}
	next := &callerList{memberships: memberships, public: public.serial, records: records}
	old, known := l.callers.get(account)
	if known && old.memberships == memberships {
		if old.public == public.serial && (!old.private || old.records == records) {
			return old, nil
		}
		next.mine = old.mine
	} else if next.mine, err = l.memberships(ctx, account); err != nil {
		return nil, err
	}
	if err := l.fill(ctx, next, public); err != nil {
		return nil, err
	}
	l.callers.put(account, next, next.cost())
	return next, nil
}

func (c *callerList) cost() int {
	cost := 200 + 100*len(c.mine) + 32*len(c.own) + 4*len(c.skip)
	for i := range c.own {
		if row := c.own[i].row; row != nil {
			cost += row.Cost()
		}
	}
	return cost
}

// rows are the caller's own agencies.
func (c *callerList) rows(public *publicList) []listed {
	rows := make([]listed, len(c.own))
	for i, o := range c.own {
		rows[i] = listed{o.in(public), o.role}
	}
	return rows
}

func (o *ownRow) in(public *publicList) *agency.Row {
	if o.row != nil {
		return o.row
	}
	return public.rows[o.at]
}

// memberships reads a caller's, up to MaxAgencies.
func (l *listings) memberships(ctx context.Context, account string) ([]mine, error) {
	var all []mine
	prefix := account + "/"
	for after := ""; len(all) < MaxAgencies; {
		page, err := l.store.Documents(ctx, persistence.CollectionMembership, persistence.Range{Prefix: prefix, After: after, Limit: MaxAgencies - len(all)})
		if err != nil || len(page) == 0 {
			return all, err
		}
		for _, d := range page {
			m, err := agency.DecodeMember(d.Data)
			if err != nil {
				return nil, err
			}
			all = append(all, mine{agency: explore.IDOf(d.Key), role: m.Role})
		}
		after = page[len(page)-1].Key
	}
	return all, nil
}

// fill puts together a caller's own agencies and the Lobby, which everybody is in sooner or later.
func (l *listings) fill(ctx context.Context, c *callerList, public *publicList) error {
	add := func(id string, role agency.Role) error {
		if i, ok := public.at[id]; ok {
			c.own = append(c.own, ownRow{at: i, role: role})
			c.skip = append(c.skip, i)
			return nil
		}
		c.private = true
		row, err := l.row(ctx, id, c.records)
		if err == nil && row != nil && row.Shown && (row.Listed || role != "") {
			c.own = append(c.own, ownRow{row: row, role: role})
		}
		return err
	}
	inLobby := false
	for _, m := range c.mine {
		inLobby = inLobby || m.agency == agency.LobbyID
		if err := add(m.agency, m.role); err != nil {
			return err
		}
	}
	if !inLobby {
		if err := add(agency.LobbyID, ""); err != nil {
			return err
		}
	}
	slices.SortFunc(c.own, func(a, b ownRow) int { return agency.CompareRows(a.in(public), b.in(public)) })
	slices.Sort(c.skip)
	return nil
}

// row returns one agency as of a version of the records that the caller asked for just now, nil when it is dissolved.
func (l *listings) row(ctx context.Context, id string, version uint64) (*agency.Row, error) {
	old, known := l.private.get(id)
	if known && old.version == version {
		return old.row, nil
	}
	next := privateRow{version: version}
	doc, err := l.store.Document(ctx, persistence.CollectionAgency, id)
	switch {
	case errors.Is(err, persistence.ErrNotFound):
	case err != nil:
		return nil, err
	case known && old.row != nil && old.row.Of(doc):
		next.row = old.row
	default:
		if next.row, err = agency.NewRow(doc); err != nil {
			return nil, err
		}
	}
	cost := 200
	if next.row != nil {
		cost = next.row.Cost()
	}
	l.private.put(id, next, cost)
	return next.row, nil
}

// refresh brings the public list up to date: it reads all of it, unless nothing has changed, and encodes what differs. An
// agency that moves in the order while the pages are read can be missed once by those who are not in it.
func (l *listings) refresh(ctx context.Context, old *publicList) (*publicList, error) {
	version, err := l.store.Version(ctx, persistence.CollectionListing)
	if err != nil {
		return nil, err
	}
	if old == nil {
		old = &publicList{}
	} else if old.version == version {
		return old, nil
	}
	next := &publicList{serial: old.serial + 1, version: version, rows: make([]*agency.Row, 0, len(old.rows)+8)}
	bytes := 0
	for after := ""; len(next.rows) < MaxAgencies && bytes < maxListedBytes; {
		page, err := l.store.Documents(ctx, persistence.CollectionListing, persistence.Range{After: after, Limit: MaxAgencies - len(next.rows)})
		if err != nil {
			return nil, err
		}
		if len(page) == 0 {
			break
		}
		for _, d := range page {
			row, err := old.reuse(len(next.rows), d)
			if err != nil {
				return nil, err
			}
			bytes += row.Cost()
			next.rows = append(next.rows, row)
		}
		after = page[len(page)-1].Key
	}
	next.index(old)
	return next, nil
}

// reuse returns the row of a document, the old one if it is the same. It is most likely where it was.
func (p *publicList) reuse(i int, d persistence.Document) (*agency.Row, error) {
	if i < len(p.rows) && p.rows[i].Of(d.Data) {
		return p.rows[i], nil
	}
	if at, ok := p.at[explore.IDOf(d.Key)]; ok && p.rows[at].Of(d.Data) {
		return p.rows[at], nil
	}
	return agency.NewRow(d.Data)
}

// index finds the place of each row; an agency that moved while the pages were read counts once.
func (p *publicList) index(old *publicList) {
	if slices.EqualFunc(p.rows, old.rows, func(a, b *agency.Row) bool { return a == b || a.ID == b.ID }) && old.at != nil {
		p.at = old.at
		return
	}
	p.at = make(map[string]int32, len(p.rows))
	p.rows = slices.DeleteFunc(p.rows, func(r *agency.Row) bool {
		if _, twice := p.at[r.ID]; twice {
			return true
		}
		p.at[r.ID] = int32(len(p.at))
		return false
	})
}
