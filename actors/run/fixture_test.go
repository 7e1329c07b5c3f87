package run_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/uuid"

	"parley/actors/actortest"
	"parley/actors/agency"
	"parley/actors/platform"
	"parley/actors/run"
)

var ctx = context.Background()

// stage is a room with all who have to do with a run.
type stage struct {
	*actortest.World
	room                                                string
	boss, mod, owner, asker, member, stranger, bot, rob *platform.Identity
	trigger                                             *agency.Message
}

// set makes a room whose owner is boss; bot is owner's agent and rob an agent of its own, both members, as is owner.
func set(t testing.TB, private bool) *stage {
	t.Helper()
	return over(actortest.New(t), private)
}

func over(w *actortest.World, private bool) *stage {
	w.T.Helper()
	s := &stage{World: w}
	for name, id := range map[string]**platform.Identity{"boss": &s.boss, "mod": &s.mod, "owner": &s.owner, "asker": &s.asker,
		"member": &s.member, "stranger": &s.stranger} {
		*id = w.User(name)
	}
	s.room = w.Room(s.boss, "Room", private)
	w.Join(s.room, s.mod, s.owner, s.asker, s.member)
	_, err := w.Platform.SetRole(ctx, s.boss, s.room, s.mod.ID, "moderator")
	s.must(err)
	s.bot, s.rob = s.agent("bot"), s.agent("rob")
	s.trigger = w.Post(s.asker, s.room, "@bot do it")
	s.Relays.Take()
	return s
}

// agent makes an agent of owner's in the room.
func (s *stage) agent(name string) *platform.Identity {
	s.T.Helper()
	p, _, err := s.Platform.CreateAgent(ctx, s.owner, platform.NewAgent{Name: name, AgencyID: s.room})
	s.must(err)
	return &platform.Identity{Sender: p.Sender(), Session: "s-" + name}
}

func (s *stage) must(err error) {
	s.T.Helper()
	if err != nil {
		s.T.Fatal(err)
	}
}

// start begins a run of bot's that asker triggered.
func (s *stage) start() string {
	s.T.Helper()
	id := uuid.NewString()
	s.must(s.Platform.StartRun(ctx, s.bot, id, s.room, s.trigger.ID))
	s.told(id)
	return id
}

func (s *stage) act(who *platform.Identity, id string, what any) error {
	err := s.Platform.ActRun(ctx, who, id, what)
	s.told(id)
	return err
}

// told waits until the run has told the room and the agent of what it answered before.
func (s *stage) told(ids ...string) {
	for _, id := range ids {
		_ = s.Platform.ActRun(ctx, s.stranger, id, run.Status{}) // refused behind it
	}
}

// does is act of bot's that succeeds.
func (s *stage) does(id string, what any) {
	s.T.Helper()
	if err := s.act(s.bot, id, what); err != nil {
		s.T.Fatalf("%T: %v", what, err)
	}
}

// detail reads a run as boss.
func (s *stage) detail(id string) *platform.RunDetail {
	s.T.Helper()
	d, err := s.Platform.Run(ctx, s.boss, id)
	s.must(err)
	return d
}

// kinds are the types of a transcript's entries.
func kinds(t testing.TB, transcript []byte) string {
	t.Helper()
	var list []struct{ Type string }
	if err := json.Unmarshal(transcript, &list); err != nil {
		t.Fatalf("%v in %.300s", err, transcript)
	}
	names := make([]string, len(list))
	for i, e := range list {
		names[i] = e.Type
	}
	return strings.Join(names, " ")
}

func names(events []actortest.Relayed) string {
	list := make([]string, len(events))
	for i, e := range events {
		list[i] = strings.TrimPrefix(e.Name, "agent-run-")
	}
	return strings.Join(list, " ")
}
