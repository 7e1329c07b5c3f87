package mirror

import (
	"context"
	"fmt"
	"time"

	"parley/actors/kernel"
	"parley/persistence"
)

// Limits of reading the log.
const (
	gapPage     = 1000
	readTimeout = 10 * time.Second
)

type gapRead struct {
	events []persistence.Event
	upTo   uint64
	err    error
}

// readGap reads the log from the last event on, up to one that is known to exist.
func (m *Mirror) readGap(upTo uint64) {
	m.asking = true
	from, store := m.last, m.process.System().Store
	stream := persistence.Stream(persistence.StreamAgency, m.agency)
	ok := m.process.System().Read(func() {
		ctx, cancel := context.WithTimeout(context.Background(), readTimeout)
		defer cancel()
		r := gapRead{upTo: upTo}
		for from < upTo && r.err == nil {
			var page []persistence.Event
			page, r.err = store.Events(ctx, stream, from, gapPage)
			if r.err == nil && len(page) == 0 {
				r.err = fmt.Errorf("events after %d of %s are missing", from, stream)
			}
			if len(page) > 0 {
				r.events = append(r.events, page...)
				from = page[len(page)-1].Seq
			}
		}
		m.process.Tell(r)
	})
	if !ok {
		m.process.Tell(gapRead{upTo: upTo, err: kernel.ErrOverloaded})
	}
}

func (m *Mirror) gapRead(r gapRead) {
	m.asking = false
	if r.err != nil {
		m.process.System().Log.Warn("gap can't be read", "agency", m.agency, "after", m.last, "error", r.err)
		m.live = false
		time.AfterFunc(retryWatch, func() { m.process.Tell(askAgain{}) })
		return
	}
	m.hand(r.events)
	if !m.live { // the agency has a new actor, which does not know us
		m.watch()
		return
	}
	m.replayHeld()
}

// replayHeld hands on what was published while a gap was read.
func (m *Mirror) replayHeld() {
	held := m.held
	m.held = nil
	for i := range held {
		if held[i].Seq > m.last+1 { // some were dropped
			m.readGap(held[len(held)-1].Seq)
			return
		}
		m.hand(held[i : i+1])
	}
	m.admitArrivals()
}
