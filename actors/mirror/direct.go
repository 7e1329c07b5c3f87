package mirror

import (
	"slices"

	"parley/actors/agency"
	"parley/actors/kernel"
	"parley/persistence"
)

// Live knows the live connections of this process by account.
type Live interface {
	// Online reports whether an account has one.
	Online(account string) bool
	// Accounts returns those that have one, in no order.
	Accounts() []string
	// Sockets returns those of an account.
	Sockets(account string) []Socket
	// Restart closes those of an account so that they come back. It must not block.
	Restart(account string)
}

// PublishDirect implements agency.Publisher. The mirror of a direct message hands its events to the connections of both
// sides by account: an account with a thousand direct messages that connects costs nothing.
func (o Outlet) PublishDirect(agencyID string, sides []string, h *agency.Handed, events []persistence.Event) bool {
	if o.Live == nil {
		return false
	}
	ref := Ref(agencyID)
	if !slices.ContainsFunc(sides, o.Live.Online) && !o.Local.Resident(ref) {
		return false
	}
	// A call, unlike a message, is handed on when the mirror goes to sleep under it.
	o.Local.Call(ref, publishedDirect{sides, h, events}, func(any, error) {})
	return true
}

// publishedDirect are committed events of a direct message; none says that its actor is a new one.
type publishedDirect struct {
	sides  []string
	handed *agency.Handed
	events []persistence.Event
}

// publishedDirect hands on what follows the last event. A mirror that has just woken begins where the agency says.
func (m *Mirror) publishedDirect(r *kernel.Request, p publishedDirect) {
	m.sides = p.sides
	if !m.begun {
		m.begun, m.last = true, p.handed.Load()
		m.departed.from = m.last
		m.live = !m.asking
	}
	m.handed = p.handed
	if m.published(published{p.events}); !m.live && !m.asking {
		m.watch()
	}
	r.Reply(kernel.Done{}, nil)
}

// each calls f with every connection that hears this room: those with a seat, and all others of a direct message's sides.
func (m *Mirror) each(f func(account string, s Socket)) (n int) {
	for _, s := range m.seats {
		f(s.Account, s.Socket)
	}
	return len(m.seats) + m.eachDirect(f)
}

// eachDirect is each for those without a seat.
func (m *Mirror) eachDirect(f func(account string, s Socket)) (n int) {
	for _, account := range m.sides {
		for _, socket := range m.conns.Sockets(account) {
			if !slices.ContainsFunc(m.seats, func(s *Seat) bool { return s.Socket == socket }) {
				f(account, socket)
				n++
			}
		}
	}
	return n
}

// deserted reports whether nobody would hear an event.
func (m *Mirror) deserted() bool { return len(m.seats) == 0 && len(m.sides) == 0 }
