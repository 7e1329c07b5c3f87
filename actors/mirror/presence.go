package mirror

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"parley/actors/agency"
	"parley/actors/kernel"
	"parley/persistence"
)

// EventMemberPresence tells a room which of its members came and went (decision 27).
const EventMemberPresence = "member-presence"

// Limits of presence.
const (
	// maxListed is the number of members online up to which they are told by name.
	maxListed = 500
	// maxPresence is the number of members whom one event names; more wait for the next.
	maxPresence = 200
	// presenceEvery is how long changes are gathered.
	presenceEvery = time.Second
	// maxStrangers is the number of accounts that are remembered as members no more.
	maxStrangers = 1024
	// countPage is the number of members that are read at once to see who is online.
	countPage = 1000
)

// Touch tells the mirror of an agency, if it is awake, that members have come or gone. It reports whether it is.
func (o Outlet) Touch(agencyID string, accounts []string) bool {
	return o.Local.TellResident(Ref(agencyID), touched{accounts})
}

// touched are members whose presence may have changed. What it is now is asked when the message is there: of many
// messages the last one is right, and one that comes and goes within the gathering was never away.
type touched struct{ accounts []string }

type flushPresence struct{}

// presence is who of the members is online. Joins show it as it is, and every later change is told: room and newcomers
// come to the same.
type presence struct {
	counted bool              // online is right
	online  roster            // members with a live connection
	changes map[string]change // since the last event
	shown   uint32            // how often somebody was shown who is online
	listed  bool              // the last event had lists
	told    int               // number in the last event
	timer   *time.Timer
	reading bool // names for an event
	gone    map[string]struct{}
	pending []string // touched while the members were read first
}

// change remembers what was told of an account.
type change struct {
	was   bool
	shown uint32 // presence.shown at the first change
}

func (p *presence) stop() {
	if p.timer != nil {
		p.timer.Stop()
	}
}

// left remembers one who is no member any more, since news of its connections may be on their way.
func (p *presence) left(account string) {
	if p.gone == nil || len(p.gone) >= maxStrangers {
		p.gone = map[string]struct{}{}
	}
	p.gone[account] = struct{}{}
}

func (p *presence) came(account string) { delete(p.gone, account) }

// joined remembers one who has become a member: the room takes it for one who is not connected until it is told otherwise,
// also if it was told so before the member had left.
func (p *presence) joined(m *Mirror, account string) {
	p.came(account)
	if !p.counted {
		return
	}
	if p.changes == nil {
		p.changes = map[string]change{}
	}
	p.changes[account] = change{was: false, shown: p.shown}
	p.schedule(m)
}

func (m *Mirror) touched(msg touched) {
	for _, account := range msg.accounts {
		if _, stranger := m.presence.gone[account]; !stranger {
			m.lookAt(account)
		}
	}
}

// lookAt notes whether a member is online now.
func (m *Mirror) lookAt(account string) {
	switch p := &m.presence; {
	case m.sides != nil:
	case p.counted:
		p.turn(m, account, m.conns.Online(account))
	case m.roll.reading:
		p.pending = append(p.pending, account)
	}
}

// turn notes a change and sees to it that it is told.
func (p *presence) turn(m *Mirror, account string, on bool) {
	if !p.counted || p.online.has(account) == on {
		return
	}
	if on {
		p.online.add(account)
	} else {
		p.online.remove(account)
	}
	if _, known := p.changes[account]; !known {
		if p.changes == nil {
			p.changes = map[string]change{}
		}
		p.changes[account] = change{!on, p.shown}
	}
	p.schedule(m)
}

func (p *presence) schedule(m *Mirror) {
	if p.timer == nil && !p.reading {
		p.timer = time.AfterFunc(presenceEvery, func() { m.process.Tell(flushPresence{}) })
	}
}

// flushPresence tells what has changed. Of large rooms it is the number alone; once they are small again everybody who is
// online is named.
func (m *Mirror) flushPresence() {
	p := &m.presence
	p.timer = nil
	switch n := p.online.len(); {
	case len(m.seats) == 0 || n > maxListed:
		p.changes, p.listed = nil, len(m.seats) == 0
		if n != p.told {
			p.told = n
			m.deliver([]*Event{m.presenceEvent(nil, nil, false)})
		}
	case !p.listed:
		p.changes, p.listed = nil, true
		m.namePresence(p.online.list(maxListed), nil)
	default:
		m.namePresence(p.take())
	}
}

