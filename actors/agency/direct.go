package agency

import (
	"sync/atomic"

	"parley/persistence"
)

// Handed is up to where the events of a direct message are in the hands of those who deliver them, or need not be. It
// outlives a state that is thrown away and read again.
type Handed struct{ at atomic.Uint64 }

// Load returns the position of the log.
func (h *Handed) Load() uint64 { return h.at.Load() }

// Reach moves it on; it never goes back.
func (h *Handed) Reach(seq uint64) {
	for old := h.at.Load(); old < seq && !h.at.CompareAndSwap(old, seq); old = h.at.Load() {
	}
}

// Sides are the accounts of a direct message, nil for any other agency.
func (r *Record) Sides() []string {
	if r.Kind != DM {
		return nil
	}
	ids := make([]string, len(r.Pair))
	for i, p := range r.Pair {
		ids[i] = p.ID
	}
	return ids
}

// readyDirect makes those ready who deliver a direct message, if a side is connected: what this actor can't tell of
// because it fails is read in the log.
func (a *Agency) readyDirect() {
	if a.handed.Load() == 0 {
		a.handed.Reach(a.grain.Last())
	}
	if a.s.Kind == DM && a.s.exists() && a.ports.Publisher.PublishDirect(a.s.ID, a.s.Sides(), a.handed, nil) {
		a.watched = true
	}
}

// publishDirect hands events of a direct message to every live connection of its two sides, joined or not (clients.md
// 3.3, message).
func (a *Agency) publishDirect(events []persistence.Event) {
	if a.watched = a.ports.Publisher.PublishDirect(a.s.ID, a.s.Sides(), a.handed, events); !a.watched {
		a.handed.Reach(events[len(events)-1].Seq)
	}
}
