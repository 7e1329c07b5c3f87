package session_test

import (
	"testing"

	"parley/actors/actortest"
)

// An event for an account reaches every connection of that account and no other.
func TestDeliverToAnAccount(t *testing.T) {
	w := actortest.New(t)
	ann, bob := w.User("ann"), w.User("bob")
	_, one := w.Connect(ann)
	_, two := w.Connect(ann)
	_, other := w.Connect(bob)
	w.Registry.Deliver(ann.ID, "hello", []byte(`{"a":1}`))
	w.Registry.Deliver("nobody", "hello", []byte(`{}`))
	for _, s := range []*actortest.Socket{one, two} {
		if got := s.Events(); len(got) != 1 || got[0].Name != "hello" || string(got[0].Data) != `{"a":1}` {
			t.Errorf("it got %v", got)
		}
	}
	if len(other.Events()) != 0 {
		t.Error("another account got it too")
	}
}
