package load

import (
	"sync/atomic"
	"time"
)

// The phases of a run, as the loops see them.
const (
	phaseConnect int32 = iota // open and join
	phasePost                 // posters follow their pacers; also the drain, when these are over
	phaseClose                // close everything and end
)

// Bounds of a connection's life.
const (
	// maxOpening is the number of connections that may be between dial and join at one time: it
	// stays well below a usual listen backlog.
	maxOpening = 256
	// openTimeout bounds the time from dial to join.
	openTimeout = 30 * time.Second
	// maxPending is the number of posts of one socket that may await their acks. A schedule that
	// runs further ahead waits, and its latency goes on counting.
	maxPending = 1024
	// maxUnsent bounds the bytes that a socket may hold back because the server does not read.
	maxUnsent = 1 << 20
)

// engine is what the loops of a run share. The plan's fields are written before the phase that reads
// them is published.
type engine struct {
	opts     options
	target   target
	dialect  dialect
	seed     uint64
	needle   []byte
	pad      []byte
	rooms    []*room
	accounts []*account
	began    time.Time
	phase    atomic.Int32

	postStart, postEnd       int64 // ns since began
	measureStart, measureEnd int64 // the window whose latencies count, by the posts' due times
	stormAt                  int64 // 0: never
}

// now is the time since the run began, in nanoseconds on the monotonic clock.
func (e *engine) now() int64 { return int64(time.Since(e.began)) }

// measured says whether a post due at that time counts in the latencies.
func (e *engine) measured(due int64) bool { return due >= e.measureStart && due < e.measureEnd }

// state is where a connection stands on its way into its room.
type state uint8

const (
	stateNew state = iota
	stateConnecting
	stateUpgrading
	stateGreeting
	stateAuthenticating
	stateJoining
	stateLeaving
	stateJoined
	stateClosed
)

var stateNames = [...]string{"new", "connecting", "upgrading", "greeting", "authenticating", "joining", "leaving", "joined", "closed"}

func (s state) String() string { return stateNames[s] }

// conn is one connection. It belongs to one loop.
type conn struct {
	fd       int
	index    int // in the whole run
	slot     int // in its loop
	state    state
	wantOut  bool // the poller reports when the socket takes more
	hears    bool // expected to get the room's messages
	inRoom   bool // came as far as its room, even if it closed later
	inFrags  bool // inside of a fragmented message
	dialedAt int64
	room     *room
	account  *account
	token    string
	rest     []byte // an incomplete frame
	frags    []byte // the fragments so far
	unsent   []byte // what the socket did not take
	receiver receiver
	poster   *poster
	joinedAt int64 // position in the room's log when it joined
	slow     bool  // stops reading once it has joined
	away     bool  // dropped by the storm and not back yet
}

// poster is the posting side of a connection.
type poster struct {
	index   uint32 // among the room's posters
	pace    pacer
	sent    sent
	blocked bool // due, but its socket or maxPending holds it back
}

// newConns lays out the run: connection i joins room i mod rooms with account i / per-account, and
// the first ones post, so that posters spread evenly over the rooms.
func newConns(e *engine) []*conn {
	conns := make([]*conn, e.opts.Connections)
	for i := range conns {
		r, a := e.rooms[i%len(e.rooms)], e.accounts[i/e.opts.PerAccount]
		c := &conn{fd: -1, index: i, room: r, account: a, token: a.token(i % e.opts.PerAccount)}
		if i < e.opts.Posters {
			c.poster = &poster{index: uint32(len(r.senders))}
			r.senders = append(r.senders, &c.poster.sent)
		}
		conns[i] = c
	}
	for i, c := range conns {
		c.slow = i >= len(conns)-e.opts.Slow
		c.hears = (c.poster == nil || !e.opts.PostersLeave) && !c.slow
		if c.hears {
			c.receiver = newReceiver(len(c.room.senders))
		}
	}
	return conns
}

// pace gives a poster its schedule.
func (e *engine) pace(c *conn) {
	if e.opts.Rate > 0 {
		c.poster.pace = fixedPacer(e.postStart, e.postEnd, e.opts.Rate, c.index, e.opts.Posters)
		return
	}
	c.poster.pace = closedPacer(e.postStart, e.postEnd, e.opts.SocketRate)
}

// lost counts the acknowledged posts that did not reach the connections which should have got them.
// The loops must have ended.
func lost(conns []*conn) int64 {
	var n int64
	for _, c := range conns {
		if !c.hears || !c.inRoom {
			continue
		}
		for i, s := range c.room.senders {
			// What came after an early close is not lost: nobody was there.
			n += c.receiver.missing(uint32(i), s, c.state == stateJoined)
		}
	}
	return n
}
