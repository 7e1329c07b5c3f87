package run

import (
	"time"

	"parley/actors/account"
	"parley/actors/agency"
	"parley/actors/kernel"
)

// Limits of requests for permission.
const (
	MaxPermissions = 100     // in one run
	MaxPending     = 20      // open at once
	MaxAction      = 256     // bytes of an action, as it is kept
	MaxDescription = 4 << 10 // bytes of a description, as it is kept
	MaxDecision    = 64      // bytes
	MaxReply       = 4 << 10 // bytes of the message that goes with a decision or an interrupt
)

// remindFor is how long an answer is repeated to an agent that comes back: clients wait 120 s (clients.md 3.2), or a limit
// of their own that they don't tell.
const remindFor = 10 * time.Minute

// Ask requests a permission. Silence is never a denial: a prompt stays open until somebody answers it, the run is stopped
// or has ended.
type Ask struct {
	ID, Action, Description string
}

func (r *Run) ask(t *kernel.Turn, c Ask) {
	err := given("permissionId", c.ID, MaxName)
	switch {
	case err != nil:
	case r.s.permission(c.ID) >= 0:
		t.AfterCommits(func() { t.Reply(kernel.Done{}) }) // the same request again
		return
	case len(r.s.Permissions) >= MaxPermissions:
		err = kernel.Fail(kernel.CodeLimited, "a run can ask for %d permissions", MaxPermissions)
	case len(r.s.pending()) >= MaxPending:
		err = kernel.Fail(kernel.CodeLimited, "a run can have %d open requests for permission", MaxPending)
	}
	if err != nil {
		t.Fail(err)
		return
	}
	_, at := t.Next()
	p := Permission{ID: c.ID, Action: agency.CutText(c.Action, MaxAction), Description: agency.CutText(c.Description, MaxDescription), State: Pending, AskedAt: at}
	f := fields{"permissionId": p.ID, "action": p.Action, "description": p.Description}
	r.note(t, note{Agent: true, Permission: &p}, "permission-request", f, func() {
		r.relay(EventPermission, fields{"permissionId": c.ID, "action": c.Action, "description": c.Description, "status": Pending})
	})
}

// Answer decides a request for permission. approve is yes and anything else is no (clients.md 3.3); the agent gets the word
// as it was given. The first answer counts: another is CodeTaken, the same one again is fine.
type Answer struct {
	PermissionID string
	Decision     string
	Message      string // empty for none
}

func (r *Run) answer(t *kernel.Turn, who account.Sender, c Answer) {
	i := r.s.permission(c.PermissionID)
	err := given("decision", c.Decision, MaxDecision)
	if err == nil {
		err = fits("message", c.Message, MaxReply)
	}
	if err == nil && i < 0 {
		err = kernel.NotFound("the run has not asked for this permission")
	}
	if err != nil {
		t.Fail(err)
		return
	}
	p := r.s.Permissions[i]
	if p.State != Pending {
		r.answerAgain(t, who, c, p)
		return
	}
	_, at := t.Next()
	p.State, p.AnsweredBy, p.AnsweredAt, p.Decision, p.Message, p.Description = Denied, who.ID, at, c.Decision, c.Message, ""
	if c.Decision == "approve" {
		p.State = Approved
	}
	f := fields{"permissionId": p.ID, "decision": p.Decision, "message": p.Message, "by": who.Username}
	r.note(t, note{Permission: &p}, "permission-response", f, func() {
		r.deliverAnswer(p)
		told := fields{"permissionId": p.ID, "action": p.Action, "status": p.State, "decision": p.Decision, "answeredBy": who.ID, "answeredByUsername": who.Username}
		if p.Message != "" {
			told["message"] = p.Message
		}
		r.relay(EventPermission, told)
	})
}

// relayFates tells the room what has become of requests that nobody will answer any more. It is the event of the request
// once more, with another status: the agents' clients listen to the event of the answer, and would take it for a no.
func (r *Run) relayFates(prompts []string) {
	for _, id := range prompts {
		if i := r.s.permission(id); i >= 0 {
			p := &r.s.Permissions[i]
			r.relay(EventPermission, fields{"permissionId": p.ID, "action": p.Action, "status": p.State})
		}
	}
}

func (r *Run) answerAgain(t *kernel.Turn, who account.Sender, c Answer, p Permission) {
	if p.AnsweredBy == who.ID && p.Decision == c.Decision {
		t.AfterCommits(func() { t.Reply(kernel.Done{}) })
		return
	}
	t.Fail(kernel.Fail(kernel.CodeTaken, "this request for permission is %s already", p.State))
}

func (r *Run) deliverAnswer(p Permission) {
	f := fields{"permissionId": p.ID, "decision": p.Decision}
	if p.Message != "" {
		f["message"] = p.Message
	}
	r.deliver(EventAnswer, f)
}

// Remind repeats to an agent that has connected what it may have missed: a stop, and the answers of the last while. Clients
// ignore what they know (clients.md 3.3). It answers with kernel.Done.
type Remind struct{}

func (r *Run) remind(t *kernel.Turn) {
	t.AfterCommits(func() {
		if r.s.State == Running {
			if r.s.Stopping {
				r.deliver(EventInterrupt, fields{"action": Stop})
			}
			since := t.Now().Add(-remindFor).UnixMilli()
			for _, p := range r.s.Permissions {
				if p.Decision != "" && p.AnsweredAt >= since {
					r.deliverAnswer(p)
				}
			}
		}
		t.Reply(kernel.Done{})
	})
}
