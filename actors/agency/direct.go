package agency

import "parley/persistence"

// handedOver says up to where the events of a direct message are in the hands of those who deliver them.
type handedOver struct{ upTo uint64 }

// sides are the accounts of a direct message.
func (r *Record) sides() []string {
	ids := make([]string, len(r.Pair))
	for i, p := range r.Pair {
		ids[i] = p.ID
	}
	return ids
}

// Sides are the accounts of a direct message, nil for any other agency.
func (r *Record) Sides() []string {
	if r.Kind != DM {
		return nil
	}
	return r.sides()
}

// readyDirect makes those ready who deliver a direct message, if a side is connected: what this actor can't tell of
// because it fails is read in the log.
func (a *Agency) readyDirect() {
	a.handed = a.grain.Last()
	if a.s.Kind == DM && a.s.exists() && a.ports.Publisher.PublishDirect(a.s.ID, a.s.sides(), a.handed, nil, nil) {
		a.watched = true
	}
}

// publishDirect hands events of a direct message to every live connection of its two sides, joined or not (clients.md
// 3.3, message).
func (a *Agency) publishDirect(events []persistence.Event) {
	last := events[len(events)-1].Seq
	g := a.grain
	taken := func() { g.Tell(handedOver{last}) }
	if a.watched = a.ports.Publisher.PublishDirect(a.s.ID, a.s.sides(), a.handed, events, taken); !a.watched {
		a.handed = last
	}
}
