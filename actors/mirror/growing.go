package mirror

import "parley/actors/run"

// Limits of streams that a mirror follows.
const (
	// maxPutOff is the text of one stream in bytes that is put off; of more, the whole text is told later.
	maxPutOff = 64 << 10
	// maxGrowing is the number of streams of one room that are followed; those beyond are relayed as they come, or not.
	maxGrowing = 1000
)

// growing is a stream that is not done.
type growing struct {
	agent string
	base  uint64 // sockets that arrived up to here have the text
	// What was put off: a step with the whole text, and then what was added to it.
	whole  []byte
	added  []byte
	longer func(added string) []byte
	blind  bool // nobody knows the whole text
}

func (g *growing) putOff() bool { return g.whole != nil || len(g.added) > 0 }

// relayGrowth tells of a step of a stream: what was added to those who have the text so far, and the whole text to others.
func (m *Mirror) relayGrowth(e *run.Relayed) {
	if len(m.seats) == 0 {
		m.forgetStream(e.Run, e.Grows.MessageID)
		return
	}
	g := m.stream(e)
	if g == nil {
		if m.spend(e.Agent, len(e.Data), false) {
			m.tell(e.Name, e.Data)
		}
		return
	}
	if !m.spend(e.Agent, len(e.Data)+len(g.added)+len(g.whole), false) {
		g.put(e)
		m.later()
		return
	}
	if e.Grows.Longer == nil { // it has the whole text
		g.whole, g.added, g.longer = nil, nil, nil
		m.tell(e.Name, e.Data)
		g.base = m.arrived
		return
	}
	if g.base == 0 && g.whole == nil && e.Grows.Whole != nil { // nobody has the text
		if data := e.Grows.Whole(); m.spend(e.Agent, len(data), false) {
			m.tell(e.Name, data)
			g.base = m.arrived
		}
		return
	}
	data := e.Data
	if g.whole != nil {
		m.tell(e.Name, g.whole)
		g.base = m.arrived
	}
	if len(g.added) > 0 {
		data = e.Grows.Longer(string(g.added) + e.Grows.Added)
	}
	g.whole, g.added, g.longer = nil, nil, nil
	m.tellGrowth(g, data, e.Grows.Whole)
}

// put keeps a step for later.
func (g *growing) put(e *run.Relayed) {
	switch {
	case e.Grows.Longer == nil:
		g.whole, g.added, g.longer = e.Data, nil, nil
	case g.base == 0 && g.whole == nil && e.Grows.Whole != nil: // the whole text comes later
	case len(g.added)+len(e.Grows.Added) > maxPutOff:
		g.whole, g.added, g.longer, g.base = nil, nil, nil, 0
	default:
		g.added, g.longer, g.blind = append(g.added, e.Grows.Added...), e.Grows.Longer, e.Grows.Whole == nil
	}
}

// tellGrowth hands what was added to the sockets that have the text so far, and the whole text to the others.
func (m *Mirror) tellGrowth(g *growing, data []byte, whole func() []byte) {
	step := &Event{Name: run.EventStream, Data: data}
	if g.base == m.arrived {
		m.deliver([]*Event{step})
		return
	}
	var all *Event
	for _, s := range m.seats {
		switch {
		case s.arrived <= g.base || whole == nil:
			s.Socket.Deliver(step)
		default:
			if all == nil {
				all = &Event{Name: run.EventStream, Data: whole()}
			}
			s.Socket.Deliver(all)
		}
	}
	m.process.System().Meter.FannedOut(1, len(m.seats))
	g.base = m.arrived
}

// stream finds a stream or begins to follow it; nil when there are too many.
func (m *Mirror) stream(e *run.Relayed) *growing {
	r := &m.relays
	of := r.growing[e.Run]
	if g := of[e.Grows.MessageID]; g != nil {
		return g
	}
	if r.streams >= maxGrowing {
		return nil
	}
	if r.growing == nil {
		r.growing = map[string]map[string]*growing{}
	}
	if of == nil {
		of = map[string]*growing{}
		r.growing[e.Run] = of
	}
	g := &growing{agent: e.Agent}
	of[e.Grows.MessageID] = g
	r.streams++
	return g
}

func (m *Mirror) forgetStream(runID, messageID string) {
	r := &m.relays
	if r.growing[runID][messageID] == nil {
		return
	}
	r.streams--
	if delete(r.growing[runID], messageID); len(r.growing[runID]) == 0 {
		delete(r.growing, runID)
	}
}

// forgetRun drops what is left of a run that has ended, such as streams that nobody finished.
func (m *Mirror) forgetRun(runID string) {
	r := &m.relays
	r.streams -= len(r.growing[runID])
	delete(r.growing, runID)
	delete(r.status, runID)
}

// flushStream tells of what was put off of one stream, if the budget allows it.
func (m *Mirror) flushStream(g *growing) bool {
	if !m.spend(g.agent, len(g.whole)+len(g.added), false) {
		return false
	}
	if g.whole != nil {
		m.tell(run.EventStream, g.whole)
		g.base = m.arrived
	}
	if len(g.added) > 0 {
		step := &Event{Name: run.EventStream, Data: g.longer(string(g.added))}
		for _, s := range m.seats {
			if s.arrived <= g.base || g.blind {
				s.Socket.Deliver(step)
			}
		}
	}
	g.whole, g.added, g.longer = nil, nil, nil
	return true
}
