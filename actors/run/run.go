// Package run is the actor of one run of an agent: a task that it works on in an agency, from its start to its one end,
// with what it said it did in between, and the permissions that it asked for.
package run

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"parley/actors/account"
	"parley/actors/kernel"
	"parley/persistence"
)

// ActorKind is the kind of run actors.
const ActorKind kernel.Kind = persistence.StreamRun

// Limits of a run's actor.
const (
	// memberFor is how long an agent that was found to be a member of the agency counts as one without another look.
	memberFor = 2 * time.Second
	// touchEvery is how far what is stored of the last sign of life may lag behind.
	touchEvery = 10 * time.Minute

	snapshotVersion = 1
)

// Ref names the actor of a run.
func Ref(id string) kernel.Ref { return kernel.Ref{Kind: ActorKind, ID: id} }

// IsID reports whether a text can be the id of a run: a UUID that the client made (clients.md 3.2). Ids are taken as they
// are: two that differ in case name two runs.
func IsID(id string) bool {
	_, err := uuid.Parse(id)
	return err == nil && len(id) == 36
}

// Room carries events of runs to those who are in an agency. They are not part of its log: who is not there misses them,
// and reads the run instead.
type Room interface {
	// Relay hands over one event. It must not block.
	Relay(agency string, e *Relayed)
}

// Agents carries events to the live connections of an account.
type Agents interface {
	// Deliver hands over one event; data is a JSON object. It must not block.
	Deliver(account, event string, data []byte)
}

// Ports is what a run needs from outside.
type Ports struct {
	Room      Room // nil: nobody is told
	Agents    Agents
	Directory kernel.Directory
}

// Run is the entity.
type Run struct {
	ports  Ports
	s      state
	line   kernel.Gate[struct{}] // one command after the other, those too that read first
	member int64                 // when the agent was last found to be a member, ms
	heard  int64                 // when the agent was last heard of, ms
	stored int64                 // the same as far as it is stored
	grown  map[string]*growth    // what the room has seen of the streams that are not done
}

var _ kernel.Entity = (*Run)(nil)

// Factory makes the actors of runs.
func Factory(p Ports) kernel.Factory {
	return func(id string) kernel.Behavior {
		return kernel.NewGrain(persistence.StreamRun, id, func() kernel.Entity { return &Run{ports: p} })
	}
}

// Load implements kernel.Entity.
func (r *Run) Load(version uint32, data []byte) error {
	if version != snapshotVersion {
		return fmt.Errorf("run snapshot of version %d", version)
	}
	return json.Unmarshal(data, &r.s)
}

// Apply implements kernel.Entity.
func (r *Run) Apply(ev *persistence.Event) error {
	next, err := r.s.after(ev)
	if err == nil {
		r.s = next
	}
	return err
}

// Snapshot implements kernel.Entity.
func (r *Run) Snapshot() (uint32, []byte) { return snapshotVersion, encode(&r.s) }

// Ready implements kernel.Entity.
func (r *Run) Ready(kernel.Grain) { r.heard, r.stored = r.s.Heard, r.s.Heard }

// Notice implements kernel.Entity.
func (r *Run) Notice(kernel.Grain, any) {}

// Settled implements kernel.Entity.
func (r *Run) Settled() {}

// Busy implements kernel.Entity: all that a run has to keep in mind is stored.
func (r *Run) Busy() bool { return false }

// Retain implements kernel.Entity: what is worth reading of a run is in documents.
func (r *Run) Retain() (uint64, time.Duration) { return 0, 0 }

// Handle implements kernel.Entity.
func (r *Run) Handle(t *kernel.Turn, command any) {
	r.line.Enter(struct{}{}, func() {
		leave := func() { r.line.Leave(struct{}{}) }
		switch c := command.(type) {
		case Start:
			r.start(t, c, leave)
		case Act:
			r.act(t, c, leave)
		case Remind:
			r.remind(t)
			leave()
		case Abandon:
			r.abandon(t, c)
			leave()
		case Purge:
			r.purge(t)
			leave()
		case Fulfil:
			t.Commit(kernel.Change{Outbox: []persistence.OutboxOp{{ID: c.Entry, Done: true}}}, func() { t.Reply(kernel.Done{}) }, nil)
			leave()
		default:
			t.Fail(fmt.Errorf("run: unknown command %T", command))
			leave()
		}
	})
}

// errNoRun is also the answer about a run that the caller may not see, or not feed (decision 3).
func errNoRun() error { return kernel.NotFound("there is no such run") }

// ErrEnded answers whatever would change a run after its end.
var ErrEnded = kernel.Fail(kernel.CodeTaken, "this run has ended")

// Fulfil removes an outbox entry whose work is done. It answers with kernel.Done, also for a run that is gone.
type Fulfil struct{ Entry string }

// Creates implements kernel.Creator.
func (Fulfil) Creates() {}

// Act is something that an account does to a run. It answers with kernel.Done once it is durable, or, where nothing of it
// is kept, once all before it is. CodeNotFound for a run that the account may not see, CodeTaken after the run's end.
//
// What is one of Status, ToolCall, ToolResult, Stream, Ask, Complete and Fail, which only the run's agent may; or of
// Interrupt and Answer, for which see rights.
type Act struct {
	Who  account.Sender
	What any
}

func (r *Run) act(t *kernel.Turn, c Act, leave func()) {
	switch what := c.What.(type) {
	case Interrupt:
		r.asModerator(t, c.Who, leave, func() { r.interrupt(t, c.Who, what) })
	case Answer:
		r.asModerator(t, c.Who, leave, func() { r.answer(t, c.Who, what) })
	case Status:
		r.asAgent(t, c.Who, leave, func() { r.status(t, what) })
	case ToolCall:
		r.asAgent(t, c.Who, leave, func() { r.toolCall(t, what) })
	case ToolResult:
		r.asAgent(t, c.Who, leave, func() { r.toolResult(t, what) })
	case Stream:
		r.asAgent(t, c.Who, leave, func() { r.stream(t, c.Who, what) })
	case Ask:
		r.asAgent(t, c.Who, leave, func() { r.ask(t, what) })
	case Complete:
		r.asAgent(t, c.Who, leave, func() { r.complete(t, what) })
	case Fail:
		r.asAgent(t, c.Who, leave, func() { r.fail(t, what) })
	default:
		t.Fail(fmt.Errorf("run: unknown act %T", c.What))
		leave()
	}
}
