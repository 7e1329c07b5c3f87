package platform_test

import (
	"testing"

	"github.com/google/uuid"

	"parley/actors/account"
	"parley/actors/actortest"
	"parley/actors/kernel"
	"parley/persistence"
)

// Runs that are refused leave nothing in the store: an agent could fill it with ids that it makes up.
func TestRefusedRunsLeaveNoTrace(t *testing.T) {
	w := actortest.New(t)
	ann := w.User("ann")
	bot, _ := makeAgent(w, ann, "bot")
	open, secret := w.Room(ann, "Open", false), w.Room(ann, "Secret", true)
	runs := func() int {
		names, err := w.Store.Streams(ctx, persistence.StreamRun+"/", "", 1000)
		if err != nil {
			t.Fatal(err)
		}
		return len(names)
	}
	start := func(room string) error { return w.Platform.StartRun(ctx, bot, uuid.NewString(), room, "") }
	actortest.Wants(t, "a room of others", start(open), kernel.CodeForbidden)
	actortest.Wants(t, "a private room", start(secret), kernel.CodeNotFound)
	actortest.Wants(t, "no room", start(uuid.NewString()), kernel.CodeNotFound)
	actortest.Wants(t, "an id with a slash", start("a/b"), kernel.CodeNotFound)
	actortest.Wants(t, "nothing", start(""), kernel.CodeInvalid)
	if bot.Type != account.Agent || runs() != 0 {
		t.Errorf("%d runs are known", runs())
	}
	actortest.Wants(t, "a user", w.Platform.StartRun(ctx, ann, uuid.NewString(), open, ""), kernel.CodeForbidden)
	w.Join(open, bot)
	if err := start(open); err != nil || runs() != 1 {
		t.Errorf("%d runs, %v", runs(), err)
	}
}
