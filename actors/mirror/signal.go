package mirror

import (
	"slices"
	"time"

	"parley/actors/account"
	"parley/actors/kernel"
)

// Signals say what somebody is doing right now: typing, thinking. They are no part of the log. What the room is told is
// the latest state of each account, at most once a second.
const (
	signalEvery = time.Second
	// maxSignals is the number of accounts of a room that may type, and that may think, at once; those beyond are not shown.
	maxSignals = 200
	// typingLife is how long somebody types who says no more of it (decision 27).
	typingLife = 6 * time.Second
	// typingBudget is the number of deliveries that news of typing may make in a second; thinkingBudget is that of thinking.
	// What is over waits for the next second.
	typingBudget   = 20_000
	thinkingBudget = 100_000
)

type (
	flushSignals struct{}
	expireTyping struct{}
)

// signals are what is going on in a room.
type signals struct {
	typists  map[string]*typist
	thinkers map[string]*thinker
	timer    *time.Timer // to the next flush
	expiry   *time.Timer // to the next look for typists who have fallen silent
	flushed  time.Time
}

// doing is what typing and thinking have in common.
type doing struct {
	who     account.Sender
	sockets []Socket // that say so
}

func (d *doing) add(s Socket) {
	if !slices.Contains(d.sockets, s) {
		d.sockets = append(d.sockets, s)
	}
}

func (d *doing) remove(s Socket) {
	if i := slices.Index(d.sockets, s); i >= 0 {
		d.sockets = slices.Delete(d.sockets, i, i+1)
	}
}

// Hush takes back what a socket has said of typing and thinking, because it is gone. It is answered with kernel.Done.
type Hush struct{ Socket Socket }

// Bounded implements kernel.Bounded.
func (Hush) Bounded() {}

func (g *signals) quiet() bool { return len(g.typists) == 0 && len(g.thinkers) == 0 }

func (g *signals) stop() {
	for _, t := range []*time.Timer{g.timer, g.expiry} {
		if t != nil {
			t.Stop()
		}
	}
}

// forget drops an account that is no member any more: its departure says enough.
func (g *signals) forget(account string) {
	delete(g.typists, account)
	delete(g.thinkers, account)
}

func (m *Mirror) hush(s Socket) {
	if m.signals.quiet() {
		return
	}
	for _, t := range m.signals.typists {
		t.remove(s)
	}
	for _, t := range m.signals.thinkers {
		t.remove(s)
	}
	m.signal()
}

// signal has the changes told: at once when the last second was quiet.
func (m *Mirror) signal() {
	g := &m.signals
	if g.timer != nil {
		return
	}
	wait := signalEvery - time.Since(g.flushed)
	if wait <= 0 {
		m.flushSignals()
		return
	}
	g.timer = time.AfterFunc(wait, func() { m.process.Tell(flushSignals{}) })
}

func (m *Mirror) flushSignals() {
	g := &m.signals
	if g.timer != nil {
		g.timer.Stop()
	}
	g.timer, g.flushed = nil, time.Now()
	if more := m.tellTyping(); m.tellThinking() || more {
		m.signal()
	}
	if g.quiet() {
		g.typists, g.thinkers = nil, nil
	}
}

// most is the number of events that a budget of deliveries allows in this room.
func (m *Mirror) most(budget int) int { return budget / max(len(m.seats), 1) }

// signalRequest answers who has said something of itself: nothing waits for it to be told.
func signalRequest(r *kernel.Request) { r.Reply(kernel.Done{}, nil) }
