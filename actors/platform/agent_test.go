package platform_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"parley/actors/account"
	"parley/actors/actortest"
	"parley/actors/agency"
	"parley/actors/kernel"
	"parley/actors/platform"
	"parley/persistence"
)

func TestSelfRegistration(t *testing.T) {
	w := actortest.New(t)
	r, err := w.Platform.RegisterAgent(ctx, platform.SelfRegistration{Name: "Data Cruncher", Description: "counts", AgencyCharter: "be nice",
		ExtGateway: "https://gw.test", ExtToken: "super-secret"})
	if err != nil {
		t.Fatal(err)
	}
	if r.Agent.Username != "datacruncher" || !r.Agent.Verified || r.Agent.OwnerID != "" || r.Agent.Type != account.Agent {
		t.Errorf("agent: %+v", r.Agent)
	}
	if r.Agency.Name != "Data Cruncher's Agency" || r.Agency.Slug != "data-cruncher-s-agency" || r.Agency.MemberCount != 1 || *r.Agency.Role != agency.Owner {
		t.Errorf("agency: %+v", r.Agency)
	}
	if r.ClaimURL != "https://web.test/claim/"+r.ClaimCode || len(r.ClaimCode) < 16 || !strings.HasPrefix(r.Token, "sk_") {
		t.Errorf("%s, %s", r.ClaimURL, r.Token)
	}
	token, p, err := w.Platform.ExchangeAgentToken(ctx, r.Token)
	if err != nil || p.ID != r.Agent.ID {
		t.Fatal(p, err)
	}
	id := identify(w, token)
	if list, err := w.Platform.Agencies(ctx, id, 0, 0); err != nil || len(list) != 2 || !list[0].IsMember || !list[1].IsMember {
		t.Errorf("its agencies: %+v, %v", list, err)
	}
	actortest.Wants(t, "fresh login of an agent", w.Platform.DeleteAccount(ctx, id, nil), kernel.CodeForbidden)
	for _, c := range []struct {
		r    platform.SelfRegistration
		code kernel.Code
	}{
		{platform.SelfRegistration{Name: "data-cruncher"}, kernel.CodeTaken}, {platform.SelfRegistration{Name: " "}, kernel.CodeInvalid},
		{platform.SelfRegistration{Name: "x"}, kernel.CodeInvalid}, {platform.SelfRegistration{Name: "api"}, kernel.CodeInvalid},
		{platform.SelfRegistration{Name: "other", AgencyName: strings.Repeat("x", 101)}, kernel.CodeInvalid},
		{platform.SelfRegistration{Name: "other", AgencyCharter: strings.Repeat("x", 4001)}, kernel.CodeInvalid},
		{platform.SelfRegistration{Name: "other", Description: strings.Repeat("x", 2001)}, kernel.CodeInvalid},
	} {
		_, err := w.Platform.RegisterAgent(ctx, c.r)
		actortest.Wants(t, c.r.Name, err, c.code)
	}
	if c := counters(w); c[persistence.CountAgents] != 1 || c[persistence.CountUnclaimed] != 1 || outbox(w) != 0 {
		t.Errorf("counters: %v, %d promises", c, outbox(w))
	}
	events, err := w.Store.Events(ctx, persistence.Stream(persistence.StreamAccount, r.Agent.ID), 0, 10)
	if err != nil || len(events) == 0 {
		t.Fatal(err)
	}
	for _, ev := range events {
		if strings.Contains(string(ev.Data), "super-secret") || strings.Contains(string(ev.Data), r.Token) {
			t.Error("a secret is stored in clear")
		}
	}
}

