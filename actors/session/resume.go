package session

import (
	"context"
	"slices"
	"time"

	"parley/actors/agency"
	"parley/actors/mirror"
	"parley/actors/platform"
)

// holdFor is how long a connection that came back may take to join by itself before its rooms are restored: what comes in
// between comes then, or is among what it missed if it asks for that.
const holdFor = 500 * time.Millisecond

// nudgeAfter is how long a connection that came back may take to join by itself before it is told of its rooms
// (clients.md 6.2).
const nudgeAfter = 1500 * time.Millisecond

type (
	// resume says which rooms a connection is to get back.
	resume struct{ rooms []string }
	// comeBack says that the rooms of another connection by the same credential are to be had.
	comeBack struct{}
	settle   struct{}
	nudge    struct{}
	// found says that the account is still a member of a room.
	found struct {
		agency string
		last   uint64 // of its log when the connection came back
	}
)

// resumption is what a connection that came back is told of if it does not join by itself.
type resumption struct {
	list    []string // all of them
	found   []found  // to be restored
	settled bool     // rooms that are found are restored at once
	rooms   []agency.Record
	due     bool
}

// Resume gives the session the rooms of the last connection by the same credential, if that was lost a short while ago,
// also in an earlier life of the server. The client is told nothing of it, except that, when it joins nothing by itself, it
// gets agency-invited for each room but direct messages. It is called once, when the client is ready for events.
func (s *Session) Resume(ctx context.Context) {
	if list := s.registry.rooms.take(ctx, s.id, s.process.System().Now()); len(list) > 0 {
		s.process.Tell(resume{list})
	}
}

// comeBack resumes late: clients come back before it is noticed that they were gone.
func (s *Session) comeBack() {
	if s.joined || s.resumed != nil {
		return
	}
	if list := s.registry.rooms.recall(s.id, s.process.System().Now()); len(list) > 0 {
		s.resume(list)
	}
}

func (s *Session) resume(list []string) {
	list = list[:min(len(list), MaxRooms)]
	s.mu.Lock()
	s.resumed = &resumption{list: list}
	s.mu.Unlock()
	time.AfterFunc(holdFor, func() { s.process.Tell(settle{}) })
	time.AfterFunc(nudgeAfter, func() { s.process.Tell(nudge{}) })
	for _, id := range list {
		s.dir.Call(agency.Ref(id), agency.Enter{Who: s.Who(), Member: true}, func(v any, err error) {
			if e, ok := v.(*agency.Entered); ok && err == nil && e.Record.Kind != agency.DM { // those come without a seat
				s.process.Tell(found{id, e.Last})
			}
		})
	}
}

// found notes a room that can be restored.
func (s *Session) found(f found) {
	if s.resumed.settled {
		s.restore(f)
		return
	}
	s.resumed.found = append(s.resumed.found, f)
}

func (s *Session) settle() {
	s.mu.Lock()
	s.resumed.list = nil
	s.mu.Unlock()
	s.resumed.settled = true
	for _, f := range s.resumed.found {
		s.restore(f)
	}
	s.resumed.found = nil
}

// restore takes the seat in a room that the client has not joined by itself meanwhile.
func (s *Session) restore(f found) {
	if s.room(f.agency) != nil || len(s.rooms) >= MaxRooms {
		return
	}
	seat := s.newSeat(f.agency)
	s.enter(visit{Join: Join{AgencyID: f.agency, Since: &f.last}, seat: seat, tries: enterTries, quiet: true}, func(_ any, err error) {
		if err != nil {
			s.process.Tell(evicted{seat: seat})
		}
	})
}

// restored notes a room that the session has got back.
func (s *Session) restored(r *agency.Record) {
	switch {
	case s.joined:
	case s.resumed.due:
		s.invite(r)
	default:
		s.resumed.rooms = append(s.resumed.rooms, *r)
	}
}

// nudge tells a client of its rooms that has not asked for any.
func (s *Session) nudge() {
	s.resumed.due = true
	for i := range s.resumed.rooms {
		if r := &s.resumed.rooms[i]; !s.joined && s.room(r.ID) != nil {
			s.invite(r)
		}
	}
	s.resumed.rooms = nil
}

func (s *Session) invite(r *agency.Record) {
	s.socket.Deliver(&mirror.Event{Name: platform.EventAgencyInvited, Data: platform.Invitation(r)})
}

// roomIDs are the rooms in which the session has a seat, or is to have one again.
func (s *Session) roomIDs() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	ids := make([]string, 0, len(s.rooms))
	for _, r := range s.rooms {
		if r.taken {
			ids = append(ids, r.agency)
		}
	}
	if s.resumed == nil {
		return ids
	}
	for _, id := range s.resumed.list {
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// roomsChanged has the rooms written down.
func (s *Session) roomsChanged() { s.registry.rooms.changed(s.id, s.roomIDs()) }

// keep sees to the rooms at the end of the session: those of a lost connection wait for the next one.
func (s *Session) keep(lost bool) {
	if s.kept.Swap(true) {
		return
	}
	others := s.registry.sameCredential(s)
	switch {
	case lost:
		s.registry.rooms.lose(s.id, s.roomIDs(), s.process.System().Now())
		for _, other := range others {
			other.process.Tell(comeBack{})
		}
	case len(others) == 0:
		s.registry.rooms.forget(s.id)
	}
}

// sameCredential returns the other live sessions of a login session or PAT.
func (r *Registry) sameCredential(s *Session) (list []*Session) {
	if s.id == "" {
		return nil
	}
	for _, other := range r.of(s.Who().ID) {
		if other != s && other.id == s.id {
			list = append(list, other)
		}
	}
	return list
}
