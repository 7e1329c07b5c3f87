// Package kernel is what every actor here uses: a bounded mailbox, typed asks, a directory that wakes actors and puts
// them to sleep, durable grains behind one committer, and the clock.
//
// Actors run on Proto.Actor. The mailbox is our own, because the shipped ones block, spin or lose messages under the
// loads that this server is built for.
package kernel

import (
	"log/slog"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"parley/persistence"
)

// Supervision: an actor that fails more often than this within the window is stopped; its next message builds it anew.
const (
	maxRestarts   = 10
	restartWindow = 10 * time.Second
)

// Options of a System.
type Options struct {
	Store  persistence.Store
	Logger *slog.Logger     // nil: slog.Default
	Now    func() time.Time // nil: time.Now
	Meter  Meter            // nil: nothing is measured
}

// System is the home of all actors of one process.
type System struct {
	Store     persistence.Store
	Log       *slog.Logger
	Now       func() time.Time
	Meter     Meter
	actors    *actor.ActorSystem
	committer *Committer
	readers   *pool
	runs      *dispatcher
	absent    atomic.Int64 // awake actors whose stream has no events
	restart   actor.SupervisorStrategy
	stop      actor.SupervisorStrategy
	ephemeral *actor.Props

	handoff struct { // the behavior of the ephemeral actor that is being spawned
		sync.Mutex
		next *Process
	}
}

// NewSystem starts the committer and the reading pool. Close ends them.
func NewSystem(o Options) *System {
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Meter == nil {
		o.Meter = noMeter{}
	}
	s := &System{Store: o.Store, Log: o.Logger, Now: o.Now, Meter: o.Meter}
	quiet := slog.New(levelAbove{o.Logger.Handler(), slog.LevelWarn})
	s.actors = actor.NewActorSystem(actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger { return quiet }))
	s.restart = actor.NewOneForOneStrategy(maxRestarts, restartWindow, actor.DefaultDecider)
	s.stop = actor.NewOneForOneStrategy(0, 0, func(any) actor.Directive { return actor.StopDirective })
	s.committer = NewCommitter(o.Store, o.Meter)
	s.readers = newPool()
	s.runs = newDispatcher()
	s.ephemeral = actor.PropsFromProducer(s.takeHandoff, actor.WithMailbox(s.takeMailbox), actor.WithDispatcher(s.runs),
		actor.WithGuardian(s.stop))
	return s
}

// Close stops accepting work, waits for what was accepted to be committed, and ends the goroutines. Actors should have
// been stopped before.
func (s *System) Close() {
	s.committer.Close()
	s.readers.close()
	s.actors.Shutdown()
	s.runs.close()
}

// Read runs f in the bounded reading pool. It reports false when the pool is full; f then never runs.
func (s *System) Read(f func()) bool { return s.readers.run(f) }

// Behavior is the code of an actor. All methods are called by one goroutine at a time; none may wait.
type Behavior interface {
	// Start is called before the first message, and again for a new Behavior after a failure.
	Start(p *Process)
	// Receive handles one message. Commands that somebody waits for arrive as *Request.
	Receive(msg any)
	// Stopped is called last. cause is nil for an orderly stop.
	Stopped(cause error)
}

// Process is an actor as those see it who hold it: a mailbox with an address.
type Process struct {
	sys      *System
	box      *mailbox
	behavior Behavior
	onStop   func()
}

// Tell posts a message to the actor. After its end it is dropped.
func (p *Process) Tell(msg any) { p.box.PostUserMessage(msg) }

// Call posts a command; reply is called exactly once and must not block.
func (p *Process) Call(command any, reply func(any, error)) {
	p.box.PostUserMessage(&call{command: command, reply: reply})
}

// Stop ends the actor after the message that it handles now. Waiting calls are answered.
//
// It goes through the mailbox and not by the actor's address, which is known only when Spawn has returned: an actor may
// stop itself before that.
func (p *Process) Stop() { p.box.PostSystemMessage(&actor.Stop{}) }

// System returns the system that the actor lives in.
func (p *Process) System() *System { return p.sys }

// Request is a command with its way back.
type Request struct {
	Command any
	call    *call
	again   bool // is to run again on a reloaded state
}

// Reply answers the request; only the first answer counts.
func (r *Request) Reply(v any, err error) { r.call.finish(v, err) }

func (r *Request) answered() bool { return r.call.done.Load() }

// Spawn starts an actor that is not rebuilt when it fails: it stops instead, and Stopped is told why.
func (s *System) Spawn(b Behavior) *Process {
	p := &Process{sys: s, behavior: b, box: &mailbox{limit: MailboxLimit}}
	s.handoff.Lock()
	defer s.handoff.Unlock()
	s.handoff.next = p
	s.actors.Root.Spawn(s.ephemeral)
	return p
}

func (s *System) takeHandoff() actor.Actor   { return &host{process: s.handoff.next} }
func (s *System) takeMailbox() actor.Mailbox { return s.handoff.next.box }
func (s *System) supervised(p *Process, build func() Behavior) {
	first := true
	produce := func() actor.Actor {
		if !first {
			p.behavior = build()
		}
		first = false
		return &host{process: p}
	}
	p.behavior = build()
	s.actors.Root.Spawn(actor.PropsFromProducer(produce,
		actor.WithMailbox(func() actor.Mailbox { return p.box }), actor.WithDispatcher(s.runs), actor.WithGuardian(s.restart)))
}

// host adapts a Behavior to Proto.Actor.
type host struct {
	process *Process
	failure error
}

func (h *host) Receive(ctx actor.Context) {
	p := h.process
	switch msg := ctx.Message().(type) {
	case *actor.Started:
		p.behavior.Start(p)
	case *actor.Restarting:
		p.behavior.Stopped(h.cause())
	case *actor.Stopping, *actor.Terminated:
	case *actor.Stopped:
		if p.onStop != nil {
			p.onStop()
		}
		p.behavior.Stopped(h.failure)
	case *call:
		h.handle(&Request{Command: msg.command, call: msg}, msg)
	default:
		h.handle(msg, nil)
	}
}

func (h *host) cause() error {
	if h.failure == nil {
		return ErrInternal
	}
	return h.failure
}

// handle lets a failure of the behavior reach its caller before the supervisor sees it.
func (h *host) handle(msg any, c *call) {
	defer func() {
		r := recover()
		if r == nil {
			return
		}
		h.failure = ErrInternal
		h.process.sys.Meter.Failed()
		h.process.sys.Log.Error("actor failed", "behavior", typeName(h.process.behavior), "message", typeName(msg),
			"panic", r, "stack", string(debug.Stack()))
		if c != nil {
			c.finish(nil, ErrInternal)
		}
		panic(r)
	}()
	h.process.behavior.Receive(msg)
}
