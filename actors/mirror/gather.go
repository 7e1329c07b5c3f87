package mirror

import "time"

// Soft events are gathered, so that a room that fills up does not drown its members in news of each other.
const (
	gatherFor = time.Second
	// gatherMost is the number of gathered events that are all delivered; of more, only the last one is.
	gatherMost = 20
)

type flushGathered struct{}

type gather struct {
	events  []*Event
	count   int
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
	if g.count++; g.count > gatherMost {
		g.events = g.events[:0]
	}
	g.events = append(g.events, e)
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
	g.events, g.count, g.timer, g.flushed = nil, 0, nil, time.Now()
	m.deliver(events)
}
