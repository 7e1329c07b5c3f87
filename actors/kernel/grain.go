package kernel

import (
	"context"
	"errors"
	"slices"
	"time"

	"parley/persistence"
)

// Limits of a grain.
const (
	// snapshotEvery is the number of events after which a snapshot rides along with a commit.
	snapshotEvery = 500
	// loadPage is the number of events read at once while a grain wakes.
	loadPage = 1000
	// loadTimeout bounds a wake.
	loadTimeout = 10 * time.Second
	// openLimit is the number of commands that one grain works on at once: those whose batch is on its way to the store,
	// and those that wait for a read or for each other. One more is answered with ErrOverloaded.
	openLimit = 65536
	// maxAbsent is the number of actors that stay awake for a while although their stream has no events. Those over it go
	// as soon as they have answered, so that asking for ids that do not exist fills no memory.
	maxAbsent = 1024
	// openSlack is the number of answered commands that are remembered at least before they are looked for.
	openSlack = 64
)

// Entity is the state and the decisions of a durable actor. It has no locks: one goroutine at a time calls it.
//
// Handle decides on the current state, which already contains what is still being committed, and hands its events to
// Turn.Commit; answers and effects are held back until the store has confirmed. When the store refuses, the entity is
// thrown away and built again from what is stored.
type Entity interface {
	// Load restores a snapshot that the same kind of entity made. An error discards the snapshot.
	Load(version uint32, data []byte) error
	// Apply changes the state by one event; it must not fail on any event that Handle ever committed.
	Apply(ev *persistence.Event) error
	// Snapshot returns the state after all events applied so far.
	Snapshot() (version uint32, data []byte)
	// Ready is called once after the entity has been restored.
	Ready(g Grain)
	// Handle executes one command. It must answer it, now or in an output that it commits.
	Handle(t *Turn, command any)
	// Notice handles a message that nobody waits for.
	Notice(g Grain, msg any)
	// Settled is called after the outputs of one round of commits have been released.
	Settled()
	// Busy reports whether the entity has a reason to stay awake although nobody talks to it.
	Busy() bool
	// Retain says how many events, and for how long, the log is kept below the snapshot.
	Retain() (events uint64, age time.Duration)
}

// Creator is a command that may write to a stream that has no events yet. Other commands meet an empty entity there and
// can only be refused: asking for what does not exist leaves no trace in the store.
type Creator interface{ Creates() }

// Bounded is a command whose number is bounded by those who give it: one a live connection. A mailbox never refuses it,
// since ten thousand clients that come back at once are no overload, and a socket that closes has to be forgotten.
type Bounded interface{ Bounded() }

// Grain is what an entity sees of its own actor outside a turn.
type Grain interface {
	ID() string
	System() *System
	Tell(msg any)
	// Call gives the entity a command of its own, behind what waits in its mailbox. reply must not block.
	Call(command any, reply func(any, error))
	Last() uint64
}

// Change is what a turn wants committed as one atomic batch.
type Change struct {
	Events    []persistence.Event // Kind and Data; Seq and At are filled in by Commit
	Claims    []persistence.ClaimOp
	Documents []persistence.DocumentOp
	Counters  []persistence.CounterOp
	Outbox    []persistence.OutboxOp
	// Final says that this is the end of what the entity stands for: a snapshot of what is left rides along, and the log is
	// trimmed at once as far as Retain lets it. Nothing that was said in it has to wait for a later snapshot to go.
	Final bool
}

// grain runs an Entity: it wakes it from the store, applies commands speculatively, and releases outputs as they commit.
type grain struct {
	process *Process
	sys     *System
	stream  string
	id      string
	build   func() Entity
	entity  Entity

	loading  bool
	absent   bool // the stream has no events and was not acquired
	broken   bool
	stopping bool
	waiting  []*Request // commands that came while loading
	epoch    uint64
	seq      uint64 // last event, committed or not
	lastAt   int64  // its time
	snapSeq  uint64 // last event of the latest snapshot
	mark     uint64 // number of the last submitted batch
	pending  []held
	open     []*Request // taken up and not answered, besides some that are
	openLook int        // length of open at which the answered ones are dropped
}

