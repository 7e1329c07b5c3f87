package conn

import "time"

// guestTick is the time between two calls of Guest.Tick.
const guestTick = 500 * time.Millisecond

// Guest is a live client that does not come over a WebSocket, such as a session of long-polling, and shares the Hub's
// wheel, its bound on connections, its rate and its end. Its methods must not wait; times are hub times in ms.
type Guest interface {
	// Beat is called at every PingInterval.
	Beat(now int64)
	// Check is called PingTimeout after a Beat, whose time it gets.
	Check(beaten int64)
	// Tick is called about twice a second.
	Tick(now int64)
	// Close is called when the Hub drains.
	Close(code int, reason string)
	// Abort is called when the Hub ends.
	Abort()
}

// Seat is a Guest's place at a Hub.
type Seat struct {
	hub   *Hub
	guest Guest
	place place
	pace  pace
}

// Join takes a guest in: ErrFull or ErrHubClosed when there is no room. The guest must Leave.
func (h *Hub) Join(g Guest) (*Seat, error) {
	if err := h.admit(); err != nil {
		return nil, err
	}
	s := &Seat{hub: h, guest: g, place: place{slot: -1}}
	if err := h.seats.add(s); err != nil {
		return nil, err
	}
	if !h.seats.reader(&h.readers) {
		h.seats.remove(s)
		return nil, ErrHubClosed
	}
	return s, nil
}

// Leave ends the stay. It must be called exactly once, after which Hub.Close waits for the guest no more.
func (s *Seat) Leave() {
	s.hub.seats.remove(s)
	s.hub.readers.Done()
}

// HandOver is Leave for a guest that goes on as a connection: the connection's heartbeats follow those of the guest.
func (s *Seat) HandOver(c *Conn) {
	s.hub.conns.move(c, s.hub.seats.remove(s))
	s.hub.readers.Done()
}

// Pace takes an event from the guest's rate and says how long to wait before it is handled. It must not be called again
// before that.
func (s *Seat) Pace() time.Duration {
	o := &s.hub.o
	return s.pace.take(int64(time.Since(s.hub.start)), time.Second/time.Duration(o.Rate), o.Burst)
}

func (s *Seat) beat(now int64)     { s.guest.Beat(now) }
func (s *Seat) check(pinged int64) { s.guest.Check(pinged) }
func (s *Seat) at() *place         { return &s.place }

// Now is the hub time in ms. It is never 0.
func (h *Hub) Now() int64 { return sinceStart(h) }

// Options are those of the hub, with the defaults filled in.
func (h *Hub) Options() Options { return h.o }

// MaxBurst is how many bytes may wait for a client that takes everything so far.
func (o *Options) MaxBurst() int { return burstFactor * o.MaxWaiting }

// CountCut notes that a guest was cut off as a slow consumer.
func (h *Hub) CountCut() { h.cut.Add(1) }

// CountSent notes frames that a guest was sent.
func (h *Hub) CountSent(frames, bytes int) { h.drained.add(frames, bytes) }
