package mirror

import (
	"encoding/json"
	"time"

	"parley/actors/account"
	"parley/actors/kernel"
)

// EventTyping tells the others of a room who types (decision 27).
const EventTyping = "typing"

// Typing says that an account types, or does no more. It dies after typingLife unless it is said again. It is answered
// with kernel.Done.
type Typing struct {
	Who    account.Sender // a member
	Socket Socket
	Typing bool
}

type typist struct {
	doing
	until time.Time
	told  bool // the room knows that it types
}

func (m *Mirror) typing(r *kernel.Request, c Typing) {
	defer signalRequest(r)
	g := &m.signals
	t := g.typists[c.Who.ID]
	switch {
	case t == nil && (!c.Typing || len(g.typists) >= maxSignals):
		return
	case t == nil:
		t = &typist{}
		if g.typists == nil {
			g.typists = map[string]*typist{}
		}
		g.typists[c.Who.ID] = t
	}
	t.who = c.Who
	if !c.Typing {
		t.remove(c.Socket)
	} else {
		t.add(c.Socket)
		t.until = time.Now().Add(typingLife)
		m.awaitSilence(typingLife)
	}
	if t.told != (len(t.sockets) > 0) {
		m.signal()
	}
}

// awaitSilence looks later for typists who say no more.
func (m *Mirror) awaitSilence(after time.Duration) {
	if m.signals.expiry == nil {
		m.signals.expiry = time.AfterFunc(after, func() { m.process.Tell(expireTyping{}) })
	}
}

func (m *Mirror) expireTyping() {
	m.signals.expiry = nil
	now, next := time.Now(), typingLife
	left := false
	for _, t := range m.signals.typists {
		switch rest := t.until.Sub(now); {
		case len(t.sockets) == 0:
		case rest <= 0:
			t.sockets = nil
			m.signal()
		default:
			next, left = min(next, rest), true
		}
	}
	if left {
		m.awaitSilence(next)
	}
}

// tellTyping tells of those whose state has changed. It reports whether some have to wait.
func (m *Mirror) tellTyping() (more bool) {
	type news struct {
		account string
		event   *Event
	}
	var list []news
	most := m.most(typingBudget)
	for id, t := range m.signals.typists {
		on := len(t.sockets) > 0
		switch {
		case on == t.told:
		case len(list) >= most:
			more = true
			continue
		default:
			t.told = on
			list = append(list, news{id, m.typingEvent(&t.who, on)})
		}
		if !on {
			delete(m.signals.typists, id)
		}
	}
	if len(list) == 0 {
		return more && most > 0
	}
	n := m.each(func(account string, s Socket) {
		for _, e := range list {
			if e.account != account {
				s.Deliver(e.event)
			}
		}
	})
	m.process.System().Meter.FannedOut(len(list), n)
	return more
}

func (m *Mirror) typingEvent(who *account.Sender, on bool) *Event {
	type user struct {
		ID           string       `json:"id"`
		Username     string       `json:"username"`
		DisplayName  string       `json:"displayName"`
		DisplayName2 string       `json:"display_name"`
		Type         account.Type `json:"type"`
	}
	data, err := json.Marshal(struct {
		AgencyID  string `json:"agencyId"`
		AgencyID2 string `json:"agency_id"`
		DM        bool   `json:"dm,omitempty"`
		User      user   `json:"user"`
		Typing    bool   `json:"typing"`
	}{m.agency, m.agency, m.sides != nil, user{who.ID, who.Username, who.DisplayName, who.DisplayName, who.Type}, on})
	if err != nil {
		panic(err) // strings always encode
	}
	return &Event{Name: EventTyping, Data: data, Fleeting: on}
}