// held is an output that waits for its batch.
type held struct {
	mark    uint64
	request *Request
	after   bool // waits for an earlier batch and has none of its own
	refused func(error) error
	release func()
}

type loaded struct {
	owner  *grain
	absent bool
	lease  persistence.Lease
	events []persistence.Event
	err    error
}

// resumed continues a turn after a read.
type resumed struct {
	owner   *grain
	f       func()
	request *Request
}

// NewGrain makes the behavior of a durable actor over a stream. build returns an empty entity.
func NewGrain(kind, id string, build func() Entity) Behavior {
	return &grain{stream: persistence.Stream(kind, id), id: id, build: build}
}

func (g *grain) ID() string      { return g.id }
func (g *grain) System() *System { return g.sys }
func (g *grain) Tell(msg any)    { g.process.Tell(msg) }
func (g *grain) Last() uint64    { return g.seq }

func (g *grain) Call(command any, reply func(any, error)) { g.process.Call(command, reply) }

func (g *grain) Start(p *Process) {
	g.process, g.sys = p, p.sys
	g.load(false)
}

func (g *grain) Receive(msg any) {
	switch m := msg.(type) {
	case *Request:
		g.command(m)
	case *outcome:
		if m.owner == g {
			g.settle(m)
		}
	case *loaded:
		if m.owner == g {
			g.restore(m)
		}
	case *resumed:
		g.resume(m)
	case Sweep:
		g.sleep()
	default:
		if !g.loading && !g.broken {
			g.entity.Notice(g, msg)
		}
	}
}

func (g *grain) resume(m *resumed) {
	if m.owner != g || g.loading || g.broken || g.stopping {
		m.request.Reply(nil, ErrUnavailable)
		return
	}
	g.guard(m.request, m.f)
}

// guard runs a piece of a request's work. When that panics, the request is answered before the supervisor sees it.
func (g *grain) guard(r *Request, f func()) {
	over := false
	defer func() {
		if !over {
			r.Reply(nil, ErrInternal)
		}
	}()
	f()
	over = true
}

// Stopped answers everybody who still waits. What was not taken up goes to the actor that follows.
func (g *grain) Stopped(error) {
	g.setAbsent(false)
	g.disown()
	waiting := g.waiting
	g.waiting = nil
	for _, r := range waiting {
		r.Reply(nil, errStopped)
	}
}

// disown answers the open requests, those left out that are to run again: nobody will go on with them.
func (g *grain) disown() {
	for _, r := range g.open {
		if r.again {
			r.again = false
			continue
		}
		r.Reply(nil, ErrUnavailable)
	}
	g.open, g.pending = nil, nil
}

func (g *grain) command(r *Request) {
	if g.loading || g.broken || g.stopping {
		if _, bounded := r.Command.(Bounded); !bounded && len(g.waiting) >= MailboxLimit {
			r.Reply(nil, ErrOverloaded)
			return
		}
		g.waiting = append(g.waiting, r)
		return
	}
	if _, creates := r.Command.(Creator); creates && g.absent {
		g.waiting = append(g.waiting, r)
		g.load(true)
		return
	}
	if len(g.open) >= max(g.openLook, openSlack) {
		g.dropAnswered()
	}
	if len(g.open) >= openLimit || !g.sys.committer.room() {
		r.Reply(nil, ErrOverloaded)
		return
	}
	g.open = append(g.open, r)
	g.guard(r, func() { g.entity.Handle(&Turn{grain: g, request: r}, r.Command) })
	if last := len(g.open) - 1; last >= 0 && g.open[last] == r && r.answered() { // most are, and need not be kept till looked for
		g.open[last] = nil
		g.open = g.open[:last]
	}
}

