package platform_test

import (
	"encoding/json"
	"fmt"
	"sync"
	"testing"

	"parley/actors/account"
	"parley/actors/actortest"
	"parley/actors/agency"
	"parley/actors/kernel"
	"parley/actors/platform"
	"parley/persistence"
)

const lobby = agency.LobbyID

// owns lists the agents of an account.
func owns(w *actortest.World, id *platform.Identity) []string {
	w.T.Helper()
	views, err := w.Platform.Agents(ctx, id)
	if err != nil {
		w.T.Fatal(err)
	}
	var names []string
	for _, v := range views {
		names = append(names, v.Username)
	}
	return names
}

func TestTransfer(t *testing.T) {
	w := actortest.New(t)
	ann, bob := w.User("ann"), w.User("Bob")
	bot, token := makeAgent(w, ann, "bot")
	other, _ := makeAgent(w, ann, "other")
	_, socket := w.Connect(bot)
	for what, c := range map[string]struct {
		by   *platform.Identity
		of   string
		to   platform.NewOwner
		code kernel.Code
	}{
		"by a stranger": {bob, bot.ID, platform.NewOwner{ID: bob.ID}, kernel.CodeForbidden},
		"by the agent":  {bot, bot.ID, platform.NewOwner{ID: bob.ID}, kernel.CodeForbidden},
		"to nobody":     {ann, bot.ID, platform.NewOwner{ID: "none"}, kernel.CodeNotFound},
		"to an odd id":  {ann, bot.ID, platform.NewOwner{ID: "a/b"}, kernel.CodeNotFound},
		"to no name":    {ann, bot.ID, platform.NewOwner{Username: "none"}, kernel.CodeNotFound},
		"to an agent":   {ann, bot.ID, platform.NewOwner{ID: other.ID}, kernel.CodeNotFound},
		"to itself":     {ann, bot.ID, platform.NewOwner{Username: "bot"}, kernel.CodeNotFound},
		"to oneself":    {ann, bot.ID, platform.NewOwner{Username: "ANN"}, kernel.CodeInvalid},
		"of a user":     {ann, ann.ID, platform.NewOwner{ID: bob.ID}, kernel.CodeNotFound},
		"of nobody":     {ann, "none", platform.NewOwner{ID: bob.ID}, kernel.CodeNotFound},
		"the id wins":   {ann, bot.ID, platform.NewOwner{ID: "none", Username: "bob"}, kernel.CodeNotFound},
	} {
		_, _, err := w.Platform.TransferAgent(ctx, c.by, c.of, c.to)
		actortest.Wants(t, what, err, c.code)
	}
	agent, owner, err := w.Platform.TransferAgent(ctx, ann, bot.ID, platform.NewOwner{Username: "bob"})
	if err != nil || agent.ID != bot.ID || owner.ID != bob.ID || owner.Username != "Bob" {
		t.Fatal(agent, owner, err)
	}
	if got := fmt.Sprint(owns(w, ann), owns(w, bob)); got != "[other] [bot]" {
		t.Errorf("the lists of both: %s", got)
	}
	if socket.Revocations() != 0 {
		t.Error("the agent was disconnected")
	}
	_, err = w.Platform.SetAgentConfig(ctx, ann, bot.ID, "", fields(t, `{"a":"b"}`))
	actortest.Wants(t, "the old owner configures", err, kernel.CodeForbidden)
	if _, repeated, err := w.Platform.VerifyAgent(ctx, bob, bot.ID); err != nil || repeated != token {
		t.Errorf("the new owner verifies: %q, %v", repeated, err)
	}
	if _, _, err := w.Platform.ExchangeAgentToken(ctx, token); err != nil {
		t.Errorf("the token after the transfer: %v", err)
	}
	w.Restart()
	if got := fmt.Sprint(owns(w, ann), owns(w, bob)); got != "[other] [bot]" || outbox(w) != 0 {
		t.Errorf("after a restart: %s, %d errands", got, outbox(w))
	}
}

func TestDeleteAgent(t *testing.T) {
	w := actortest.New(t)
	ann, bob := w.User("ann"), w.User("bob")
	bot, token := makeAgent(w, ann, "bot")
	if _, _, err := w.Platform.VerifyAgent(ctx, ann, bot.ID); err != nil {
		t.Fatal(err)
	}
	session, _, err := w.Platform.ExchangeAgentToken(ctx, token)
	if err != nil {
		t.Fatal(err)
	}
	_, socket := w.Connect(bot)
	before := counters(w)
	actortest.Wants(t, "by a stranger", w.Platform.DeleteAgent(ctx, bob, bot.ID), kernel.CodeForbidden)
	actortest.Wants(t, "by the agent", w.Platform.DeleteAgent(ctx, bot, bot.ID), kernel.CodeForbidden)
	actortest.Wants(t, "a user", w.Platform.DeleteAgent(ctx, ann, ann.ID), kernel.CodeNotFound)
	if err := w.Platform.DeleteAgent(ctx, ann, bot.ID); err != nil {
		t.Fatal(err)
	}
	actortest.Wants(t, "again", w.Platform.DeleteAgent(ctx, ann, bot.ID), kernel.CodeNotFound)
	_, err = w.Platform.Authenticate(ctx, session)
	actortest.Wants(t, "its session", err, kernel.CodeUnauthorized)
	_, _, err = w.Platform.ExchangeAgentToken(ctx, token)
	actortest.Wants(t, "its token", err, kernel.CodeUnauthorized)
	after := counters(w)
	if len(owns(w, ann)) != 0 || socket.Revocations() != 1 || after[persistence.CountAgents] != before[persistence.CountAgents]-1 ||
		after[persistence.CountMemberships] != before[persistence.CountMemberships]-1 || outbox(w) != 0 {
		t.Errorf("left behind: %v, %d, %v, %v", owns(w, ann), socket.Revocations(), before, after)
	}
	if _, _, err := w.Platform.CreateAgent(ctx, ann, platform.NewAgent{Name: "bot"}); err != nil {
		t.Errorf("its name: %v", err)
	}
}

