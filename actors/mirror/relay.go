package mirror

import (
	"time"

	"parley/actors/run"
)

// Limits of what the runs of one agent may send to one room. What goes beyond is put together, shortened or put off, so
// that an agent which floods its room costs others there no more than ordinary messages do.
const (
	relayRate  = 256 << 10 // bytes a second
	relayBurst = 1 << 20   // bytes; as much as may wait for a client that reads too slowly
	// relaySeat is what handing an event to one socket counts for, in bytes: 52,000 deliveries a second.
	relaySeat = 5
	// putOffFor is how long what was put off waits before it is tried again.
	putOffFor = 250 * time.Millisecond
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
