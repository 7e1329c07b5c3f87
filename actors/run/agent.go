package run

import (
	"context"

	"parley/actors/account"
	"parley/actors/agency"
	"parley/actors/kernel"
	"parley/persistence"
)

// Limits of what agents say, in bytes. Texts that are only shown are cut in what is kept; names and ids are refused.
const (
	MaxName     = 128     // ids of tool calls, names of tools
	MaxStatus   = 1 << 10 // of a status, as it is kept
	maxDuration = 64
)

// asAgent goes on if the account is the run's agent, the run has not ended, and the agent is still a member of the agency.
// Whoever else is told that there is no such run. What next does must not wait: the next command comes behind it.
func (r *Run) asAgent(t *kernel.Turn, who account.Sender, leave, next func()) {
	switch {
	case r.s.State == "" || r.s.Agent.ID != who.ID:
		t.Fail(errNoRun())
	case r.s.State != Running:
		t.Fail(ErrEnded)
	case t.Now().UnixMilli()-r.member < memberFor.Milliseconds():
		r.heard = max(r.heard, t.Now().UnixMilli())
		next()
	default:
		r.stillMember(t, leave, next)
		return
	}
	leave()
}

func (r *Run) stillMember(t *kernel.Turn, leave, next func()) {
	agencyID, agent := r.s.AgencyID, r.s.Agent.ID
	kernel.Load(t, func(ctx context.Context, s persistence.Store) (refused error, err error) {
		return membership(ctx, s, agencyID, agent)
	}, func(refused error, err error) {
		defer leave()
		switch {
		case err != nil:
			t.Fail(err)
		case refused != nil:
			r.end(t, ending{State: Failed, Error: string(Left)}, nil, func() { t.Fail(refused) })
		default:
			r.member = t.Now().UnixMilli()
			r.heard = max(r.heard, r.member)
			next()
		}
	})
}

// Status says what the agent is doing. The last one is kept; the same again is relayed only.
type Status struct{ Text string }

func (r *Run) status(t *kernel.Turn, c Status) {
	n, kind, kept := note{Agent: true}, "", agency.CutText(c.Text, MaxStatus)
	if kept != r.s.LastStatus {
		n.Status, kind = &kept, "status"
	}
	r.note(t, n, kind, fields{"status": kept}, func() { r.relay(EventStatus, fields{"status": c.Text}) })
}

// ToolCall says that the agent begins to use a tool.
type ToolCall struct {
	ID    string // any text that pairs call and result (clients.md 3.2)
	Tool  string
	Input string
}

func (r *Run) toolCall(t *kernel.Turn, c ToolCall) {
	err := given("toolCallId", c.ID, MaxName)
	if err == nil {
		err = given("tool", c.Tool, MaxName)
	}
	if err != nil {
		t.Fail(err)
		return
	}
	f := fields{"toolCallId": c.ID, "tool": c.Tool, "input": c.Input}
	r.note(t, note{Agent: true}, "tool-call", f, func() {
		f["status"] = "running"
		r.relay(EventToolCall, f)
	})
}

// ToolResult says what came of it.
type ToolResult struct {
	ID, Tool string
	Output   string
	Duration string // as it is shown, such as 12ms
	Status   string // done (also when empty) or error
}

func (r *Run) toolResult(t *kernel.Turn, c ToolResult) {
	err := given("toolCallId", c.ID, MaxName)
	if err == nil {
		err = fits("tool", c.Tool, MaxName)
	}
	if err == nil {
		err = fits("duration", c.Duration, maxDuration)
	}
	switch c.Status {
	case "":
		c.Status = "done"
	case "done", "error":
	default:
		err = kernel.Invalid("status must be done or error")
	}
	if err != nil {
		t.Fail(err)
		return
	}
	f := fields{"toolCallId": c.ID, "tool": c.Tool, "output": c.Output, "duration": c.Duration, "status": c.Status}
	r.note(t, note{Agent: true}, "tool-result", f, func() { r.relay(EventToolResult, f) })
}