func TestOwnedAgents(t *testing.T) {
	w := actortest.New(t)
	ann, _ := signUp(w, "ann")
	bob, _ := signUp(w, "bob")
	bot, token, err := w.Platform.CreateAgent(ctx, ann, platform.NewAgent{Name: "My-Bot_1", Role: "r", Personality: "p"})
	if err != nil || bot.Username != "my-bot_1" || bot.Verified || bot.OwnerID != ann.ID {
		t.Fatal(bot, err)
	}
	_, _, err = w.Platform.ExchangeAgentToken(ctx, token)
	actortest.Wants(t, "unverified", err, kernel.CodeForbidden)
	_, _, err = w.Platform.ExchangeAgentToken(ctx, token+"0")
	actortest.Wants(t, "bad token", err, kernel.CodeUnauthorized)
	_, _, err = w.Platform.VerifyAgent(ctx, bob, bot.ID)
	actortest.Wants(t, "verify by another", err, kernel.CodeForbidden)
	_, _, err = w.Platform.VerifyAgent(ctx, ann, bob.ID)
	actortest.Wants(t, "verify a user", err, kernel.CodeNotFound)
	_, _, err = w.Platform.VerifyAgent(ctx, ann, "none")
	actortest.Wants(t, "verify nobody", err, kernel.CodeNotFound)

	w.Clock.Advance(48 * time.Hour) // however long it takes to the first verification
	for range 2 {
		p, kept, err := w.Platform.VerifyAgent(ctx, ann, bot.ID)
		if err != nil || !p.Verified || kept != token {
			t.Fatal(p, kept, err)
		}
		w.Restart()
		w.Clock.Advance(23 * time.Hour)
	}
	w.Clock.Advance(2 * time.Hour)
	if _, kept, err := w.Platform.VerifyAgent(ctx, ann, bot.ID); err != nil || kept != "" {
		t.Errorf("a day after the first verification: %q, %v", kept, err)
	}
	session, _, err := w.Platform.ExchangeAgentToken(ctx, token)
	if err != nil {
		t.Fatal(err)
	}
	_, socket := w.Connect(identify(w, session))
	_, err = w.Platform.RegenerateAgentToken(ctx, bob, bot.ID)
	actortest.Wants(t, "regenerate by another", err, kernel.CodeForbidden)
	fresh, err := w.Platform.RegenerateAgentToken(ctx, ann, bot.ID)
	if err != nil || fresh == token {
		t.Fatal(err)
	}
	_, _, err = w.Platform.ExchangeAgentToken(ctx, token)
	actortest.Wants(t, "the old token", err, kernel.CodeUnauthorized)
	_, err = w.Platform.Authenticate(ctx, session)
	actortest.Wants(t, "a session of the old token", err, kernel.CodeUnauthorized)
	if socket.Revocations() != 1 {
		t.Errorf("the socket was told %d times", socket.Revocations())
	}
	if _, _, err := w.Platform.ExchangeAgentToken(ctx, fresh); err != nil {
		t.Error(err)
	}
}

func TestAgentsAreMadeInRooms(t *testing.T) {
	w := actortest.New(t)
	ann, _ := signUp(w, "ann")
	bob := w.User("bob")
	private := w.Room(ann, "Private", true)
	public := w.Room(ann, "Public", false)
	for _, c := range []struct {
		room string
		code kernel.Code
	}{{private, kernel.CodeNotFound}, {public, kernel.CodeForbidden}, {agency.LobbyID, kernel.CodeForbidden}, {"none", kernel.CodeNotFound}, {"a/b", kernel.CodeNotFound}} {
		_, _, err := w.Platform.CreateAgent(ctx, bob, platform.NewAgent{Name: "bot", AgencyID: c.room})
		actortest.Wants(t, c.room, err, c.code)
	}
	bot, _, err := w.Platform.CreateAgent(ctx, ann, platform.NewAgent{Name: "bot", AgencyID: private})
	if err != nil {
		t.Fatal(err)
	}
	members, err := w.Platform.Members(ctx, ann, private, 0, "")
	if err != nil || len(members) != 2 {
		t.Fatal(members, err)
	}
	for _, m := range members {
		if m.ID == bot.ID && (m.Role != agency.AgentRole || !m.IsAgent) {
			t.Errorf("%+v", m)
		}
	}
	views, err := w.Platform.Agents(ctx, ann)
	if err != nil || len(views) != 1 {
		t.Fatal(views, err)
	}
	var m map[string]any
	data, _ := json.Marshal(views[0])
	if json.Unmarshal(data, &m); m["status"] != "unverified" || m["ownerId"] != ann.ID || m["hasToken"] != true || m["username"] != "bot" {
		t.Errorf("%s", data)
	}
	_, _, err = w.Platform.CreateAgent(ctx, &platform.Identity{Sender: bot.Sender()}, platform.NewAgent{Name: "son"})
	actortest.Wants(t, "an agent's agent", err, kernel.CodeForbidden)
}

