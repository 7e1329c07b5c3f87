// Package mirror is the actor that stands for an agency on one server: it knows the sockets there, follows the agency's
// log without gap or repeat, and hands each event to every socket.
package mirror

import (
	"encoding/json"
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
type Outlet struct{ Local *kernel.Local }

var _ agency.Publisher = Outlet{}

// Publish implements agency.Publisher.
func (o Outlet) Publish(agencyID string, events []persistence.Event) bool {
	return o.Local.TellResident(Ref(agencyID), published{events})
}

// Followed implements agency.Publisher.
func (o Outlet) Followed(agencyID string) bool { return o.Local.Resident(Ref(agencyID)) }

// published are committed events; none says that the agency's actor is a new one.
type published struct{ events []persistence.Event }

// Seat is a socket's place in a room. It is made by the socket's session and given to Attach and Detach.
type Seat struct {
	Socket  Socket
	Account string
	// Evicted is called, from the mirror's goroutine, when the seat is taken away: because the account is no member any
	// more or the agency is gone, or with lost because the mirror failed and no longer knows its sockets.
	Evicted func(lost bool)

	entered uint64 // set by the mirror: a departure up to here was before its account came
	arrived uint64 // set by the mirror: counts its coming into the room among those of all

	gone  bool // set by the mirror: it was left or taken away and is never taken again
	index int  // in seats, plus one; 0: not seated
}

// Mirror is the actor.
type Mirror struct {
	dir     kernel.Directory
	process *kernel.Process
	agency  string

	seats    []*Seat
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
	departed departed
	fanOuts  uint64 // so far

	arrived uint64 // sockets that came into the room so far
	runs    runs
	relays  relays
}

// Factory makes mirrors.
func Factory(dir kernel.Directory) kernel.Factory {
	return func(id string) kernel.Behavior {
		return &Mirror{dir: dir, agency: id, reading: map[*arrival]struct{}{}}
	}
}

// Start implements kernel.Behavior.
func (m *Mirror) Start(p *kernel.Process) { m.process = p }

// Stopped implements kernel.Behavior.
func (m *Mirror) Stopped(cause error) {
	m.gather.stop()
	m.relays.stop()
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
	case askAgain:
		if !m.live && !m.asking {
			m.watch()
		}
	case kernel.Sweep:
		if len(m.seats) == 0 && !m.arriving() {
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
		r.Reply(kernel.Done{}, nil)
	default:
		r.Reply(nil, kernel.ErrInternal)
	}
}

// Detach takes a seat out of the room. It is answered with kernel.Done. A seat that is detached is never seated again.
type Detach struct{ Seat *Seat }

// Bounded implements kernel.Bounded.
func (Detach) Bounded() {}

// Bounded implements kernel.Bounded.
func (Attach) Bounded() {}

func (m *Mirror) seat(s *Seat) {
	if s.gone || s.index != 0 {
		return
	}
	m.seats = append(m.seats, s)
	s.index = len(m.seats)
}

func (m *Mirror) unseat(s *Seat) {
	if s.index == 0 {
		return
	}
	last := len(m.seats) - 1
	moved := m.seats[last]
	m.seats[s.index-1] = moved
	moved.index = s.index
	m.seats[last] = nil
	m.seats = m.seats[:last]
	s.index = 0
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
	if m.last == 0 {
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
	if len(m.seats) > 0 && !m.ended {
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
	if m.ended {
		m.close()
	}
}

func (m *Mirror) deliver(events []*Event) {
	if len(events) == 0 || len(m.seats) == 0 {
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
	meter.FannedOut(len(events), len(m.seats))
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

// evict takes the seats of an account that is no member any more since an event.
func (m *Mirror) evict(account string, seq uint64) {
	left := leftEvent(m.agency)
	for _, s := range slices.Clone(m.seats) {
		if s.Account == account && s.entered < seq {
			m.unseat(s)
			s.gone = true
			s.Socket.Deliver(left)
			s.Evicted(false)
		}
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
}

func errEnded() error { return kernel.NotFound("there is no such agency") }

// seated reports whether an account has a seat here.
func (m *Mirror) seated(account string) bool {
	return slices.ContainsFunc(m.seats, func(s *Seat) bool { return s.Account == account })
}

// EventAgencyLeft tells a socket that it is in a room no more (decision 27).
const EventAgencyLeft = "agency-left"

func leftEvent(agencyID string) *Event {
	data, err := json.Marshal(map[string]string{"agencyId": agencyID, "agency_id": agencyID})
	if err != nil {
		panic(err) // strings always encode
	}
	return &Event{Name: EventAgencyLeft, Data: data}
}

// Left is the event for a socket that leaves by its own will.
func Left(agencyID string) *Event { return leftEvent(agencyID) }
