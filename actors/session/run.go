package session

import (
	"context"
	"time"

	"parley/actors/account"
	"parley/actors/kernel"
	"parley/actors/run"
)

// Operations on runs. An account needs no room for them: what it may do follows from the run (clients.md 3.5.3).
type (
	// StartRun begins a run in an agency, under an id that the client made. Answered with kernel.Done.
	StartRun struct{ RunID, AgencyID, Trigger string }
	// ActRun does something to a run: What is one of those that run.Act lists. Answered with kernel.Done.
	ActRun struct {
		RunID string
		What  any
	}
)

func (s *Session) startRun(r *kernel.Request, op StartRun) {
	start := run.Start{Who: s.Who(), AgencyID: op.AgencyID, Trigger: op.Trigger}
	ok := s.system.Read(func() {
		ctx, cancel := context.WithTimeout(context.Background(), readTimeout)
		defer cancel()
		if err := run.MayStart(ctx, s.system.Store, op.RunID, start); err != nil {
			r.Reply(nil, err)
			return
		}
		s.dir.Call(run.Ref(op.RunID), start, r.Reply)
	})
	if !ok {
		r.Reply(nil, kernel.ErrOverloaded)
	}
}

func (s *Session) actRun(r *kernel.Request, op ActRun) {
	if !run.IsID(op.RunID) {
		r.Reply(nil, kernel.NotFound("there is no such run"))
		return
	}
	s.dir.Call(run.Ref(op.RunID), run.Act{Who: s.Who(), What: op.What}, r.Reply)
}

// Limits of reading on behalf of a connection.
const (
	readTimeout = 10 * time.Second
	// remindRetry is the pause before open runs are looked for again that could not be read.
	remindRetry = 2 * time.Second
)

// welcomed says that the socket takes events.
type welcomed struct{}

// openRuns are the open runs of the session's agent.
type openRuns struct {
	ids []string
	err error
}

// Welcomed tells the session that its socket takes events from now on. An agent hears what it may have missed of its runs.
func (s *Session) Welcomed() {
	if s.Who().Type == account.Agent {
		s.process.Tell(welcomed{})
	}
}

func (s *Session) remind() {
	ok := s.system.Read(func() {
		ctx, cancel := context.WithTimeout(context.Background(), readTimeout)
		defer cancel()
		ids, err := run.OpenOf(ctx, s.system.Store, s.Who().ID)
		s.process.Tell(openRuns{ids, err})
	})
	if !ok {
		s.remindOf(openRuns{err: kernel.ErrOverloaded})
	}
}

func (s *Session) remindOf(open openRuns) {
	if open.err != nil {
		time.AfterFunc(remindRetry, s.Welcomed) // a session that has ended takes no notice
		return
	}
	for _, id := range open.ids {
		s.dir.Call(run.Ref(id), run.Remind{}, func(any, error) {})
	}
}
