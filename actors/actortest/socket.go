package actortest

import (
	"encoding/json"
	"sync"
	"sync/atomic"

	"parley/actors/mirror"
	"parley/actors/session"
)

// Socket records what is delivered to it.
type Socket struct {
	mu        sync.Mutex
	events    []*mirror.Event
	fail      atomic.Bool
	revoked   atomic.Int32
	restarted atomic.Int32
}

var _ session.Socket = (*Socket)(nil)

// Deliver implements session.Socket.
func (s *Socket) Deliver(events ...*mirror.Event) {
	if s.fail.CompareAndSwap(true, false) {
		panic("scripted failure of a socket")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, events...)
}

// FailNext makes the next Deliver panic, and with it the actor that calls it.
func (s *Socket) FailNext() { s.fail.Store(true) }

// Revoked implements session.Socket.
func (s *Socket) Revoked() { s.revoked.Add(1) }

// Restart implements session.Socket.
func (s *Socket) Restart() { s.restarted.Add(1) }

// Revocations returns how often the socket was told that its credential is dead.
func (s *Socket) Revocations() int { return int(s.revoked.Load()) }

// Restarts returns how often the socket was told to come back.
func (s *Socket) Restarts() int { return int(s.restarted.Load()) }

// Events returns what was delivered so far.
func (s *Socket) Events() []*mirror.Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*mirror.Event(nil), s.events...)
}

// Named returns the events of one name that were delivered so far.
func (s *Socket) Named(name string) []*mirror.Event {
	var list []*mirror.Event
	for _, e := range s.Events() {
		if e.Name == name {
			list = append(list, e)
		}
	}
	return list
}

// Joined is the answer agency-joined as a client reads it.
type Joined struct {
	AgencyID    string `json:"agencyId"`
	Seq         uint64 `json:"seq"`
	MemberCount int64  `json:"memberCount"`
	Members     []struct {
		ID string `json:"id"`
	} `json:"members"`
	Recovered *bool `json:"recovered"`
	Missed    []struct {
		Event string `json:"event"`
		Data  struct {
			Seq     uint64 `json:"seq"`
			Content string `json:"content"`
		} `json:"data"`
	} `json:"missed"`
	More bool `json:"more"`
}

// ReadJoined decodes an agency-joined event.
func ReadJoined(e *mirror.Event) (j Joined, err error) {
	err = json.Unmarshal(e.Data, &j)
	return j, err
}
