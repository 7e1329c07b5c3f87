package mirror

import (
	"context"
	"encoding/json"
	"fmt"

	"parley/actors/agency"
	"parley/actors/kernel"
	"parley/persistence"
)

// EventAgencyJoined answers join-agency (decision 28).
const EventAgencyJoined = "agency-joined"

// Limits of recovery (decision 29).
const (
	maxMissed      = 1000      // events
	maxMissedBytes = 256 << 10 // bytes of missed in one answer
	maxMissedRead  = 5000      // events of the log that are looked at
)

// Attach takes a seat in the room, or answers again for one taken before. The mirror puts agency-joined into the socket
// and every later event behind it, so that nothing is missed and nothing comes twice. It is answered with kernel.Done.
type Attach struct {
	Seat   *Seat
	Record agency.Record
	// Since, if not nil, is the last event that the client knows: agency-joined brings what came after it.
	Since *uint64
	// Entered is the position of the log at which the account was found to be a member; 0: it is not checked whether the
	// membership has ended since. With ErrAskAgain it has to be found out once more.
	Entered uint64
	// Quiet takes the seat without agency-joined, since the client has not asked (clients.md 6.2): what came after Since
	// comes as if the seat had been there. If the client asks later, it is not told of that again.
	Quiet bool
}

// arrival is an Attach on its way.
type arrival struct {
	Attach
	request *kernel.Request
	missed  []*Event
	upTo    uint64 // missed is complete up to here
	read    bool   // the log was read
	lost    bool   // too much, or gone
	more    bool   // missed was cut
}

func (m *Mirror) attach(a *arrival) {
	if m.ended {
		a.request.Reply(nil, errEnded())
		return
	}
	m.arrivals = append(m.arrivals, a)
	m.sides = a.Record.Sides()
	switch {
	case m.asking:
	case !m.live:
		m.watch()
	default:
		m.admitArrivals()
	}
}

// admitArrivals brings those forward who wait: first the list of members must be fresh, then each gets what it missed.
func (m *Mirror) admitArrivals() {
	if len(m.arrivals) == 0 || m.asking || !m.live || m.roll.reading {
		return
	}
	if !m.roll.fresh() {
		m.readRoll()
		return
	}
	arrivals := m.arrivals
	m.arrivals = nil
	m.showRuns(arrivals)
}

// admit seats one socket, after reading what it missed.
func (m *Mirror) admit(a *arrival) {
	if m.ended {
		a.request.Reply(nil, errEnded())
		return
	}
	if a.Seat.gone {
		a.request.Reply(nil, kernel.Fail(kernel.CodeUnavailable, "the room was left while it was joined; join again"))
		return
	}
	if err := m.departed.check(a.Seat.Account, a.Entered); err != nil {
		a.request.Reply(nil, err)
		return
	}
	if a.Since != nil && !a.lost && !a.more {
		switch end := m.owed(a.Seat); {
		case *a.Since > m.last:
			a.lost = true // from another life of the agency
		case !a.read && *a.Since < end:
			m.readMissed(a, *a.Since)
			return
		case a.read && a.upTo < end && !m.addRecent(a):
			m.readMissed(a, a.upTo)
			return
		}
	}
	if m.runs.list == nil && !a.Quiet { // outdated while the log was read
		m.showRuns([]*arrival{a})
		return
	}
	if !a.more || a.Quiet {
		a.Seat.entered = max(a.Seat.entered, a.Entered)
		m.seat(a.Seat)
		m.arrived++
		a.Seat.arrived = m.arrived
		m.presence.came(a.Seat.Account)
		m.lookAt(a.Seat.Account)
	}
	if a.Quiet {
		a.Seat.quiet = *a.Since
		a.Seat.Socket.Deliver(a.missed...)
	} else {
		a.Seat.Socket.Deliver(append([]*Event{m.joined(a)}, m.runs.news...)...)
		m.tellThoughts(a.Seat.Socket)
		if !a.more {
			a.Seat.quiet = 0
		}
	}
	a.request.Reply(kernel.Done{}, nil)
}

// owed is the position of the log up to which a socket that asks has to be told what it missed: the rest it has got.
func (m *Mirror) owed(s *Seat) uint64 {
	if s.quiet > 0 && s.index > 0 {
		return s.quiet
	}
	return m.last
}

// addRecent completes an arrival's list with events that came while the log was read, if they are still remembered.
func (m *Mirror) addRecent(a *arrival) bool {
	if len(m.recent) == 0 || m.recent[0].Seq > a.upTo+1 {
		return false
	}
	for _, e := range m.recent {
		if e.Seq > a.upTo {
			a.missed = append(a.missed, e)
		}
	}
	a.upTo = m.last
	return true
}

type missedRead struct {
	arrival *arrival
	missed  []*Event
	upTo    uint64
	lost    bool
	more    bool
	err     error
}

