package mirror_test

import (
	"encoding/json"
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

// Nor with the names that accounts had which are deleted since (decision 9).
func TestMissedEventsOfTheDeleted(t *testing.T) {
	w := actortest.New(t)
	ann, carol, bob := w.User("ann"), w.User("carol"), w.User("bob")
	room := w.Room(ann, "Room", false)
	w.Join(room, carol, bob)
	m := w.Post(carol, room, "I was here")
	for _, who := range []*platform.Identity{carol, ann} {
		if _, err := w.Platform.React(ctx, who, room, m.ID, "👍", false); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Platform.DeleteAccount(ctx, carol, nil); err != nil {
		t.Fatal(err)
	}
	s, socket := w.Connect(bob)
	j := enter(t, s, socket, room, at(0))
	if j.Recovered == nil || !*j.Recovered || fmt.Sprint(missed(j)) != fmt.Sprint(hard(t, w, room, 0)) {
		t.Fatalf("missed %+v", j.Missed)
	}
	var answer struct{ Missed json.RawMessage }
	if err := json.Unmarshal(socket.Named(mirror.EventAgencyJoined)[0].Data, &answer); err != nil {
		t.Fatal(err)
	}
	text := string(answer.Missed)
	for part, want := range map[string]int{"carol": 0, "I was here": 1, `"sender_username":"deleted"`: 1, `"username":"ann"`: 1, carol.ID: 2} {
		if got := strings.Count(text, part); got != want {
			t.Errorf("%q %d times, want %d, in %s", part, got, want, text)
		}
	}
}
