package actortest

import (
	"encoding/json"
	"sync"

	"parley/actors/run"
)

// Relayed is an event that a run handed to a room.
type Relayed struct {
	Agency, Name string
	Data         []byte
}

// Field returns a text of the event.
func (r *Relayed) Field(name string) string {
	var fields map[string]any
	_ = json.Unmarshal(r.Data, &fields) // a test that asks for a field sees that it is missing
	text, _ := fields[name].(string)
	return text
}

// Relays keeps what runs hand to rooms, and passes it on.
type Relays struct {
	mu     sync.Mutex
	events []Relayed
	next   run.Room
}

var _ run.Room = (*Relays)(nil)

// Relay implements run.Room.
func (r *Relays) Relay(agency string, e *run.Relayed) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, Relayed{agency, e.Name, e.Data})
	r.next.Relay(agency, e)
}

// Take returns what came since the last Take.
func (r *Relays) Take() []Relayed {
	r.mu.Lock()
	defer r.mu.Unlock()
	taken := r.events
	r.events = nil
	return taken
}

// pass says where events go on to.
func (r *Relays) pass(to run.Room) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.next = to
}
