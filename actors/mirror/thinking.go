package mirror

import (
	"encoding/json"

	"parley/actors/account"
	"parley/actors/kernel"
)

// EventAgentStatus tells a room which of its agents think, and about what (decision 27).
const EventAgentStatus = "agent-status"

// Thinking says that an agent thinks, or does no more. It holds until it is taken back or the socket is gone, since some
// agents say it once (clients.md 3.2, agent-thinking). It is answered with kernel.Done.
type Thinking struct {
	Who      account.Sender // a member
	Socket   Socket
	Thinking bool
	Status   string // what it is doing, in its own words
}

type thinker struct {
	doing
	status     string
	told       bool // the room knows that it thinks
	toldStatus string
}

func (m *Mirror) thinking(r *kernel.Request, c Thinking) {
	defer signalRequest(r)
	g := &m.signals
	t := g.thinkers[c.Who.ID]
	switch {
	case t == nil && (!c.Thinking || len(g.thinkers) >= maxSignals):
		return
	case t == nil:
		t = &thinker{}
		if g.thinkers == nil {
			g.thinkers = map[string]*thinker{}
		}
		g.thinkers[c.Who.ID] = t
	}
	t.who = c.Who
	if c.Thinking {
		t.add(c.Socket)
		t.status = c.Status
	} else {
		t.remove(c.Socket)
	}
	if t.changed() {
		m.signal()
	}
}

func (t *thinker) on() bool { return len(t.sockets) > 0 }

// changed reports whether the room knows another state: what is only repeated is not told again.
func (t *thinker) changed() bool { return t.told != t.on() || t.told && t.status != t.toldStatus }

// tellThinking tells of agents whose state has changed. It reports whether some have to wait.
func (m *Mirror) tellThinking() (more bool) {
	var events []*Event
	most := max(m.most(thinkingBudget), 1)
	for id, t := range m.signals.thinkers {
		switch {
		case !t.changed():
		case len(events) >= most:
			more = true
			continue
		default:
			t.told, t.toldStatus = t.on(), t.status
			events = append(events, m.statusEvent(t))
		}
		if !t.on() {
			delete(m.signals.thinkers, id)
		}
	}
	m.deliver(events)
	return more
}

// tellThoughts tells one who joins of the agents that think, as the room knows it.
func (m *Mirror) tellThoughts(s Socket) {
	for _, t := range m.signals.thinkers {
		if t.told {
			s.Deliver(m.statusEvent(t))
		}
	}
}

// statusEvent renders what the room is told of an agent.
func (m *Mirror) statusEvent(t *thinker) *Event {
	e := struct {
		AgencyID     string `json:"agencyId"`
		AgencyID2    string `json:"agency_id"`
		DM           bool   `json:"dm,omitempty"`
		AgentID      string `json:"agentId"`
		Username     string `json:"username"`
		DisplayName  string `json:"displayName"`
		DisplayName2 string `json:"display_name"`
		Thinking     bool   `json:"thinking"`
		Status       string `json:"status"`
	}{m.agency, m.agency, m.sides != nil, t.who.ID, t.who.Username, t.who.DisplayName, t.who.DisplayName, t.told, t.toldStatus}
	if !t.told {
		e.Status = ""
	}
	data, err := json.Marshal(e)
	if err != nil {
		panic(err) // strings always encode
	}
	return &Event{Name: EventAgentStatus, Data: data}
}
