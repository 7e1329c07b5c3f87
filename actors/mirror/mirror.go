// Package mirror is the actor that stands for an agency on one server: it knows the sockets there, follows the agency's
// log without gap or repeat, and hands each event to every socket.
package mirror

import (
	"slices"
	"time"

	"parley/actors/agency"
	"parley/actors/kernel"
	"parley/actors/run"
	"parley/persistence"
)

// Kind is the kind of mirror actors. They live on the server that holds the sockets.
const Kind kernel.Kind = "mirror"

// Limits of a mirror.
const (
	// recentEvents is the number of events that the mirror remembers while sockets catch up.
	recentEvents = 256
	// heldEvents is the number of events that wait while a gap is read; more are dropped and read again.
	heldEvents = 4096
	// retryWatch is the pause before an agency that did not answer is asked again.
	retryWatch = 500 * time.Millisecond
	// timeEvery is the number of fan-outs of which one is timed.
	timeEvery = 8
)

// Ref names the mirror of an agency.
func Ref(agencyID string) kernel.Ref { return kernel.Ref{Kind: Kind, ID: agencyID} }

// Outlet carries committed events to the mirrors of this process. It is the agency's Publisher.
type Outlet struct {
	Local *kernel.Local
	Live  Live // nil: direct messages reach those alone who joined them
}

var _ agency.Publisher = Outlet{}

// Publish implements agency.Publisher.
func (o Outlet) Publish(agencyID string, events []persistence.Event) bool {
	return o.Local.TellResident(Ref(agencyID), published{events})
}

// Followed implements agency.Publisher.
func (o Outlet) Followed(agencyID string) bool { return o.Local.Resident(Ref(agencyID)) }

// published are committed events; none says that the agency's actor is a new one.
type published struct{ events []persistence.Event }

// Mirror is the actor.
type Mirror struct {
	dir     kernel.Directory
	conns   Live
	process *kernel.Process
	agency  string
	sides   []string // the accounts of a direct message
	handed  *agency.Handed

	seats    []*Seat
	begun    bool   // last is known
	last     uint64 // last event handed on
	live     bool   // the agency publishes to us, and last follows it
	asking   bool   // waiting for the agency's answer, or reading a gap
	ended    bool   // the agency is dissolved
	arrivals []*arrival
	reading  map[*arrival]struct{} // whose missed events are being read
	held     []persistence.Event   // published while a gap is read
	recent   []*Event              // the latest ones, oldest first
	roll     roll
	gather   gather
	signals  signals
	presence presence
	departed departed
	fanOuts  uint64 // so far

	arrived uint64 // sockets that came into the room so far
	runs    runs
	relays  relays
}

// Factory makes mirrors over the live connections of this process.
func Factory(dir kernel.Directory, live Live) kernel.Factory {
	return func(id string) kernel.Behavior {
		return &Mirror{dir: dir, conns: live, agency: id, reading: map[*arrival]struct{}{}}
	}
}

// Start implements kernel.Behavior.
func (m *Mirror) Start(p *kernel.Process) { m.process = p }

// Stopped implements kernel.Behavior.
func (m *Mirror) Stopped(cause error) {
	m.gather.stop()
	m.relays.stop()
	m.signals.stop()
	m.presence.stop()
	for _, a := range slices.Concat(m.arrivals, m.runs.waiting) {
		a.request.Reply(nil, kernel.ErrUnavailable)
	}
	for a := range m.reading {
		a.request.Reply(nil, kernel.ErrUnavailable)
	}
	for _, s := range m.seats {
		s.gone = true
		s.Evicted(cause != nil)
	}
	if cause != nil { // who of them has got what is not known
		for _, account := range m.sides {
			m.conns.Restart(account)
		}
	}
}

// Receive implements kernel.Behavior.
func (m *Mirror) Receive(msg any) {
	switch msg := msg.(type) {
	case published:
		m.published(msg)
	case *kernel.Request:
		m.request(msg)
	case watched:
		m.watched(msg)
	case gapRead:
		m.gapRead(msg)
	case rollRead:
		m.rollRead(msg)
	case missedRead:
		m.missedRead(msg)
	case flushGathered:
		m.flushGathered()
	case *run.Relayed:
		m.relay(msg)
	case runsRead:
		m.runsRead(msg)
	case flushPutOff:
		m.flushPutOff()
	case flushSignals:
		m.flushSignals()
	case expireTyping:
		m.expireTyping()
	case touched:
		m.touched(msg)
	case flushPresence:
		m.flushPresence()
	case presenceRead:
		m.presenceRead(msg)
	case askAgain:
		if !m.live && !m.asking {
			m.watch()
		}
	case kernel.Sweep:
		if len(m.seats)+len(m.held) == 0 && !m.arriving() && !m.asking && m.signals.quiet() {
			m.process.Stop()
		}
	}
}

func (m *Mirror) request(r *kernel.Request) {
	switch c := r.Command.(type) {
	case Attach:
		m.attach(&arrival{request: r, Attach: c})
	case Detach:
		c.Seat.gone = true
		m.unseat(c.Seat)
		m.hush(c.Seat.Socket)
		m.lookAt(c.Seat.Account)
		r.Reply(kernel.Done{}, nil)
	case publishedDirect:
		m.publishedDirect(r, c)
	case Typing:
		m.typing(r, c)
	case Thinking:
		m.thinking(r, c)
	case Hush:
		m.hush(c.Socket)
		r.Reply(kernel.Done{}, nil)
	default:
		r.Reply(nil, kernel.ErrInternal)
	}
}

