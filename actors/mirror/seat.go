package mirror

import (
	"encoding/json"
	"slices"
)

// Seat is a socket's place in a room. It is made by the socket's session and given to Attach and Detach.
type Seat struct {
	Socket  Socket
	Account string
	// Evicted is called, from the mirror's goroutine, when the seat is taken away: because the account is no member any
	// more or the agency is gone, or with lost because the mirror failed and no longer knows its sockets.
	Evicted func(lost bool)

	entered uint64 // set by the mirror: a departure up to here was before its account came
	arrived uint64 // set by the mirror: counts its coming into the room among those of all

	quiet uint64 // set by the mirror: what came after it was delivered without an agency-joined; 0: it had one

	gone  bool // set by the mirror: it was left or taken away and is never taken again
	index int  // in seats, plus one; 0: not seated
}

// Detach takes a seat out of the room. It is answered with kernel.Done. A seat that is detached is never seated again.
type Detach struct{ Seat *Seat }

// Bounded implements kernel.Bounded.
func (Detach) Bounded() {}

// Bounded implements kernel.Bounded.
func (Attach) Bounded() {}

func (m *Mirror) seat(s *Seat) {
	if s.gone || s.index != 0 {
		return
	}
	m.seats = append(m.seats, s)
	s.index = len(m.seats)
}

func (m *Mirror) unseat(s *Seat) {
	if s.index == 0 {
		return
	}
	last := len(m.seats) - 1
	moved := m.seats[last]
	m.seats[s.index-1] = moved
	moved.index = s.index
	m.seats[last] = nil
	m.seats = m.seats[:last]
	s.index = 0
}

// evict takes the seats of an account that is no member any more since an event.
func (m *Mirror) evict(account string, seq uint64) {
	left := Left(m.agency, m.sides != nil)
	for _, s := range slices.Clone(m.seats) {
		if s.Account == account && s.entered < seq {
			m.unseat(s)
			m.hush(s.Socket)
			s.gone = true
			s.Socket.Deliver(left)
			s.Evicted(false)
		}
	}
}

// seated reports whether an account has a seat here.
func (m *Mirror) seated(account string) bool {
	return slices.ContainsFunc(m.seats, func(s *Seat) bool { return s.Account == account })
}

// EventAgencyLeft tells a socket that it is in a room no more (decision 27).
const EventAgencyLeft = "agency-left"

// Left is the event for a socket that is in a room no more.
func Left(agencyID string, dm bool) *Event {
	data, err := json.Marshal(struct {
		AgencyID  string `json:"agencyId"`
		AgencyID2 string `json:"agency_id"`
		DM        bool   `json:"dm,omitempty"`
	}{agencyID, agencyID, dm})
	if err != nil {
		panic(err) // strings always encode
	}
	return &Event{Name: EventAgencyLeft, Data: data}
}
