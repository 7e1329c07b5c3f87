package platform_test

import (
	"strings"
	"testing"

	"github.com/google/uuid"

	"parley/actors/account"
	"parley/actors/actortest"
	"parley/actors/agency"
	"parley/actors/kernel"
	"parley/actors/platform"
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

// Neither do agents and agencies that are refused.
func TestRefusedCreationsLeaveNoTrace(t *testing.T) {
	w := actortest.New(t)
	ann := w.User("ann")
	makeAgent(w, ann, "bot")
	room := w.Room(ann, "Room", false)
	streams := func() int {
		names, err := w.Store.Streams(ctx, "", "", 1000)
		if err != nil {
			t.Fatal(err)
		}
		return len(names)
	}
	before, long := streams(), strings.Repeat("x", 100_000)
	for what, create := range map[string]func() error{
		"an agent whose name is taken": func() error {
			_, _, err := w.Platform.CreateAgent(ctx, ann, platform.NewAgent{Name: "BOT"})
			return err
		},
		"an agent with a long persona": func() error {
			_, _, err := w.Platform.CreateAgent(ctx, ann, platform.NewAgent{Name: "bot2", Personality: long})
			return err
		},
		"a program whose name is taken": func() error {
			_, err := w.Platform.RegisterAgent(ctx, platform.SelfRegistration{Name: "bot"})
			return err
		},
		"an agency with a long charter": func() error {
			_, err := w.Platform.CreateAgency(ctx, ann, agency.NewAgency{Name: "New", Charter: &long})
			return err
		},
		"an agency whose slug is taken": func() error {
			_, err := w.Platform.CreateAgency(ctx, ann, agency.NewAgency{Name: "New", Slug: "room"})
			return err
		},
	} {
		if err := create(); err == nil {
			t.Errorf("%s was made", what)
		}
		if n := streams(); n != before {
			t.Errorf("%s left %d streams", what, n-before)
			before = n
		}
	}
	if v, err := w.Platform.CreateAgency(ctx, ann, agency.NewAgency{Name: "Room"}); err != nil || v.Slug != "room-2" || room == v.ID {
		t.Errorf("%+v, %v", v, err)
	}
}
