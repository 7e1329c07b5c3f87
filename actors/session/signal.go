package session

import (
	"slices"

	"parley/actors/account"
	"parley/actors/agency"
	"parley/actors/kernel"
	"parley/actors/mirror"
)

// MaxStatus is the longest status of a thinking agent in bytes; the rest is cut.
const MaxStatus = 500

type (
	// Typing tells the others of a room that the account types, or does no more (decision 27). Members only; the room need
	// not be joined. Answered with kernel.Done.
	Typing struct {
		AgencyID string
		Typing   bool
	}
	// Thinking tells a room that the agent thinks, or does no more (clients.md 3.2, agent-thinking). Members only; the room
	// need not be joined. Answered with kernel.Done; CodeForbidden for users.
	Thinking struct {
		AgencyID string
		Thinking bool
		Status   string
	}
)

func (s *Session) typing(r *kernel.Request, op Typing) {
	s.signal(r, op.AgencyID, op.Typing, mirror.Typing{Who: s.Who(), Socket: s.socket, Typing: op.Typing})
}

func (s *Session) thinking(r *kernel.Request, op Thinking) {
	who := s.Who()
	if who.Type != account.Agent {
		r.Reply(nil, kernel.Forbidden("only agents can say that they think"))
		return
	}
	status := op.Status
	if len(status) > MaxStatus {
		status = agency.CutText(status, MaxStatus)
	}
	s.signal(r, op.AgencyID, op.Thinking, mirror.Thinking{Who: who, Socket: s.socket, Thinking: op.Thinking, Status: status})
}

// signal hands a signal to the room's mirror, after asking whether the account is a member unless it has a seat there.
func (s *Session) signal(r *kernel.Request, agencyID string, on bool, what any) {
	known := slices.Contains(s.signals, agencyID)
	here, _ := s.at(agencyID)
	switch {
	case on && !known && len(s.signals) >= MaxRooms:
		r.Reply(nil, kernel.Fail(kernel.CodeLimited, "a connection can type and think in %d rooms at most", MaxRooms))
	case here.taken, known && !on:
		if on {
			s.signalled(signalled{agencyID})
		}
		s.dir.Call(mirror.Ref(agencyID), what, r.Reply)
	default:
		s.dir.Call(agency.Ref(agencyID), agency.Enter{Who: s.Who(), Member: true}, func(_ any, err error) {
			if err != nil {
				r.Reply(nil, err)
				return
			}
			s.process.Tell(signalled{agencyID})
			s.dir.Call(mirror.Ref(agencyID), what, r.Reply)
		})
	}
}

// signalled notes a room that has to be told when the connection goes.
type signalled struct{ agency string }

func (s *Session) signalled(m signalled) {
	if !slices.Contains(s.signals, m.agency) {
		s.signals = append(s.signals, m.agency)
	}
}
