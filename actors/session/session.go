// Package session is the actor of one live connection: who it is, and which rooms it is in. The transport reads events
// from the socket and gives them to the session one at a time, so that they take effect in their order.
package session

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"parley/actors/account"
	"parley/actors/agency"
	"parley/actors/command"
	"parley/actors/kernel"
	"parley/actors/mirror"
)

// MaxRooms is the number of rooms that one connection may be in at once.
const MaxRooms = 1000

// enterTries is how often a socket that joins is let in again because the room has changed before it took its seat.
const enterTries = 5

// Socket is the live connection of a session.
type Socket interface {
	mirror.Socket
	// Revoked closes the connection because its credential is dead. It must not block.
	Revoked()
	// Restart closes the connection so that its client comes back and finds everything in order. It must not block.
	Restart()
}

// Session is the actor.
type Session struct {
	dir      kernel.Directory
	registry *Registry
	commands Commands
	system   *kernel.System
	process  *kernel.Process
	who      account.Sender
	id       string // of the login session or PAT
	socket   Socket
	rooms    []room
	detached atomic.Int32 // commands that are not waited for
}

type room struct {
	agency string
	seat   *mirror.Seat
}

// Options of a session.
type Options struct {
	System    *kernel.System
	Directory kernel.Directory
	Registry  *Registry
	Commands  Commands
	Who       account.Sender
	ID        string // of the login session or PAT
	Socket    Socket
}

// Open starts a session: CodeLimited when the account has MaxConnections already. Close ends it.
func Open(o Options) (*Session, error) {
	s := &Session{dir: o.Directory, registry: o.Registry, commands: o.Commands, who: o.Who, id: o.ID, socket: o.Socket}
	if err := o.Registry.add(s); err != nil {
		return nil, err
	}
	s.system = o.System
	s.process = o.System.Spawn(s)
	return s, nil
}

// Close ends the session; its rooms are left.
func (s *Session) Close() {
	s.registry.remove(s)
	s.process.Stop()
}

// Who returns the account.
func (s *Session) Who() account.Sender { return s.who }

// Do executes one operation. reply is called exactly once, from any goroutine, and must not block. The caller gives the
// next operation only after the reply to the last.
func (s *Session) Do(op any, reply func(any, error)) { s.process.Call(op, reply) }

// Start implements kernel.Behavior.
func (s *Session) Start(*kernel.Process) {}

// Stopped implements kernel.Behavior.
func (s *Session) Stopped(cause error) {
	for _, r := range s.rooms {
		s.dir.Call(mirror.Ref(r.agency), mirror.Detach{Seat: r.seat}, func(any, error) {})
	}
	s.rooms = nil
	if cause != nil {
		s.socket.Restart()
	}
}

// Receive implements kernel.Behavior.
func (s *Session) Receive(msg any) {
	switch m := msg.(type) {
	case *kernel.Request:
		s.execute(m)
	case welcomed:
		s.remind()
	case openRuns:
		s.remindOf(m)
	case evicted:
		s.forget(m.seat)
		if m.lost {
			s.socket.Restart()
		}
	}
}

// evicted says that a mirror has taken a seat away.
type evicted struct {
	seat *mirror.Seat
	lost bool
}

// Operations that a session executes.
type (
	// Join enters a room: a member's, or a public one, whose member it becomes. The answer to the client is in the socket
	// when the reply, kernel.Done, comes.
	Join struct {
		AgencyID string
		Since    *uint64
	}
	// Leave leaves the live room, not the membership (decision 45). Answered with kernel.Done.
	Leave struct{ AgencyID string }
	// Send posts a message or a command. Answered with *agency.Posted, or for a command with command.Result or *Detached.
	Send struct {
		AgencyID string
		Message  agency.NewMessage
		Silent   bool
	}
	// Edit replaces the content of an own message. Answered with *agency.Posted.
	Edit struct{ AgencyID, MessageID, Content string }
	// Delete deletes a message. Answered with kernel.Done.
	Delete struct{ AgencyID, MessageID string }
	// React adds a reaction to a message or takes it back. Answered with *agency.Reacted.
	React struct {
		AgencyID, MessageID, Emoji string
		Remove                     bool
	}
)

