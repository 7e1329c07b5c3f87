package run

import (
	"context"
	"errors"

	"parley/actors/account"
	"parley/actors/agency"
	"parley/actors/kernel"
	"parley/persistence"
)

// Actions of an interrupt (clients.md 3.2).
const (
	Stop   = "stop"
	Adjust = "adjust"
)

// Interrupt asks the agent to stop, or tells it something on the way. A run that was stopped and then completes is
// interrupted; what it had asked for is cancelled.
type Interrupt struct {
	Action  string // Stop or Adjust
	Message string // required with Adjust
}

func (r *Run) interrupt(t *kernel.Turn, who account.Sender, c Interrupt) {
	err := fits("message", c.Message, MaxReply)
	switch {
	case err != nil:
	case c.Action == Adjust && c.Message == "":
		err = kernel.Invalid("message is required to adjust a run")
	case c.Action != Stop && c.Action != Adjust:
		err = kernel.Invalid("action must be stop or adjust")
	}
	if err != nil {
		t.Fail(err)
		return
	}
	n, kind := note{Stop: c.Action == Stop && !r.s.Stopping}, "interrupt"
	if c.Action == Stop && r.s.Stopping {
		kind = "" // once more, to an agent that did not hear
	}
	f := fields{"action": c.Action, "message": c.Message, "by": who.Username}
	var prompts []string
	if n.Stop {
		prompts = r.s.pending()
	}
	r.note(t, n, kind, f, func() {
		told := fields{"action": c.Action}
		if c.Message != "" {
			told["message"] = c.Message
		}
		r.deliver(EventInterrupt, told)
		if n.Stop { // the room sees that the run is to stop, and not the order, which is the agent's alone (clients.md 7.2)
			r.relayFates(prompts)
			r.relay(EventStatus, fields{"status": r.s.LastStatus, "stopping": true})
		}
	})
}

// rights is what an account may do with a run: see it as a member of the agency, as its agent, or as the agent's owner;
// and interrupt it and answer it as the agent's owner, as a moderator or higher, or as the member whose message triggered
// it (decision 32).
type rights struct{ sees, moderates bool }

func rightsOf(ctx context.Context, s persistence.Store, rec *Record, accountID string) (r rights, err error) {
	if _, err = s.Document(ctx, persistence.CollectionAgency, rec.AgencyID); err != nil {
		if errors.Is(err, persistence.ErrNotFound) {
			err = nil // an agency that is no more
		}
		return r, err
	}
	role, err := roleOf(ctx, s, rec.AgencyID, accountID)
	if err != nil {
		return r, err
	}
	owner, err := ownerOf(ctx, s, rec.Agent.ID)
	if err != nil {
		return r, err
	}
	owns := owner != "" && owner == accountID
	r.sees = role != "" || owns || rec.Agent.ID == accountID
	r.moderates = owns || role.Rank() >= agency.Moderator.Rank() || role != "" && rec.TriggeredBy == accountID
	return r, nil
}

func ownerOf(ctx context.Context, s persistence.Store, agent string) (string, error) {
	doc, err := s.Document(ctx, persistence.CollectionAccount, agent)
	if errors.Is(err, persistence.ErrNotFound) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	p, err := account.DecodeProfile(doc)
	if err != nil {
		return "", err
	}
	return p.OwnerID, nil
}

// MaySee reads whether an account may see a run. Nobody sees one of an agency that is no more.
func MaySee(ctx context.Context, s persistence.Store, rec *Record, accountID string) (bool, error) {
	r, err := rightsOf(ctx, s, rec, accountID)
	return r.sees, err
}

// asModerator goes on if the account may interrupt and answer this run, and it has not ended.
func (r *Run) asModerator(t *kernel.Turn, who account.Sender, leave, next func()) {
	if r.s.State == "" {
		t.Fail(errNoRun())
		leave()
		return
	}
	rec := r.s.Record
	kernel.Load(t, func(ctx context.Context, s persistence.Store) (rights, error) {
		return rightsOf(ctx, s, &rec, who.ID)
	}, func(may rights, err error) {
		defer leave()
		switch {
		case err != nil:
			t.Fail(err)
		case !may.sees:
			t.Fail(errNoRun())
		case !may.moderates:
			t.Fail(kernel.Forbidden("only the agent's owner, a moderator of the agency or the member whose message triggered the run can do this"))
		case r.s.State != Running:
			t.Fail(ErrEnded)
		default:
			next()
		}
	})
}
