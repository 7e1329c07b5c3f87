package mirror

import (
	"context"
	"encoding/json"
	"errors"
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
	members json.RawMessage
	count   int64
	readAt  time.Time
	stale   bool
	large   bool
	reading bool
	waiting int // arrivals that wait for the reading
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

type rollRead struct {
	members json.RawMessage
	count   int64
	large   bool
	err     error
}

// readRoll reads at most maxRoll members, those online here first.
func (m *Mirror) readRoll() {
	m.roll.reading, m.roll.stale, m.roll.waiting = true, false, len(m.arrivals)
	online := m.onlineAccounts()
	store, id := m.process.System().Store, m.agency
	ok := m.process.System().Read(func() {
		ctx, cancel := context.WithTimeout(context.Background(), readTimeout)
		defer cancel()
		m.process.Tell(collectRoll(ctx, store, id, online))
	})
	if !ok {
		m.process.Tell(rollRead{err: kernel.ErrOverloaded})
	}
}

// onlineAccounts returns up to maxRoll different accounts with a seat.
func (m *Mirror) onlineAccounts() []string {
	seen := make(map[string]bool, maxRoll)
	var list []string
	add := func(account string, most int) {
		if !seen[account] && len(list) < most {
			seen[account] = true
			list = append(list, account)
		}
	}
	for _, s := range m.seats[:min(len(m.seats), 4*maxRoll)] {
		add(s.Account, max(maxRoll-len(m.arrivals), maxRoll/2))
	}
	for _, a := range slices.Concat(m.arrivals, m.runs.waiting) { // who is about to be online finds itself
		add(a.Seat.Account, maxRoll)
	}
	return list
}

func collectRoll(ctx context.Context, store persistence.Store, id string, online []string) (r rollRead) {
	rows, err := store.Documents(ctx, persistence.CollectionMember, persistence.Range{Prefix: id + "/", Limit: maxRoll + 1})
	if err != nil {
		r.err = err
		return r
	}
	r.large = len(rows) > maxRoll
	ids := make([]string, 0, maxRoll)
	ids = append(ids, online...)
	seen := make(map[string]bool, len(ids))
	for _, a := range ids {
		seen[a] = true
	}
	for _, d := range rows {
		if a := strings.TrimPrefix(d.Key, id+"/"); !seen[a] && len(ids) < maxRoll {
			ids = append(ids, a)
		}
	}
	views := make([]agency.MemberView, 0, len(ids))
	for _, a := range ids {
		v, err := memberView(ctx, store, id, a)
		if errors.Is(err, persistence.ErrNotFound) {
			continue // left or deleted since
		}
		if err != nil {
			r.err = err
			return r
		}
		views = append(views, v)
	}
	if r.members, r.err = json.Marshal(views); r.err != nil {
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