// readMissed reads the log of what a client does not know yet.
func (m *Mirror) readMissed(a *arrival, since uint64) {
	store, until, have := m.process.System().Store, m.owed(a.Seat), len(a.missed)
	room := room{m.agency, m.sides != nil}
	m.reading[a] = struct{}{}
	ok := m.process.System().Read(func() {
		ctx, cancel := context.WithTimeout(context.Background(), readTimeout)
		defer cancel()
		r := collectMissed(ctx, store, room, since, until, have)
		r.arrival = a
		m.process.Tell(r)
	})
	if !ok {
		delete(m.reading, a)
		a.request.Reply(nil, kernel.ErrOverloaded)
	}
}

// room is what the reading of a log needs to know of its agency.
type room struct {
	id string
	dm bool
}

// collectMissed reads the log behind since up to until, the last event that the room has got: what comes later is on its
// way to the room and would come twice. The events that do not fit are only counted.
func collectMissed(ctx context.Context, store persistence.Store, in room, since, until uint64, have int) (r missedRead) {
	r.upTo = since
	bytes, looked, deleted := 0, 0, withheld{}
	for at := since; at < until; {
		page, err := store.Events(ctx, persistence.Stream(persistence.StreamAgency, in.id), at, int(min(gapPage, until-at)))
		if err != nil {
			r.err = fmt.Errorf("read what was missed: %w", err)
			return r
		}
		if looked += len(page); len(page) == 0 || page[0].Seq != at+1 || looked > maxMissedRead {
			return missedRead{lost: true}
		}
		at = page[len(page)-1].Seq
		for i := range page {
			w, ok, err := agency.Render(in.id, &page[i])
			if err == nil {
				err = deleted.note(&w)
			}
			if err != nil {
				r.err = err
				return r
			}
			if in.dm {
				w.InDM()
			}
			if ok && !w.Soft {
				if have++; have > maxMissed {
					return missedRead{lost: true}
				}
				bytes += len(w.Data)
				if r.more = r.more || bytes > maxMissedBytes && len(r.missed) > 0; !r.more {
					r.missed = append(r.missed, &Event{Name: w.Name, Data: w.Data, Seq: page[i].Seq})
				}
			}
			if !r.more {
				r.upTo = page[i].Seq
			}
		}
	}
	if r.err = deleted.from(r.missed); r.err == nil {
		r.err = nameless(ctx, store, r.missed)
	}
	return r
}

func (m *Mirror) missedRead(r missedRead) {
	a := r.arrival
	if _, mine := m.reading[a]; !mine {
		return // of the mirror that failed: it has been answered
	}
	delete(m.reading, a)
	defer func() {
		if len(m.reading) == 0 {
			m.recent = nil
		}
	}()
	if r.err != nil {
		a.request.Reply(nil, kernel.AsError(r.err))
		return
	}
	a.read, a.lost, a.more, a.upTo = true, r.lost, r.more, r.upTo
	a.missed = append(a.missed, r.missed...)
	if !m.live || m.asking { // the room itself is catching up
		m.arrivals = append(m.arrivals, a)
		return
	}
	m.admit(a)
}

// joined is the answer to an arrival.
func (m *Mirror) joined(a *arrival) *Event {
	type missed struct {
		Event string          `json:"event"`
		Data  json.RawMessage `json:"data"`
	}
	out := struct {
		AgencyID    string          `json:"agencyId"`
		AgencyID2   string          `json:"agency_id"`
		DM          bool            `json:"dm,omitempty"`
		Agency      map[string]any  `json:"agency"`
		Members     json.RawMessage `json:"members"`
		MemberCount int64           `json:"memberCount"`
		OnlineCount int             `json:"onlineCount"`
		Seq         uint64          `json:"seq"`
		Recovered   *bool           `json:"recovered,omitempty"`
		Missed      *[]missed       `json:"missed,omitempty"`
		More        bool            `json:"more,omitempty"`
		Runs        json.RawMessage `json:"runs"`
		MoreRuns    bool            `json:"moreRuns,omitempty"`
	}{AgencyID: m.agency, AgencyID2: m.agency, DM: m.sides != nil, Members: m.roll.render(m.onlineNow()), MemberCount: max(a.Record.MemberCount, m.roll.count),
		OnlineCount: m.onlineNow().len(), Seq: m.last, More: a.more, Runs: m.runs.list, MoreRuns: m.runs.more,
		Agency: map[string]any{"id": a.Record.ID, "name": a.Record.NameFor(a.Seat.Account), "slug": a.Record.Slug, "is_private": a.Record.Private}}
	m.presence.shown++
	if a.Since != nil {
		recovered := !a.lost
		out.Recovered = &recovered
		if recovered {
			list := make([]missed, len(a.missed))
			for i, e := range a.missed {
				list[i] = missed{e.Name, e.Data}
			}
			out.Missed = &list
		}
	}
	data, err := json.Marshal(out)
	if err != nil {
		panic(err) // all parts were JSON before
	}
	return &Event{Name: EventAgencyJoined, Data: data, Seq: m.last}
}

// onlineNow is who of the members is online; of a direct message's two sides it is asked.
func (m *Mirror) onlineNow() *roster {
	if m.sides == nil {
		return &m.presence.online
	}
	r := &roster{}
	for _, side := range m.sides {
		if m.conns.Online(side) {
			r.add(side)
		}
	}
	return r
}
