package mirror

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"parley/actors/account"
	"parley/actors/agency"
	"parley/actors/kernel"
	"parley/persistence"
)

// Limits of the list of members (decision 28).
const (
	maxRoll = 200
	// rollLife is how long the list of a room with more than maxRoll members is used although it has changed.
	rollLife = time.Second
)

// roll is the list of members that agency-joined carries. It costs the same in a room of ten and of a million.
type roll struct {
	members []entry
	count   int64
	readAt  time.Time
	stale   bool
	large   bool
	reading bool
	waiting int // arrivals that wait for the reading
}

// entry is a member of the list, without what changes all the time: whether it is online.
type entry struct {
	account string
	view    []byte // JSON object without its closing brace
}

func (r *roll) fresh() bool {
	switch {
	case r.members == nil:
		return false
	case r.large:
		return time.Since(r.readAt) < rollLife
	default:
		return !r.stale
	}
}

// render is the list as it is now, those online first.
func (r *roll) render(online *roster) json.RawMessage {
	const yes, no = `,"online":true}`, `,"online":false}`
	size := 2
	for i := range r.members {
		size += len(r.members[i].view) + len(no) + 1
	}
	out := append(make([]byte, 0, size), '[')
	var rest []int
	add := func(i int, end string) {
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(out, r.members[i].view...), end...)
	}
	for i := range r.members {
		if online.has(r.members[i].account) {
			add(i, yes)
		} else {
			rest = append(rest, i)
		}
	}
	for _, i := range rest {
		add(i, no)
	}
	return append(out, ']')
}

type rollRead struct {
	members []entry
	count   int64
	large   bool
	counted bool     // online was read
	online  []string // members with a live connection
	err     error
}

// readRoll reads at most maxRoll members, those online first, and for the first time all who are online.
func (m *Mirror) readRoll() {
	m.roll.reading, m.roll.stale, m.roll.waiting = true, false, len(m.arrivals)
	online := m.onlineAccounts()
	store, id, live := m.process.System().Store, m.agency, m.conns
	if m.presence.counted || m.sides != nil {
		live = nil
	}
	ok := m.process.System().Read(func() {
		ctx, cancel := context.WithTimeout(context.Background(), readTimeout)
		defer cancel()
		m.process.Tell(collectRoll(ctx, store, id, live, online))
	})
	if !ok {
		m.process.Tell(rollRead{err: kernel.ErrOverloaded})
	}
}

// onlineAccounts returns up to maxRoll different accounts that are online.
func (m *Mirror) onlineAccounts() []string {
	seen := make(map[string]bool, maxRoll)
	var list []string
	add := func(account string, most int) {
		if !seen[account] && len(list) < most {
			seen[account] = true
			list = append(list, account)
		}
	}
	most := max(maxRoll-len(m.arrivals), maxRoll/2)
	for _, s := range m.seats[:min(len(m.seats), 4*maxRoll)] {
		add(s.Account, most)
	}
	for _, a := range m.presence.online.list(maxRoll) {
		add(a, most)
	}
	for _, a := range slices.Concat(m.arrivals, m.runs.waiting) { // who is about to be online finds itself
		add(a.Seat.Account, maxRoll)
	}
	return list
}

func collectRoll(ctx context.Context, store persistence.Store, id string, live Live, online []string) (r rollRead) {
	if live != nil {
		if r.online, r.err = collectOnline(ctx, store, id, live); r.err != nil {
			return r
		}
		r.counted = true
		online = append(online, r.online...)
	}
	rows, err := store.Documents(ctx, persistence.CollectionMember, persistence.Range{Prefix: id + "/", Limit: maxRoll + 1})
	if err != nil {
		r.err = err
		return r
	}
	r.large = len(rows) > maxRoll
	ids := make([]string, 0, maxRoll)
	seen := make(map[string]bool, maxRoll)
	add := func(account string) {
		if !seen[account] && len(ids) < maxRoll {
			seen[account] = true
			ids = append(ids, account)
		}
	}
	for _, a := range online {
		add(a)
	}
	for _, d := range rows {
		add(strings.TrimPrefix(d.Key, id+"/"))
	}
	if r.members, r.err = entries(ctx, store, id, ids); r.err != nil {
		return r
	}
	doc, err := store.Document(ctx, persistence.CollectionAgency, id)
	if err == nil {
		var record *agency.Record
		if record, err = agency.DecodeRecord(doc); err == nil {
			r.count = record.MemberCount
		}
	}
	r.err = err
	return r
}

// entries reads members; those who left or were deleted since are left out.
func entries(ctx context.Context, store persistence.Store, id string, accounts []string) ([]entry, error) {
	views, err := memberViews(ctx, store, id, accounts)
	if err != nil {
		return nil, err
	}
	list := make([]entry, len(views))
	for i := range views {
		data, err := json.Marshal(&views[i])
		if err != nil {
			return nil, err
		}
		list[i] = entry{views[i].ID, data[:len(data)-1]}
	}
	return list, nil
}

func memberView(ctx context.Context, store persistence.Store, agencyID, accountID string) (v agency.MemberView, err error) {
	doc, err := store.Document(ctx, persistence.CollectionMember, persistence.Key(agencyID, accountID))
	if err != nil {
		return v, err
	}
	rec, err := agency.DecodeMember(doc)
	if err != nil {
		return v, err
	}
	if doc, err = store.Document(ctx, persistence.CollectionAccount, accountID); err != nil {
		return v, err
	}
	p, err := account.DecodeProfile(doc)
	if err != nil {
		return v, err
	}
	return agency.NewMemberView(p.Sender(), rec), nil
}

// rollRead admits those who waited for the list, also when it has changed again: they are in it themselves.
func (m *Mirror) rollRead(r rollRead) {
	if m.ended {
		m.roll.reading = false
		m.close()
		return
	}
	waited := m.roll.waiting
	m.roll.waiting = 0
	ready := m.arrivals[:waited:waited]
	m.arrivals = append([]*arrival(nil), m.arrivals[waited:]...)
	m.roll.reading = false
	m.count(r)
	switch {
	case r.err != nil:
		for _, a := range ready {
			a.request.Reply(nil, kernel.AsError(r.err))
		}
	case m.asking || !m.live:
		m.arrivals = append(ready, m.arrivals...)
	default:
		m.roll = roll{members: r.members, count: r.count, readAt: time.Now(), large: r.large, stale: m.roll.stale}
		m.showRuns(ready)
	}
	m.admitArrivals()
}

// count begins to follow who is online. What has changed while it was read is looked at once more.
func (m *Mirror) count(r rollRead) {
	p := &m.presence
	pending := p.pending
	p.pending = nil
	if !r.counted || r.err != nil || p.counted {
		return
	}
	p.counted, p.listed = true, len(r.online) <= maxListed
	for _, account := range r.online {
		if _, stranger := p.gone[account]; !stranger {
			p.online.add(account)
		}
	}
	p.told = p.online.len()
	m.touched(touched{pending})
}
