package platform_test

import (
	"encoding/json"
	"strings"
	"testing"

	"parley/actors/actortest"
	"parley/actors/platform"
)

// What a deleted account did is still there, and its name is not (decision 9).
func TestActsOfTheDeletedAreNameless(t *testing.T) {
	w := actortest.New(t)
	ann, carol, eve, bob := w.User("ann"), w.User("carol"), w.User("eve"), w.User("bob")
	room := w.Room(ann, "Room", true)
	w.Join(room, carol, bob)
	if _, err := w.Platform.SetRole(ctx, ann, room, carol.ID, "admin"); err != nil {
		t.Fatal(err)
	}
	for _, by := range []*platform.Identity{ann, carol} {
		invite(w, by, room)
	}
	if _, err := w.Platform.Ban(ctx, carol, room, bob.ID, "", ""); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Platform.Ban(ctx, ann, room, eve.ID, "", ""); err != nil {
		t.Fatal(err)
	}
	if err := w.Platform.DeleteAccount(ctx, carol, nil); err != nil {
		t.Fatal(err)
	}
	invites, err := w.Platform.Invites(ctx, ann, room)
	if err != nil || len(invites) != 2 {
		t.Fatal(invites, err)
	}
	bans, err := w.Platform.Bans(ctx, ann, room, 0, "")
	if err != nil || len(bans) != 2 {
		t.Fatal(bans, err)
	}
	for what, v := range map[string]any{"invites": invites, "bans": bans} {
		text, err := json.Marshal(v)
		if err != nil || strings.Contains(string(text), "carol") || !strings.Contains(string(text), `"username":"deleted"`) || !strings.Contains(string(text), `"username":"ann"`) {
			t.Errorf("%s: %s, %v", what, text, err)
		}
	}
}
