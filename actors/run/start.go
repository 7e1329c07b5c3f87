package run

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"parley/actors/account"
	"parley/actors/agency"
	"parley/actors/kernel"
	"parley/persistence"
)

// Limits of runs that have not ended. They are looked at when a run starts: starts at the very same moment, of which a
// connection can make only one, may go over them by their number.
const (
	MaxOpenByAgent  = 20
	MaxOpenByAgency = 1000
)

// maxTrigger is the longest id of a triggering message in bytes.
const maxTrigger = 128

// Start begins a run under an id that the client made. Agents only, members of the agency only. It answers with kernel.Done,
// also when the same agent has started the same run before and it goes on; CodeTaken for an id that is in use otherwise,
// CodeLimited when too many runs are open.
type Start struct {
	Who      account.Sender
	AgencyID string
	Trigger  string // id of the message that made the agent act; empty for none
}

// Creates implements kernel.Creator.
func (Start) Creates() {}

func errIDTaken() error {
	return kernel.Fail(kernel.CodeTaken, "this runId is taken; make a new one for each run")
}

// admission is what is read before a run starts.
type admission struct {
	triggeredBy string
	refused     error
}

// check applies the rules for which nothing has to be read.
func (c Start) check(runID string) error {
	switch {
	case !IsID(runID):
		return kernel.Invalid("runId must be a UUID")
	case c.Who.Type != account.Agent:
		return kernel.Forbidden("only agents start runs")
	case c.AgencyID == "":
		return kernel.Invalid("agencyId is required")
	default:
		return fits("triggerMessageId", c.Trigger, maxTrigger)
	}
}

// MayStart reads whether a run may start, by the rules of its actor, which decides. It is asked first because an actor
// that is woken to create something leaves its name in the store, and everybody can make up ids.
func MayStart(ctx context.Context, s persistence.Store, runID string, c Start) error {
	if err := c.check(runID); err != nil {
		return err
	}
	_, err := s.Document(ctx, persistence.CollectionRun, runID)
	if err == nil || !errors.Is(err, persistence.ErrNotFound) {
		return err // one that is there is not counted once more
	}
	refused, err := membership(ctx, s, c.AgencyID, c.Who.ID)
	if err == nil && refused == nil {
		refused, err = mayOpen(ctx, s, c)
	}
	if err != nil {
		return err
	}
	return refused
}

func (r *Run) start(t *kernel.Turn, c Start, leave func()) {
	err := c.check(t.ID())
	switch {
	case err != nil:
		t.Fail(err)
	case r.s.ID == "":
		r.admit(t, c, leave)
		return
	case r.s.Agent.ID != c.Who.ID || r.s.AgencyID != c.AgencyID || r.s.State != Running:
		t.Fail(errIDTaken())
	default:
		t.AfterCommits(func() { t.Reply(kernel.Done{}) })
	}
	leave()
}

func (r *Run) admit(t *kernel.Turn, c Start, leave func()) {
	kernel.Load(t, func(ctx context.Context, s persistence.Store) (a admission, err error) {
		if a.refused, err = membership(ctx, s, c.AgencyID, c.Who.ID); err != nil || a.refused != nil {
			return a, err
		}
		if a.refused, err = mayOpen(ctx, s, c); err != nil || a.refused != nil || c.Trigger == "" {
			return a, err
		}
		m, err := agency.ReadMessage(ctx, s, c.AgencyID, c.Trigger)
		if err == nil {
			a.triggeredBy = m.SenderID
		} else if kernel.AsError(err).Code == kernel.CodeNotFound {
			err = nil // deleted, or not of this room: nobody has rights by it
		}
		return a, err
	}, func(a admission, err error) {
		defer leave()
		if err == nil {
			err = a.refused
		}
		if err != nil {
			t.Fail(err)
			return
		}
		r.begin(t, c, a.triggeredBy)
	})
}

// OpenOf reads the ids of an agent's open runs.
func OpenOf(ctx context.Context, s persistence.Store, agent string) ([]string, error) {
	rows, err := s.Documents(ctx, persistence.CollectionAgentRunning, persistence.Range{Prefix: agent + "/", Limit: 2 * MaxOpenByAgent})
	if err != nil {
		return nil, fmt.Errorf("open runs of an agent: %w", err)
	}
	ids := make([]string, len(rows))
	for i, d := range rows {
		ids[i] = strings.TrimPrefix(d.Key, agent+"/")
	}
	return ids, nil
}

// membership reads whether an account is a member of an agency that still exists; refused says why it may not act there.
func membership(ctx context.Context, s persistence.Store, agencyID, accountID string) (refused, err error) {
	doc, err := s.Document(ctx, persistence.CollectionAgency, agencyID)
	if errors.Is(err, persistence.ErrNotFound) || errors.Is(err, persistence.ErrTooLarge) {
		return kernel.NotFound("there is no such agency"), nil
	}
	if err != nil {
		return nil, err
	}
	room, err := agency.DecodeRecord(doc)
	if err != nil {
		return nil, err
	}
	role, err := roleOf(ctx, s, agencyID, accountID)
	switch {
	case err != nil || role != "":
		return nil, err
	case room.Private:
		return kernel.NotFound("there is no such agency"), nil
	default:
		return kernel.Forbidden("you are not a member of this agency; join it first"), nil
	}
}

// roleOf reads a role; empty for strangers.
func roleOf(ctx context.Context, s persistence.Store, agencyID, accountID string) (agency.Role, error) {
	doc, err := s.Document(ctx, persistence.CollectionMember, persistence.Key(agencyID, accountID))
	if errors.Is(err, persistence.ErrNotFound) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	m, err := agency.DecodeMember(doc)
	return m.Role, err
}

// mayOpen counts the open runs.
func mayOpen(ctx context.Context, s persistence.Store, c Start) (refused, err error) {
	mine, err := s.Documents(ctx, persistence.CollectionAgentRunning, persistence.Range{Prefix: c.Who.ID + "/", Limit: MaxOpenByAgent})
	if err != nil {
		return nil, err
	}
	if len(mine) >= MaxOpenByAgent {
		return kernel.Fail(kernel.CodeLimited, "an agent can have %d open runs; complete one first", MaxOpenByAgent), nil
	}
	all, err := s.Documents(ctx, persistence.CollectionRunning, persistence.Range{Prefix: c.AgencyID + "/", Limit: MaxOpenByAgency})
	if err == nil && len(all) >= MaxOpenByAgency {
		return kernel.Fail(kernel.CodeLimited, "an agency can have %d open runs; wait until one has ended", MaxOpenByAgency), nil
	}
	return nil, err
}

// begin commits the start: the second event makes the first entry of the own record.
func (r *Run) begin(t *kernel.Turn, c Start, triggeredBy string) {
	_, at := t.Next()
	rec := Record{ID: t.ID(), AgencyID: c.AgencyID, Agent: agentOf(c.Who), State: Running, StartedAt: at, Trigger: c.Trigger, TriggeredBy: triggeredBy}
	trigger := optional(c.Trigger)
	change := kernel.Change{Documents: append(documents(&rec), r.lifeDocument(&rec, at))}
	r.s.ID, r.s.StartedAt = rec.ID, at // the entry's key and time; the event says the same
	n, _ := r.record(&change, at, "start", fields{"triggerMessageId": trigger})
	change.Events = []persistence.Event{event(evStarted, rec), event(evNoted, note{Bytes: n})}
	r.member, r.heard, r.stored = t.Now().UnixMilli(), at, at
	t.Commit(change, func() {
		t.Reply(kernel.Done{})
		r.relay(EventStart, fields{"triggerMessageId": trigger})
	}, nil)
}

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
