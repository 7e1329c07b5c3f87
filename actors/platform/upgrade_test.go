package platform_test

import (
	"context"
	"fmt"
	"testing"

	"parley/actors/account"
	"parley/actors/actortest"
	"parley/actors/agency"
	"parley/actors/platform"
	"parley/persistence"
	"parley/persistence/storetest"
)

// forgetDirectory makes the store one of the time before there was a directory.
func forgetDirectory(t *testing.T, w *actortest.World) {
	t.Helper()
	stream := persistence.Stream(persistence.StreamUpgrade, "test")
	lease, err := w.Store.Acquire(ctx, stream, 0)
	if err != nil {
		t.Fatal(err)
	}
	b := &persistence.Batch{Stream: stream, Epoch: lease.Epoch}
	for _, collection := range []string{persistence.CollectionListing, persistence.CollectionNewest, persistence.CollectionTerm, persistence.CollectionUpgrade} {
		for key := range rowsOf(t, w, collection) {
			b.Documents = append(b.Documents, persistence.DocumentOp{Collection: collection, Key: key})
		}
	}
	if err := w.Store.Append(ctx, []*persistence.Batch{b})[0]; err != nil {
		t.Fatal(err)
	}
}

// older is a world whose store has no directory, with more records than one step takes.
func older(t *testing.T) (w *actortest.World, ann *platform.Identity, room string) {
	t.Helper()
	w = actortest.New(t)
	w.FillDirectory(230)
	ann = w.User("ann")
	room = w.Room(ann, "Old Reef", false)
	w.Room(ann, "Secret", true)
	forgetDirectory(t, w)
	return w, ann, room
}

func TestOlderStoreIsFilled(t *testing.T) {
	w, ann, room := older(t)
	w.Restart()
	checkDirectory(t, w)
	same(t, "found", slugs(t, w, ann, platform.Page{Text: "old", Limit: 9}), "old-reef!")
	// what changes from now on finds what it replaces
	if _, err := w.Platform.UpdateAgency(ctx, ann, room, agency.Update{Name: text("New Reef")}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Platform.UpdateProfile(ctx, ann, account.ProfileUpdate{DisplayName: text("Ann B")}); err != nil {
		t.Fatal(err)
	}
	checkDirectory(t, w)
	before := w.Faults.Appends()
	for range 3 {
		w.NewPlatform().Close()
	}
	if n := w.Faults.Appends() - before; n != 3 { // founding the Lobby again
		t.Errorf("three more starts wrote %d times", n)
	}
}

// A start that is broken off anywhere is taken up by the next one.
func TestFillingBrokenOff(t *testing.T) {
	for steps := range 8 {
		t.Run(fmt.Sprint(steps, " steps"), func(t *testing.T) {
			w, _, _ := older(t)
			faults := make([]storetest.Fault, 0, steps+1)
			for range steps {
				faults = append(faults, 0)
			}
			for _, fault := range []storetest.Fault{storetest.FailBefore, storetest.LoseReply} {
				w.Faults.Script(append(faults, fault)...)
				p, err := platform.New(ctx, platform.Options{Directory: w.Local, Store: w.Store, Hasher: account.NewHasher(), Live: w.Registry,
					Log: actortest.Quiet(), Now: w.Clock.Now})
				switch {
				case err == nil && steps < 4:
					t.Fatal("the start went well")
				case err == nil: // little was left to do
					p.Close()
				}
			}
			w.Crash()
			checkDirectory(t, w)
		})
	}
}

// Two servers that start at once fill it together.
func TestTwoFillers(t *testing.T) {
	w, _, _ := older(t)
	done := make(chan struct{})
	for range 2 {
		go func() {
			defer func() { done <- struct{}{} }()
			if p, err := platform.New(context.Background(), platform.Options{Directory: w.Local, Store: w.Store, Hasher: account.NewHasher(), Live: w.Registry,
				Log: actortest.Quiet(), Now: w.Clock.Now}); err != nil {
				t.Error(err)
			} else {
				p.Close()
			}
		}()
	}
	<-done
	<-done
	checkDirectory(t, w)
}