// What follows from a registration or a deletion survives the end of the server right behind the commit.
func TestErrandsSurviveACrash(t *testing.T) {
	w := actortest.New(t)
	ann := w.User("ann")
	room := w.Room(ann, "Room", false)
	bob := w.User("bob")
	w.Join(room, bob)
	for range 30 {
		w.Post(bob, room, "x")
	}
	lone := w.Room(ann, "Lone", false)
	promise := func(entry string, body map[string]any) persistence.OutboxOp {
		data, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		return persistence.OutboxOp{ID: entry, Data: data}
	}
	ask := func(ref kernel.Ref, command any) {
		t.Helper()
		if _, err := kernel.Ask[any](ctx, w.Local, ref, command); err != nil {
			t.Fatal(err)
		}
	}
	// The commands that the platform sends, without what it does behind them.
	ask(account.Ref("carl"), account.RegisterUser{Username: "carl", PasswordHash: "x", Session: account.NewSession{ID: "s", Hash: "h"},
		Outbox: []persistence.OutboxOp{promise("join/carl/"+agency.LobbyID, map[string]any{"k": "join", "a": agency.LobbyID, "w": account.Sender{ID: "carl"}})}})
	ask(account.Ref("bot"), account.RegisterAgent{Handle: "bot", Token: "t", ClaimCode: "c",
		Outbox: []persistence.OutboxOp{promise("found/bot", map[string]any{"k": "found", "a": "bots-room", "w": account.Sender{ID: "bot"}, "n": "Room"})}})
	ask(account.Ref(ann.ID), account.Delete{Outbox: []persistence.OutboxOp{promise("forget/"+ann.ID, map[string]any{"k": "forget", "w": ann.Sender})}})
	ask(account.Ref("dora"), account.RegisterUser{Username: "dora", PasswordHash: "x", Session: account.NewSession{ID: "s2", Hash: "h2"},
		Outbox: []persistence.OutboxOp{promise("unreadable", nil), {ID: "broken", Data: []byte("{")}}})
	w.Crash()
	w.Eventually("the errands of the earlier life", func() bool { return outbox(w) <= 3 })
	runReadableErrands(t, w)
	for id, where := range map[string]string{"carl": agency.LobbyID, "bot": "bots-room", bob.ID: room} {
		if v, err := w.Platform.Agency(ctx, &platform.Identity{Sender: account.Sender{ID: id}}, where); err != nil || !v.IsMember {
			t.Errorf("%s in %s: %+v, %v", id, where, v, err)
		}
	}
	if v, err := w.Platform.AgencyBySlug(ctx, &platform.Identity{Sender: account.Sender{ID: "bot"}}, "room-2"); err != nil || *v.Role != agency.Owner {
		t.Errorf("the agent's agency under the next free slug: %+v, %v", v, err)
	}
	if v, err := w.Platform.Agency(ctx, bob, room); err != nil || *v.Role != agency.Owner || v.MemberCount != 1 {
		t.Errorf("the heir: %+v, %v", v, err)
	}
	_, err := w.Platform.Agency(ctx, bob, lone)
	actortest.Wants(t, "an agency that nobody is left in", err, kernel.CodeNotFound)
	if c := counters(w); c[persistence.CountMemberships] != 3 || c[persistence.CountAgencies] != 3 || c[persistence.CountMessages] != 30 {
		t.Errorf("counters: %v", c)
	}
}

// runReadableErrands is runErrands where some cannot be read: it waits until only what cannot be read is left.
func runReadableErrands(t *testing.T, w *actortest.World) {
	t.Helper()
	p := w.NewPlatform()
	defer p.Close()
	w.Eventually("the end of all errands that can be read", func() bool {
		entries, err := w.Store.Outbox(ctx, "", 100)
		return err == nil && len(entries) == 2 && entries[0].ID == "broken"
	})
}
