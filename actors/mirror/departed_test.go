package mirror_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"parley/actors/actortest"
	"parley/actors/agency"
	"parley/actors/kernel"
	"parley/actors/mirror"
	"parley/actors/platform"
	"parley/actors/session"
)

// entered lets an account in, as a session does before it takes its seat.
func entered(t *testing.T, w *actortest.World, who *platform.Identity, room string) *agency.Entered {
	t.Helper()
	e, err := kernel.Ask[*agency.Entered](ctx, w.Local, agency.Ref(room), agency.Enter{Who: who.Sender})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// attach takes a seat as a session does, and gives it up with the test.
func attach(w *actortest.World, who *platform.Identity, room string, e *agency.Entered) (*actortest.Socket, error) {
	socket := &actortest.Socket{}
	seat := &mirror.Seat{Socket: socket, Account: who.ID, Evicted: func(bool) {}}
	_, err := kernel.Ask[kernel.Done](ctx, w.Local, mirror.Ref(room), mirror.Attach{Seat: seat, Record: e.Record, Entered: e.Last})
	w.T.Cleanup(func() {
		w.Local.Call(mirror.Ref(room), mirror.Detach{Seat: seat}, func(any, error) {})
	})
	return socket, err
}

// Who is sent away between being let in and taking a seat gets none.
func TestSentAwayOnTheWay(t *testing.T) {
	w := actortest.New(t)
	ann, bob := w.User("ann"), w.User("bob")
	room := w.Room(ann, "Room", false)
	w.Join(room, bob)
	e := entered(t, w, bob, room)
	w.Post(ann, room, "x")
	_, err := attach(w, bob, room, e) // the room is new here: it does not know what came before it
	if !errors.Is(err, mirror.ErrAskAgain) {
		t.Errorf("let in before the room was there: %v", err)
	}
	follower, socket := w.Connect(ann)
	enter(t, follower, socket, room, nil)
	e = entered(t, w, bob, room)
	if err := w.Platform.Kick(ctx, ann, room, bob.ID, ""); err != nil {
		t.Fatal(err)
	}
	late, err := attach(w, bob, room, e)
	if err == nil { // the room had not heard of the kick yet, and takes the seat away when it does
		w.Eventually("the end of the seat", func() bool { return len(late.Named(mirror.EventAgencyLeft)) == 1 })
	} else {
		actortest.Wants(t, "kicked on the way", err, kernel.CodeForbidden)
	}
	w.Join(room, bob)
	e = entered(t, w, bob, room)
	back, err := attach(w, bob, room, e)
	if err != nil {
		t.Fatalf("back again: %v", err)
	}
	w.Post(ann, room, "hello")
	w.Eventually("the message", func() bool { return len(back.Named(agency.EventMessage)) == 1 })
	if n := len(back.Named(mirror.EventAgencyLeft)); n != 0 {
		t.Error("the kick from before took the new seat")
	}
}

// However joins and kicks meet: who is no member in the end has no seat.
func TestKicksMeetJoins(t *testing.T) {
	w := actortest.New(t)
	for round := range 30 {
		ann, bob := w.User(fmt.Sprint("ann", round)), w.User(fmt.Sprint("bob", round))
		room := w.Room(ann, fmt.Sprint("Room ", round), true)
		w.Join(room, bob)
		if round%2 == 0 {
			follower, socket := w.Connect(ann)
			enter(t, follower, socket, room, nil)
		}
		sitting, socket := w.Connect(bob)
		var wg sync.WaitGroup
		wg.Go(func() { _, _ = actortest.Do(sitting, session.Join{AgencyID: room}) })
		wg.Go(func() {
			if err := w.Platform.Kick(ctx, ann, room, bob.ID, ""); err != nil {
				t.Error(err)
			}
		})
		wg.Wait()
		follower, seen := w.Connect(ann)
		enter(t, follower, seen, room, nil)
		w.Post(ann, room, "secret")
		w.Eventually("the message", func() bool { return len(seen.Named(agency.EventMessage)) == 1 })
		if n := len(socket.Named(agency.EventMessage)); n != 0 {
			t.Fatalf("round %d: the kicked got %d messages", round, n)
		}
	}
}