func (s *Session) execute(r *kernel.Request) {
	switch op := r.Command.(type) {
	case Join:
		s.join(r, op)
	case Leave:
		s.leave(r, op)
	case Send:
		if command.Is(op.Message.Content) {
			s.run(r, op)
			return
		}
		s.dir.Call(agency.Ref(op.AgencyID), agency.Post{Who: s.who, NewMessage: op.Message}, r.Reply)
	case Edit:
		s.dir.Call(agency.Ref(op.AgencyID), agency.EditMessage{Who: s.who, MessageID: op.MessageID, Content: op.Content}, r.Reply)
	case Delete:
		s.dir.Call(agency.Ref(op.AgencyID), agency.DeleteMessage{Who: s.who, MessageID: op.MessageID}, r.Reply)
	case StartRun:
		s.startRun(r, op)
	case ActRun:
		s.actRun(r, op)
	case React:
		s.dir.Call(agency.Ref(op.AgencyID), agency.React{Who: s.who, MessageID: op.MessageID, Emoji: op.Emoji, Remove: op.Remove}, r.Reply)
	default:
		r.Reply(nil, fmt.Errorf("session: unknown operation %T", op))
	}
}

func (s *Session) room(agencyID string) *mirror.Seat {
	for _, r := range s.rooms {
		if r.agency == agencyID {
			return r.seat
		}
	}
	return nil
}

func (s *Session) forget(seat *mirror.Seat) {
	s.rooms = slices.DeleteFunc(s.rooms, func(r room) bool { return r.seat == seat })
}

// join asks the agency first, which knows who may enter, and then takes a seat at its mirror here.
func (s *Session) join(r *kernel.Request, op Join) {
	seat, fresh := s.room(op.AgencyID), false
	if seat == nil {
		if len(s.rooms) >= MaxRooms {
			r.Reply(nil, kernel.Fail(kernel.CodeLimited, "a connection can be in %d rooms at most; leave one first", MaxRooms))
			return
		}
		seat = &mirror.Seat{Socket: s.socket, Account: s.who.ID}
		seat.Evicted = func(lost bool) { s.process.Tell(evicted{seat, lost}) }
		fresh = true
		s.rooms = append(s.rooms, room{op.AgencyID, seat})
	}
	failed := func(err error) {
		if fresh {
			s.process.Tell(evicted{seat: seat})
		}
		r.Reply(nil, err)
	}
	s.enter(op, seat, enterTries, func(v any, err error) {
		if err != nil {
			failed(err)
			return
		}
		r.Reply(v, nil)
	})
}

// enter asks to be let in and takes the seat; once more when the room has changed too much in between.
func (s *Session) enter(op Join, seat *mirror.Seat, tries int, reply func(any, error)) {
	s.dir.Call(agency.Ref(op.AgencyID), agency.Enter{Who: s.who}, func(v any, err error) {
		if err != nil {
			reply(nil, err)
			return
		}
		e := v.(*agency.Entered)
		attach := mirror.Attach{Seat: seat, Record: e.Record, Since: op.Since, Entered: e.Last}
		s.dir.Call(mirror.Ref(op.AgencyID), attach, func(v any, err error) {
			if errors.Is(err, mirror.ErrAskAgain) && tries > 1 {
				s.enter(op, seat, tries-1, reply)
				return
			}
			reply(v, err)
		})
	})
}

func (s *Session) leave(r *kernel.Request, op Leave) {
	seat := s.room(op.AgencyID)
	if seat == nil {
		r.Reply(nil, kernel.Fail(kernel.CodeForbidden, "you have not joined this agency"))
		return
	}
	s.forget(seat)
	s.dir.Call(mirror.Ref(op.AgencyID), mirror.Detach{Seat: seat}, func(v any, err error) {
		if err == nil {
			s.socket.Deliver(mirror.Left(op.AgencyID))
		}
		r.Reply(v, err)
	})
}
