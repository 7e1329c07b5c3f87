package platform_test

import (
	"encoding/json"
	"testing"

	"parley/actors/account"
	"parley/actors/actortest"
	"parley/actors/agency"
	"parley/actors/kernel"
	"parley/persistence"
)

// A joining that was promised to somebody who is banned meanwhile is given up, and not tried for ever.
func TestPromisedJoinOfTheBanned(t *testing.T) {
	w := actortest.New(t)
	ann := w.User("ann")
	room := w.Room(ann, "Room", false)
	data, err := json.Marshal(map[string]any{"k": "join", "a": room, "w": account.Sender{ID: "bob-id"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := kernel.Ask[*account.Profile](ctx, w.Local, account.Ref("bob-id"), account.RegisterUser{Username: "bob", PasswordHash: "none",
		Session: account.NewSession{ID: "s", Hash: "h"}, Outbox: []persistence.OutboxOp{{ID: "join/bob-id/" + room, Data: data}}}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Platform.Ban(ctx, ann, room, "bob-id", "", ""); err != nil {
		t.Fatal(err)
	}
	w.Restart() // the runner begins with what was left
	w.Eventually("the end of the promise", func() bool {
		left, err := w.Store.Outbox(ctx, "", 10)
		return err == nil && len(left) == 0
	})
	if _, err := w.Store.Document(ctx, persistence.CollectionMember, persistence.Key(room, "bob-id")); err == nil {
		t.Error("the banned is a member")
	}
	if v, err := w.Platform.Agency(ctx, ann, room); err != nil || v.MemberCount != 1 || *v.Role != agency.Owner {
		t.Error(v, err)
	}
}
