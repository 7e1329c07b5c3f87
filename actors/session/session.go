// Package session is the actor of one live connection: who it is, and which rooms it is in. The transport reads events
// from the socket and gives them to the session one at a time, so that they take effect in their order.
package session

import (
	"errors"
	"fmt"
	"slices"
	"sync"
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
	who      atomic.Pointer[account.Sender]
	id       string       // of the login session or PAT
	expires  atomic.Int64 // ms; 0: never
	socket   Socket
	mu       sync.Mutex // of rooms: the actor alone adds and removes them
	rooms    []room
	signals  []string     // agencies that were told of typing or thinking
	resumed  *resumption  // while rooms are restored
	joined   bool         // the client has sent join-agency
	kept     atomic.Bool  // its end has been seen to
	detached atomic.Int32 // commands that are not waited for
}

type room struct {
	agency string
	seat   *mirror.Seat
	taken  bool // the seat is
	dm     bool
}

// Options of a session.
type Options struct {
	System    *kernel.System
	Directory kernel.Directory
	Registry  *Registry
	Commands  Commands
	Who       account.Sender
	ID        string // of the login session or PAT
	Expires   int64  // of the credential, ms; 0: never
	Socket    Socket
}

// Open starts a session: CodeLimited when the account has MaxConnections already. Close ends it.
func Open(o Options) (*Session, error) {
	s := &Session{dir: o.Directory, registry: o.Registry, commands: o.Commands, id: o.ID, socket: o.Socket}
	s.who.Store(&o.Who)
	s.expires.Store(o.Expires)
	if err := o.Registry.add(s); err != nil {
		return nil, err
	}
	s.system = o.System
	s.process = o.System.Spawn(s)
	return s, nil
}

// Close ends the session because its client wants that; its rooms are left.
func (s *Session) Close() {
	s.registry.remove(s)
	s.process.Stop()
}

// Lose ends the session because its connection was lost. Its rooms are kept for a while, for Resume.
func (s *Session) Lose() {
	s.keep(true)
	s.Close()
}

// Who returns the account, with the names that it has now.
func (s *Session) Who() account.Sender { return *s.who.Load() }

// Confirm notes what a second look at the credential has found after the session was opened: new names that came in
// between have reached it in no other way.
func (s *Session) Confirm(who account.Sender) {
	if old := s.who.Load(); *old != who {
		s.who.CompareAndSwap(old, &who)
	}
}

// Do executes one operation. reply is called exactly once, from any goroutine, and must not block. The caller gives the
// next operation only after the reply to the last.
func (s *Session) Do(op any, reply func(any, error)) { s.process.Call(op, reply) }

// Start implements kernel.Behavior.
func (s *Session) Start(*kernel.Process) {}

// Stopped implements kernel.Behavior.
func (s *Session) Stopped(cause error) {
	s.keep(cause != nil)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.rooms {
		s.dir.Call(mirror.Ref(r.agency), mirror.Detach{Seat: r.seat}, func(any, error) {})
	}
	for _, agency := range s.signals {
		s.dir.Call(mirror.Ref(agency), mirror.Hush{Socket: s.socket}, func(any, error) {})
	}
	s.rooms, s.signals = nil, nil
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
			return
		}
		s.roomsChanged()
	case entered:
		s.entered(m)
	case resume:
		s.resume(m.rooms)
	case comeBack:
		s.comeBack()
	case found:
		s.found(m)
	case settle:
		s.settle()
	case nudge:
		s.nudge()
	case signalled:
		s.signalled(m)
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
		s.joined = true
		s.join(r, op)
	case Typing:
		s.typing(r, op)
	case Thinking:
		s.thinking(r, op)
	case Leave:
		s.leave(r, op)
	case Send:
		if command.Is(op.Message.Content) {
			s.run(r, op)
			return
		}
		s.dir.Call(agency.Ref(op.AgencyID), agency.Post{Who: s.Who(), NewMessage: op.Message}, r.Reply)
	case Edit:
		s.dir.Call(agency.Ref(op.AgencyID), agency.EditMessage{Who: s.Who(), MessageID: op.MessageID, Content: op.Content}, r.Reply)
	case Delete:
		s.dir.Call(agency.Ref(op.AgencyID), agency.DeleteMessage{Who: s.Who(), MessageID: op.MessageID}, r.Reply)
	case StartRun:
		s.startRun(r, op)
	case ActRun:
		s.actRun(r, op)
	case React:
		s.dir.Call(agency.Ref(op.AgencyID), agency.React{Who: s.Who(), MessageID: op.MessageID, Emoji: op.Emoji, Remove: op.Remove}, r.Reply)
	default:
		r.Reply(nil, fmt.Errorf("session: unknown operation %T", op))
	}
}

