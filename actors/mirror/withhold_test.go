package mirror_test

import (
	"fmt"
	"strings"
	"testing"

	"parley/actors/actortest"
	"parley/actors/mirror"
	"parley/actors/platform"
)

// Who asks what they missed is not told what deleted messages said, although the log still has it: neither in a room, where
// the one who asks may have come after the deletion, nor in a direct message that was purged.
func TestDeletedMessagesAreNotRepeated(t *testing.T) {
	w := actortest.New(t)
	ann, bob := w.User("ann"), w.User("bob")
	room := w.Room(ann, "Room", false)
	w.Join(room, bob)
	dm, _, err := w.Platform.OpenDM(ctx, ann, bob.ID)
	if err != nil {
		t.Fatal(err)
	}
	for _, place := range []string{room, dm.ID} {
		secret := w.Post(ann, place, "secret one")
		w.Post(ann, place, "kept")
		if _, err := w.Platform.EditMessage(ctx, ann, place, secret.ID, "secret two"); err != nil {
			t.Fatal(err)
		}
		if place != room {
			continue
		}
		if err := w.Platform.DeleteMessage(ctx, ann, room, secret.ID); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Platform.PurgeDM(ctx, bob, dm.ID); err != nil {
		t.Fatal(err)
	}
	eve := w.User("eve")
	for place, c := range map[string]struct {
		who  *platform.Identity // eve was never there before
		said int                // events that still have their words
	}{room: {eve, 1}, dm.ID: {bob, 0}} {
		s, socket := w.Connect(c.who)
		j := enter(t, s, socket, place, at(0))
		if j.Recovered == nil || !*j.Recovered || fmt.Sprint(missed(j)) != fmt.Sprint(hard(t, w, place, 0)) {
			t.Fatalf("missed %+v", j.Missed)
		}
		said := 0
		for _, m := range j.Missed {
			if strings.Contains(m.Data.Content, "secret") {
				t.Errorf("%s brings %q", m.Event, m.Data.Content)
			}
			if m.Data.Content != "" {
				said++
			}
		}
		if last := socket.Named(mirror.EventAgencyJoined); said != c.said || strings.Contains(string(last[len(last)-1].Data), "secret") {
			t.Errorf("%d events have a content, want %d", said, c.said)
		}
	}
}