func (g *grain) dropAnswered() {
	if g.open = slices.DeleteFunc(g.open, (*Request).answered); len(g.open) == 0 {
		g.open = nil
	}
	g.openLook = min(2*len(g.open), openLimit)
}

// settle releases what was committed and deals with a refusal.
func (g *grain) settle(o *outcome) {
	released := false
	for len(g.pending) > 0 && g.pending[0].mark <= o.upto {
		if h := &g.pending[0]; h.release != nil {
			g.guard(h.request, h.release)
		}
		g.pending[0] = held{}
		g.pending = g.pending[1:]
		released = true
	}
	if len(g.pending) == 0 {
		g.pending = nil
		g.dropAnswered()
	}
	if released {
		g.entity.Settled()
	}
	switch {
	case o.err != nil:
		g.refuse(o)
	case g.stopping && g.pending == nil:
		g.process.Stop()
	}
}

// refuse drops the speculative state. The batch that failed is answered; commands behind it, which certainly did not
// happen, run again on the reloaded state. That is certain because a batch that can be refused for what it contains
// has events: every later one expects them.
func (g *grain) refuse(o *outcome) {
	unknown := !errors.Is(o.err, persistence.ErrExists) && !errors.Is(o.err, persistence.ErrTooLarge)
	if !errors.Is(o.err, persistence.ErrExists) {
		g.sys.Log.Warn("commit refused", "stream", g.stream, "error", o.err)
	}
	var again []*Request
	for _, h := range g.pending {
		switch {
		case h.request == nil:
		case h.mark == o.failed && !h.after, unknown:
			err := o.err
			if h.refused != nil {
				err = h.refused(err)
			}
			h.request.Reply(nil, AsError(err))
		default:
			h.request.again = true
			again = append(again, h.request)
		}
	}
	g.disown()
	g.waiting = append(again, g.waiting...)
	if g.stopping {
		g.process.Stop()
		return
	}
	g.reload()
}

// reload makes every message on its way to the old state a stranger's, by becoming a new owner.
func (g *grain) reload() {
	g.setAbsent(false)
	fresh := &grain{process: g.process, sys: g.sys, stream: g.stream, id: g.id, build: g.build, waiting: g.waiting}
	g.waiting = nil
	g.process.behavior = fresh
	fresh.load(false)
}

// sleep writes a last snapshot and stops, unless there is a reason to stay.
func (g *grain) sleep() {
	if g.loading || g.broken || g.stopping || g.pending != nil {
		return
	}
	if g.dropAnswered(); len(g.open) > 0 || g.entity.Busy() {
		return
	}
	g.stopping = true
	if g.seq == g.snapSeq {
		g.process.Stop()
		return
	}
	g.submit(&persistence.Batch{Expect: g.seq, Snapshot: g.snapshot()}, held{})
}

// submit hands a batch to the committer and holds back its output.
func (g *grain) submit(b *persistence.Batch, h held) {
	b.Stream, b.Epoch = g.stream, g.epoch
	g.mark++
	h.mark = g.mark
	g.pending = append(g.pending, h)
	g.sys.committer.submit(submission{batch: b, owner: g, mark: g.mark})
}

// trim drops what the log need not keep, in the reading pool.
func (g *grain) trim() {
	keep, age := g.entity.Retain()
	if g.snapSeq <= keep {
		return
	}
	upto, before := g.snapSeq-keep, time.Time{}
	if age > 0 { // else whatever their age: after a burst the latest ones are ahead of the clock
		before = g.sys.Now().Add(-age)
	}
	g.sys.readers.run(func() {
		ctx, cancel := context.WithTimeout(context.Background(), loadTimeout)
		defer cancel()
		if _, err := g.sys.Store.Trim(ctx, g.stream, upto, before); err != nil {
			g.sys.Log.Warn("log can't be trimmed", "stream", g.stream, "error", err)
		}
	})
}