// watch asks the agency to publish from now on.
func (m *Mirror) watch() {
	m.asking = true
	m.dir.Call(agency.Ref(m.agency), agency.Watch{}, func(v any, err error) {
		w, _ := v.(agency.Watched)
		m.process.Tell(watched{w.Last, w.Ended, err})
	})
}

type watched struct {
	last  uint64
	ended bool
	err   error
}

type askAgain struct{}

func (m *Mirror) watched(w watched) {
	m.asking = false
	if w.err != nil {
		m.unwatched(w.err)
		return
	}
	m.live = true
	if !m.begun {
		m.begun = true
		m.last = w.last
		m.departed.from = w.last
		m.ended = w.ended // its end is among what was before us
	}
	if w.last > m.last {
		m.readGap(w.last)
		return
	}
	if m.ended {
		m.close()
	}
	m.replayHeld()
}

// unwatched refuses those who came for an agency that can't be followed; those who are there already wait for it.
func (m *Mirror) unwatched(err error) {
	for _, a := range m.arrivals {
		a.request.Reply(nil, err)
	}
	m.arrivals, m.roll.waiting = nil, 0
	if !m.deserted() && !m.ended {
		time.AfterFunc(retryWatch, func() { m.process.Tell(askAgain{}) })
	}
}

// published hands on what follows the last event; after a gap it reads the log first.
func (m *Mirror) published(p published) {
	if len(p.events) == 0 { // a new actor: it does not know us
		m.live = false
		if !m.asking {
			m.watch()
		}
		return
	}
	if m.asking || !m.live {
		if len(m.held)+len(p.events) <= heldEvents {
			m.held = append(m.held, p.events...)
		}
		return
	}
	first := p.events[0].Seq
	switch {
	case first > m.last+1:
		m.held = append(m.held, p.events...)
		m.readGap(p.events[len(p.events)-1].Seq)
	default:
		m.hand(p.events)
	}
}

// hand gives events to every socket, those that were handed on before left out.
func (m *Mirror) hand(events []persistence.Event) {
	events = slices.Clone(events)
	events = slices.DeleteFunc(events, func(ev persistence.Event) bool { return ev.Seq <= m.last })
	var out []*Event
	for i := range events {
		ev := &events[i]
		m.last = ev.Seq
		w, ok, err := agency.Render(m.agency, ev)
		if err != nil {
			m.process.System().Log.Error("event can't be rendered", "agency", m.agency, "seq", ev.Seq, "error", err)
		}
		if !ok {
			continue
		}
		if m.sides != nil {
			w.InDM()
		}
		m.memberMoved(&w)
		e := &Event{Name: w.Name, Data: w.Data, Seq: ev.Seq}
		if w.Soft {
			m.roll.stale = true
			m.gatherEvent(e)
		} else {
			out = append(out, e)
			m.remember(e)
		}
		if w.Gone != "" {
			m.departed.note(w.Gone, ev.Seq)
			if m.seated(w.Gone) {
				m.deliver(out)
				out = nil
				m.flushGathered()
				m.evict(w.Gone, ev.Seq)
			}
		}
		if w.Name == agency.EventAgencyDeleted {
			m.ended = true
		}
	}
	m.deliver(out)
	if m.handed != nil {
		m.handed.Reach(m.last)
	}
	if m.ended {
		m.close()
	}
}

func (m *Mirror) deliver(events []*Event) {
	if len(events) == 0 || m.deserted() {
		return
	}
	meter := m.process.System().Meter
	timed := m.fanOuts%timeEvery == 0
	m.fanOuts++
	var begun time.Time
	if timed {
		begun = time.Now()
	}
	for _, s := range m.seats {
		s.Socket.Deliver(events...)
	}
	n := m.eachDirect(func(_ string, s Socket) { s.Deliver(events...) })
	meter.FannedOut(len(events), len(m.seats)+n)
	if timed {
		meter.FanOutTook(time.Since(begun))
	}
}

// remember keeps an event for those who are reading what they missed. With nobody reading, nothing is kept: ten thousand
// rooms with a memory each would be most of the server's.
func (m *Mirror) remember(e *Event) {
	if len(m.reading) == 0 {
		return
	}
	if len(m.recent) == 2*recentEvents {
		m.recent = append(m.recent[:0:0], m.recent[recentEvents:]...)
	}
	m.recent = append(m.recent, e)
}

// memberMoved keeps what is known of members up with an event.
func (m *Mirror) memberMoved(w *agency.Wire) {
	if w.Gone != "" {
		m.signals.forget(w.Gone)
		m.presence.left(w.Gone)
		m.presence.turn(m, w.Gone, false)
	}
	if w.Came != "" {
		m.presence.joined(m, w.Came)
		m.lookAt(w.Came)
	}
}

// close empties the room of an agency that has ended.
func (m *Mirror) close() {
	for _, s := range m.seats {
		s.index, s.gone = 0, true
		s.Evicted(false)
	}
	for _, a := range m.arrivals {
		a.request.Reply(nil, errEnded())
	}
	m.seats, m.arrivals, m.roll.waiting = nil, nil, 0
	m.signals.stop()
	m.presence.stop()
	m.signals, m.presence = signals{}, presence{}
}

func errEnded() error { return kernel.NotFound("there is no such agency") }