func (s *Session) room(agencyID string) *mirror.Seat {
	r, _ := s.at(agencyID)
	return r.seat
}

// at finds a room in which the session is or wants to be.
func (s *Session) at(agencyID string) (room, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.rooms, func(r room) bool { return r.agency == agencyID })
	if i < 0 {
		return room{}, false
	}
	return s.rooms[i], true
}

func (s *Session) forget(seat *mirror.Seat) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rooms = slices.DeleteFunc(s.rooms, func(r room) bool { return r.seat == seat })
}

// take notes that a seat was taken. It reports whether that is news.
func (s *Session) take(seat *mirror.Seat, dm bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.rooms, func(r room) bool { return r.seat == seat })
	if i < 0 || s.rooms[i].taken {
		return false
	}
	s.rooms[i].taken, s.rooms[i].dm = true, dm
	return true
}

// join asks the agency first, which knows who may enter, and then takes a seat at its mirror here.
func (s *Session) join(r *kernel.Request, op Join) {
	seat, fresh := s.room(op.AgencyID), false
	if seat == nil {
		if len(s.rooms) >= MaxRooms {
			r.Reply(nil, kernel.Fail(kernel.CodeLimited, "a connection can be in %d rooms at most; leave one first", MaxRooms))
			return
		}
		seat, fresh = s.newSeat(op.AgencyID), true
	}
	failed := func(err error) {
		if fresh {
			s.process.Tell(evicted{seat: seat})
		}
		r.Reply(nil, err)
	}
	s.enter(visit{Join: op, seat: seat, tries: enterTries}, func(v any, err error) {
		if err != nil {
			failed(err)
			return
		}
		r.Reply(v, nil)
	})
}

// newSeat makes a seat, which is to be taken.
func (s *Session) newSeat(agencyID string) *mirror.Seat {
	seat := &mirror.Seat{Socket: s.socket, Account: s.Who().ID}
	seat.Evicted = func(lost bool) { s.process.Tell(evicted{seat, lost}) }
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rooms = append(s.rooms, room{agency: agencyID, seat: seat})
	return seat
}

// visit is a seat being taken.
type visit struct {
	Join
	seat  *mirror.Seat
	tries int
	quiet bool // restored: the client has not asked
}

// entered says that a seat was taken.
type entered struct {
	visit
	record agency.Record
}

func (s *Session) entered(e entered) {
	s.roomsChanged()
	if e.quiet {
		s.restored(&e.record)
	}
}

// enter asks to be let in and takes the seat; once more when the room has changed too much in between.
func (s *Session) enter(i visit, reply func(any, error)) {
	s.dir.Call(agency.Ref(i.AgencyID), agency.Enter{Who: s.Who(), Member: i.quiet}, func(v any, err error) {
		if err != nil {
			reply(nil, err)
			return
		}
		e := v.(*agency.Entered)
		attach := mirror.Attach{Seat: i.seat, Record: e.Record, Since: i.Since, Entered: e.Last, Quiet: i.quiet}
		s.dir.Call(mirror.Ref(i.AgencyID), attach, func(v any, err error) {
			if errors.Is(err, mirror.ErrAskAgain) && i.tries > 1 {
				i.tries--
				s.enter(i, reply)
				return
			}
			if err == nil && s.take(i.seat, e.Record.Kind == agency.DM) {
				s.process.Tell(entered{i, e.Record})
			}
			reply(v, err)
		})
	})
}

func (s *Session) leave(r *kernel.Request, op Leave) {
	here, is := s.at(op.AgencyID)
	if !is {
		r.Reply(nil, kernel.Fail(kernel.CodeForbidden, "you have not joined this agency"))
		return
	}
	s.forget(here.seat)
	s.roomsChanged()
	s.dir.Call(mirror.Ref(op.AgencyID), mirror.Detach{Seat: here.seat}, func(v any, err error) {
		if err == nil {
			s.socket.Deliver(mirror.Left(op.AgencyID, here.dm))
		}
		r.Reply(v, err)
	})
}