// checkOwners compares every agent's owner with the lists, and wants no agent without an owner that is there.
func checkOwners(t *testing.T, w *actortest.World) {
	t.Helper()
	rows, err := w.Store.Documents(ctx, persistence.CollectionAccount, persistence.Range{})
	if err != nil {
		t.Fatal(err)
	}
	agents := 0
	for _, r := range rows {
		p, err := account.DecodeProfile(r.Data)
		if err != nil {
			t.Fatal(err)
		}
		if p.Type != account.Agent || p.OwnerID == "" {
			continue
		}
		agents++
		if _, err := w.Platform.Profile(ctx, p.OwnerID); err != nil {
			t.Errorf("%s belongs to %s: %v", p.Username, p.OwnerID, err)
		}
		if _, err := w.Store.Document(ctx, persistence.CollectionOwned, persistence.Key(p.OwnerID, p.ID)); err != nil {
			t.Errorf("%s is not in its owner's list: %v", p.Username, err)
		}
	}
	if lists, err := w.Store.Documents(ctx, persistence.CollectionOwned, persistence.Range{}); err != nil || len(lists) != agents {
		t.Errorf("%d entries in owners' lists, %d owned agents, %v", len(lists), agents, err)
	}
}

// Two transfers at once, and transfers while the agent, its owner or its new owner is being deleted.
func TestTransferRaces(t *testing.T) {
	w := actortest.New(t)
	for round := range 12 {
		name := func(who string) string { return fmt.Sprint(who, round) }
		ann, bob, eve := w.User(name("ann")), w.User(name("bob")), w.User(name("eve"))
		bot, _ := makeAgent(w, ann, name("bot"))
		bird, _ := makeAgent(w, ann, name("bird"))
		fish, _ := makeAgent(w, ann, name("fish"))
		var mu sync.Mutex
		won := 0
		var wg sync.WaitGroup
		for _, to := range []*platform.Identity{bob, eve} {
			wg.Go(func() {
				if _, _, err := w.Platform.TransferAgent(ctx, ann, bot.ID, platform.NewOwner{ID: to.ID}); err == nil {
					mu.Lock()
					won++
					mu.Unlock()
				} else if code, _ := actortest.Code(err); code != kernel.CodeForbidden && (code != kernel.CodeNotFound || to != bob || round%2 != 0) {
					t.Errorf("the second transfer: %v", err)
				}
			})
		}
		wg.Go(func() { // to somebody who is being deleted
			_, _, _ = w.Platform.TransferAgent(ctx, ann, bird.ID, platform.NewOwner{ID: bob.ID})
		})
		wg.Go(func() { // of an agent that is being deleted
			_, _, _ = w.Platform.TransferAgent(ctx, ann, fish.ID, platform.NewOwner{ID: eve.ID})
		})
		wg.Go(func() { _ = w.Platform.DeleteAgent(ctx, ann, fish.ID) })
		if round%2 == 0 {
			wg.Go(func() {
				if err := w.Platform.DeleteAccount(ctx, bob, nil); err != nil {
					t.Errorf("bob is deleted: %v", err)
				}
			})
		}
		wg.Wait()
		if won != 1 && (round%2 != 0 || won != 0) {
			t.Errorf("%d transfers of one agent went well", won)
		}
	}
	w.Restart()
	runErrands(w)
	checkOwners(t, w)
	checkBooks(t, w)
}

// An owner who is deleted between a transfer's commit and what follows from it takes the agent along, also after a crash.
func TestTransferToTheDeleted(t *testing.T) {
	w := actortest.New(t)
	ann, bob := w.User("ann"), w.User("bob")
	bot, _ := makeAgent(w, ann, "bot")
	if err := w.Platform.DeleteAccount(ctx, bob, nil); err != nil {
		t.Fatal(err)
	}
	promise, _ := json.Marshal(map[string]any{"k": "adopt", "w": account.Sender{ID: bot.ID}, "o": bob.ID})
	if _, err := kernel.Ask[*account.Profile](ctx, w.Local, account.Ref(bot.ID), account.Transfer{By: ann.ID, To: bob.ID,
		Outbox: []persistence.OutboxOp{{ID: "adopt/" + bot.ID + "/" + bob.ID, Data: promise}}}); err != nil {
		t.Fatal(err)
	}
	w.Crash()
	runErrands(w)
	_, err := w.Platform.Profile(ctx, bot.ID)
	actortest.Wants(t, "the agent", err, kernel.CodeNotFound)
	checkOwners(t, w)
	checkBooks(t, w)
}

