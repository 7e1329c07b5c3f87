package mirror

import "time"

// Soft events are gathered, so that a room that fills up does not drown its members in news of each other.
const (
	gatherFor = time.Second
	// gatherBudget is the number of deliveries that the gathered events of a second may make, and gatherMost the number of
	// events. Of more, the newest are delivered.
	gatherBudget = 100_000
	gatherMost   = 1000
)

type flushGathered struct{}

type gather struct {
	events  []*Event
	timer   *time.Timer
	flushed time.Time
}

func (g *gather) stop() {
	if g.timer != nil {
		g.timer.Stop()
	}
}

// gatherEvent delivers a soft event at once when the last second was quiet, else with the others of this second.
func (m *Mirror) gatherEvent(e *Event) {
	g := &m.gather
	g.events = append(g.events, e)
	if most := min(max(gatherBudget/max(len(m.seats), 1), 1), gatherMost); len(g.events) > 2*most {
		g.events = append(g.events[:0:0], g.events[len(g.events)-most:]...)
	}
	if g.timer != nil {
		return
	}
	wait := gatherFor - time.Since(g.flushed)
	if wait <= 0 {
		m.flushGathered()
		return
	}
	g.timer = time.AfterFunc(wait, func() { m.process.Tell(flushGathered{}) })
}

func (m *Mirror) flushGathered() {
	g := &m.gather
	g.stop()
	events := g.events
	g.events, g.timer, g.flushed = nil, nil, time.Now()
	if most := min(max(gatherBudget/max(len(m.seats), 1), 1), gatherMost); len(events) > most {
		events = events[len(events)-most:]
	}
	m.deliver(events)
}
