package mirror

import (
	"time"

	"parley/actors/run"
)

// Limits of what the runs of one agent may send to one room. What goes beyond is put together, shortened or put off, so
// that an agent which floods its room costs others there no more than ordinary messages do.
const (
	relayRate  = 256 << 10 // bytes a second
	relayBurst = 2 << 20   // bytes
	// relaySeat is what handing an event to one socket counts for, in bytes: 52,000 deliveries a second.
	relaySeat = 5
	// putOffFor is how long what was put off waits before it is tried again.
	putOffFor = 250 * time.Millisecond
	// maxPutOff is the text of one stream in bytes that is put off; of more, the whole text is told later.
	maxPutOff = 64 << 10
	// maxGrowing is the number of streams of one room that are followed; those beyond are relayed as they come, or not.
	maxGrowing = 1000
	// keepBudgets is the number of agents from which on those are forgotten whose budget is whole.
	keepBudgets = 64
)

var _ run.Room = Outlet{}

// Relay implements run.Room.
func (o Outlet) Relay(agencyID string, e *run.Relayed) { o.Local.TellResident(Ref(agencyID), e) }

// flushPutOff says that it is time to try again.
type flushPutOff struct{}

// relays is what the mirror knows of the runs that tell its room.
type relays struct {
	budgets map[string]int64               // by agent: when its budget is whole again, unix nanoseconds
	growing map[string]map[string]*growing // streams that are not done, by run and message
	streams int                            // in growing
	status  map[string]*run.Relayed        // by run: the newest status that was put off
	timer   *time.Timer
}

// growing is a stream that is not done.
type growing struct {
	agent string
	base  uint64 // sockets that arrived up to here have the text
	// What was put off: a step with the whole text, and then what was added to it.
	whole  []byte
	added  []byte
	longer func(added string) []byte
}

func (g *growing) putOff() bool { return g.whole != nil || len(g.added) > 0 }

func (r *relays) stop() {
	if r.timer != nil {
		r.timer.Stop()
	}
}

// spend takes from an agent's budget what it costs to tell a room something of this size, and reports whether there was
// enough. With must it is taken in any case.
func (m *Mirror) spend(agent string, size int, must bool) bool {
	r := &m.relays
	now := m.process.System().Now().UnixNano()
	if len(r.budgets) > keepBudgets {
		for a, whole := range r.budgets {
			if whole <= now {
				delete(r.budgets, a)
			}
		}
	}
	if r.budgets == nil {
		r.budgets = map[string]int64{}
	}
	const second = int64(time.Second)
	burst := relayBurst * second / relayRate
	whole := max(r.budgets[agent], now) + int64(size+relaySeat*len(m.seats))*second/relayRate
	if whole > now+burst {
		if !must {
			return false
		}
		whole = now + burst
	}
	r.budgets[agent] = whole
	return true
}

// relay hands an event of a run to the room. Such events are not in the agency's log: who is not there misses them, and is
// told how the open runs stand when it comes.
func (m *Mirror) relay(e *run.Relayed) {
	if e.Shown {
		short := e.Data
		if e.Short != nil {
			short = e.Short
		}
		m.noteRun(&Event{Name: e.Name, Data: short})
	}
	switch {
	case e.Grows != nil && !e.Grows.Done:
		m.relayGrowth(e)
	case e.Name == run.EventStatus:
		m.relayStatus(e)
	default:
		if e.Grows != nil {
			m.forgetStream(e.Run, e.Grows.MessageID)
		}
		if e.Name == run.EventComplete || e.Name == run.EventError {
			m.forgetRun(e.Run)
		}
		data := e.Data
		if !m.spend(e.Agent, len(data), e.Short == nil) {
			data = e.Short
			m.spend(e.Agent, len(data), true)
		}
		m.tell(e.Name, data)
	}
}

func (m *Mirror) tell(name string, data []byte) { m.deliver([]*Event{{Name: name, Data: data}}) }

// relayStatus puts a status off that comes too fast; only the newest one of a run is told then.
func (m *Mirror) relayStatus(e *run.Relayed) {
	r := &m.relays
	if m.spend(e.Agent, len(e.Data), false) {
		delete(r.status, e.Run)
		m.tell(e.Name, e.Data)
		return
	}
	if r.status == nil {
		r.status = map[string]*run.Relayed{}
	}
	r.status[e.Run] = e
	m.later()
}

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
	case g.base == 0 && g.whole == nil: // the whole text comes later
	case len(g.added)+len(e.Grows.Added) > maxPutOff:
		g.whole, g.added, g.longer, g.base = nil, nil, nil, 0
	default:
		g.added, g.longer = append(g.added, e.Grows.Added...), e.Grows.Longer
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

// later makes sure that what was put off is tried again.
func (m *Mirror) later() {
	if r := &m.relays; r.timer == nil {
		r.timer = time.AfterFunc(putOffFor, func() { m.process.Tell(flushPutOff{}) })
	}
}

// flushPutOff tells of what was put off, as far as the budgets go. Sockets that came meanwhile lack the beginning of the
// texts; they get the whole with the next step.
func (m *Mirror) flushPutOff() {
	r := &m.relays
	r.timer = nil
	for id, e := range r.status {
		if m.spend(e.Agent, len(e.Data), false) {
			delete(r.status, id)
			m.tell(e.Name, e.Data)
		}
	}
	left := len(r.status) > 0
	for _, of := range r.growing {
		for _, g := range of {
			left = g.putOff() && !m.flushStream(g) || left
		}
	}
	if left {
		m.later()
	}
}

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
			if s.arrived <= g.base {
				s.Socket.Deliver(step)
			}
		}
	}
	g.whole, g.added, g.longer = nil, nil, nil
	return true
}