func TestAddAgent(t *testing.T) {
	w := actortest.New(t)
	ann, bob, eve := w.User("ann"), w.User("bob"), w.User("eve")
	room := w.Room(bob, "Room", true)
	w.Join(room, ann)
	bot, _ := makeAgent(w, ann, "bot")
	_, socket := w.Connect(bot)
	wild, err := w.Platform.RegisterAgent(ctx, platform.SelfRegistration{Name: "wild"})
	if err != nil {
		t.Fatal(err)
	}
	add := func(id *platform.Identity, a platform.AddedAgent) error {
		_, err := w.Platform.AddAgent(ctx, id, room, a)
		return err
	}
	allow := func(body string) {
		t.Helper()
		if _, err := w.Platform.SetAgentConfig(ctx, ann, bot.ID, "", fields(t, body)); err != nil {
			t.Fatal(err)
		}
	}
	actortest.Wants(t, "an outsider", add(eve, platform.AddedAgent{AgentID: bot.ID}), kernel.CodeNotFound)
	actortest.Wants(t, "another's agent", add(bob, platform.AddedAgent{AgentID: bot.ID}), kernel.CodeForbidden)
	allow(`{"agency_addable":false}`)
	actortest.Wants(t, "another's agent that may not", add(bob, platform.AddedAgent{Username: "BOT"}), kernel.CodeForbidden)
	actortest.Wants(t, "a user", add(bob, platform.AddedAgent{Username: "eve"}), kernel.CodeNotFound)
	actortest.Wants(t, "nobody", add(bob, platform.AddedAgent{AgentID: "none"}), kernel.CodeNotFound)
	actortest.Wants(t, "no such name", add(bob, platform.AddedAgent{Username: "none"}), kernel.CodeNotFound)
	if len(socket.Events()) != 0 {
		t.Fatalf("events before: %v", socket.Events())
	}
	allow(`{"agency_addable":true}`)
	added, err := w.Platform.AddAgent(ctx, bob, room, platform.AddedAgent{Username: "bot"})
	if err != nil || added.Agent.ID != bot.ID || added.Agency.MemberCount != 3 || *added.Agency.Role != agency.Owner || added.Token != "" {
		t.Fatal(added, err)
	}
	events := socket.Named(platform.EventAgencyInvited)
	if len(events) != 1 {
		t.Fatalf("%d invitations", len(events))
	}
	var invited struct {
		AgencyID string `json:"agencyId"`
		Agency   struct{ ID, Name, Slug string }
	}
	if err := json.Unmarshal(events[0].Data, &invited); err != nil || invited.AgencyID != room || invited.Agency.ID != room ||
		invited.Agency.Name != "Room" || invited.Agency.Slug != "room" {
		t.Errorf("%s, %v", events[0].Data, err)
	}
	if v, err := w.Platform.Agency(ctx, bot, room); err != nil || !v.IsMember || *v.Role != agency.AgentRole {
		t.Errorf("the agent's view: %+v, %v", v, err)
	}
	if err := add(ann, platform.AddedAgent{AgentID: bot.ID}); err != nil || len(socket.Named(platform.EventAgencyInvited)) != 1 {
		t.Errorf("one who is there already: %v", err)
	}
	if err := add(ann, platform.AddedAgent{AgentID: wild.Agent.ID}); err != nil {
		t.Errorf("an unclaimed agent: %v", err)
	}
	made, err := w.Platform.AddAgent(ctx, ann, room, platform.AddedAgent{New: platform.NewAgent{Name: "new-one", Role: "r"}})
	if err != nil || made.Token == "" || made.Agent.OwnerID != ann.ID || made.Agency.MemberCount != 5 {
		t.Errorf("a new one: %+v, %v", made, err)
	}
	checkBooks(t, w)
}

// An agent that is added while it is deleted is a member of nothing afterwards.
func TestAddingTheDeleted(t *testing.T) {
	w := actortest.New(t)
	ann := w.User("ann")
	room := w.Room(ann, "Room", false)
	for i := range 20 {
		bot, _ := makeAgent(w, ann, fmt.Sprint("bot", i))
		var wg sync.WaitGroup
		wg.Go(func() { _, _ = w.Platform.AddAgent(ctx, ann, room, platform.AddedAgent{AgentID: bot.ID}) })
		wg.Go(func() {
			if err := w.Platform.DeleteAgent(ctx, ann, bot.ID); err != nil {
				t.Error(err)
			}
		})
		wg.Wait()
	}
	runErrands(w)
	checkBooks(t, w)
}