// take returns up to maxPresence changes that have to be told.
func (p *presence) take() (on, off []string) {
	for account, c := range p.changes {
		if len(on)+len(off) == maxPresence {
			break
		}
		delete(p.changes, account)
		switch now := p.online.has(account); {
		case now == c.was && c.shown == p.shown: // came and went, and nobody was shown it in between
		case now:
			on = append(on, account)
		default:
			off = append(off, account)
		}
	}
	if len(p.changes) == 0 {
		p.changes = nil
	}
	return on, off
}

type presenceRead struct {
	on, off []string
	views   []agency.MemberView
	err     error
}

// namePresence reads the names of those who came, then tells.
func (m *Mirror) namePresence(on, off []string) {
	p := &m.presence
	if len(on)+len(off) == 0 {
		return
	}
	p.reading = true
	store, id := m.process.System().Store, m.agency
	ok := m.process.System().Read(func() {
		ctx, cancel := context.WithTimeout(context.Background(), readTimeout)
		defer cancel()
		views, err := memberViews(ctx, store, id, on)
		m.process.Tell(presenceRead{on, off, views, err})
	})
	if !ok {
		m.process.Tell(presenceRead{on: on, off: off, err: kernel.ErrOverloaded})
	}
}

func (m *Mirror) presenceRead(r presenceRead) {
	p := &m.presence
	if !p.reading {
		return // of the mirror that failed
	}
	p.reading = false
	if r.err != nil { // told with the next
		for i, account := range append(r.on, r.off...) {
			if p.changes == nil {
				p.changes = map[string]change{}
			}
			p.changes[account] = change{was: i >= len(r.on), shown: p.shown - 1}
		}
	} else {
		p.told = p.online.len()
		if len(m.gather.events) > 0 { // who left and came again would be taken for one who is not connected
			m.flushGathered()
		}
		m.deliver([]*Event{m.presenceEvent(r.views, r.off, true)})
	}
	if len(p.changes) > 0 {
		p.schedule(m)
	}
}

func (m *Mirror) presenceEvent(online []agency.MemberView, offline []string, lists bool) *Event {
	e := struct {
		AgencyID    string               `json:"agencyId"`
		AgencyID2   string               `json:"agency_id"`
		Online      *[]agency.MemberView `json:"online,omitempty"`
		Offline     *[]string            `json:"offline,omitempty"`
		OnlineCount int                  `json:"onlineCount"`
	}{AgencyID: m.agency, AgencyID2: m.agency, OnlineCount: m.presence.online.len()}
	if lists {
		if online == nil {
			online = []agency.MemberView{}
		}
		if offline == nil {
			offline = []string{}
		}
		e.Online, e.Offline = &online, &offline
	}
	data, err := json.Marshal(e)
	if err != nil {
		panic(err) // texts always encode
	}
	return &Event{Name: EventMemberPresence, Data: data}
}

// memberViews reads members with their accounts; those who are members no more are left out.
func memberViews(ctx context.Context, store persistence.Store, agencyID string, accounts []string) ([]agency.MemberView, error) {
	views := make([]agency.MemberView, 0, len(accounts))
	for _, account := range accounts {
		v, err := memberView(ctx, store, agencyID, account)
		if errors.Is(err, persistence.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		views = append(views, v)
	}
	return views, nil
}

// collectOnline finds the members with a live connection: among the members of an agency of up to countPage, among the
// connections of a larger one.
func collectOnline(ctx context.Context, store persistence.Store, id string, live Live) (online []string, err error) {
	rows, err := store.Documents(ctx, persistence.CollectionMember, persistence.Range{Prefix: id + "/", Limit: countPage + 1})
	if err != nil {
		return nil, fmt.Errorf("read who is online: %w", err)
	}
	if len(rows) <= countPage {
		for _, d := range rows {
			if account := d.Key[len(id)+1:]; live.Online(account) {
				online = append(online, account)
			}
		}
		return online, nil
	}
	for _, account := range live.Accounts() {
		_, err := store.Document(ctx, persistence.CollectionMember, persistence.Key(id, account))
		switch {
		case err == nil:
			online = append(online, account)
		case !errors.Is(err, persistence.ErrNotFound):
			return nil, fmt.Errorf("read who is online: %w", err)
		}
	}
	return online, nil
}
