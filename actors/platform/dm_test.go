package platform_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"parley/actors/account"
	"parley/actors/actortest"
	"parley/actors/agency"
	"parley/actors/kernel"
	"parley/actors/mirror"
	"parley/actors/platform"
	"parley/actors/session"
	"parley/persistence"
)

// openDM opens a direct message and returns its id.
func openDM(w *actortest.World, who, other *platform.Identity) string {
	w.T.Helper()
	v, _, err := w.Platform.OpenDM(ctx, who, other.ID)
	if err != nil {
		w.T.Fatal(err)
	}
	return v.ID
}

// listed returns the other sides of an account's direct messages as they are listed.
func listedDMs(w *actortest.World, who *platform.Identity) []string {
	w.T.Helper()
	views, err := w.Platform.DMs(ctx, who, 0, 0)
	if err != nil {
		w.T.Fatal(err)
	}
	names := make([]string, len(views))
	for i, v := range views {
		names[i] = v.Participant.Username
	}
	return names
}

func said(w *actortest.World, who *platform.Identity, dm string) []string {
	w.T.Helper()
	page, err := w.Platform.DMMessages(ctx, who, dm, platform.History{Ascending: true})
	if err != nil {
		w.T.Fatal(err)
	}
	texts := make([]string, len(page))
	for i, doc := range page {
		m, err := agency.DecodeMessage(doc)
		if err != nil || !m.DM || m.AgencyID2 != dm {
			w.T.Fatalf("%s, %v", doc, err)
		}
		texts[i] = m.Content
	}
	return texts
}

func TestOpenDM(t *testing.T) {
	w := actortest.New(t)
	ann, bob := w.User("Ann"), w.User("bob")
	before, err := w.Platform.Totals(ctx)
	if err != nil {
		t.Fatal(err)
	}
	v, made, err := w.Platform.OpenDM(ctx, ann, bob.ID)
	if err != nil || !made || v.ID != agency.DMID(bob.ID, ann.ID) || v.AgencyID != v.ID || v.AgencyID2 != v.ID || v.Participant.Username != "bob" ||
		v.LastMessage != nil || v.Participant.ID != bob.ID {
		t.Fatal(v, made, err)
	}
	again, made, err := w.Platform.OpenDM(ctx, bob, ann.ID)
	if err != nil || made || again.ID != v.ID || again.Participant.Username != "Ann" {
		t.Errorf("%+v, %t, %v", again, made, err)
	}
	_, _, err = w.Platform.OpenDM(ctx, ann, ann.ID)
	actortest.Wants(t, "with oneself", err, kernel.CodeInvalid)
	for _, id := range []string{"nobody", "", "a/b", v.ID, agency.LobbyID} {
		_, _, err = w.Platform.OpenDM(ctx, ann, id)
		actortest.Wants(t, "with "+id, err, kernel.CodeNotFound)
	}
	after, err := w.Platform.Totals(ctx)
	if err != nil || after != before {
		t.Errorf("the totals were %+v and are %+v, %v", before, after, err)
	}
	w.Post(ann, v.ID, "hi")
	w.Crash()
	if got := said(w, bob, v.ID); !slices.Equal(got, []string{"hi"}) {
		t.Errorf("%q", got)
	}
	n, err := w.Platform.PendingErrands(ctx)
	if err != nil || n != 0 {
		t.Errorf("%d errands wait, %v", n, err)
	}
}

// TestOpenDMAtOnce: both open, often, and there is one.
func TestOpenDMAtOnce(t *testing.T) {
	w := actortest.New(t)
	ann, bob := w.User("ann"), w.User("bob")
	var wg sync.WaitGroup
	var mu sync.Mutex
	ids, made := map[string]bool{}, 0
	for i := range 20 {
		wg.Go(func() {
			who, other := ann, bob
			if i%2 == 1 {
				who, other = bob, ann
			}
			v, m, err := w.Platform.OpenDM(ctx, who, other.ID)
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			ids[v.ID] = true
			if m {
				made++
			}
		})
	}
	wg.Wait()
	if len(ids) != 1 || made != 1 || len(listedDMs(w, ann)) != 1 || len(listedDMs(w, bob)) != 1 {
		t.Errorf("%v, made %d times, %v, %v", ids, made, listedDMs(w, ann), listedDMs(w, bob))
	}
}

// TestDMIsNoRoom: nobody else sees it, no list of agencies has it, and what is for rooms is refused.
func TestDMIsNoRoom(t *testing.T) {
	w := actortest.New(t)
	ann, bob, eve := w.User("ann"), w.User("bob"), w.User("eve")
	p, dm := w.Platform, openDM(w, ann, bob)
	m := w.Post(ann, dm, "hi")
	for _, who := range []*platform.Identity{ann, bob, eve} {
		list, err := p.Agencies(ctx, who, 0, 0)
		if err != nil || slices.ContainsFunc(list, func(v agency.View) bool { return v.ID == dm }) {
			t.Errorf("%s lists %v, %v", who.Username, list, err)
		}
	}
	v, err := p.Agency(ctx, ann, dm)
	if err != nil || v.Type != "dm" || v.Name != "DM:bob" || v.Slug == "" || !v.Private || v.MemberCount != 2 || *v.Role != agency.Member {
		t.Fatalf("%+v, %v", v, err)
	}
	_, err = p.AgencyBySlug(ctx, ann, v.Slug)
	actortest.Wants(t, "lookup", err, kernel.CodeNotFound)
	if v, err = p.Join(ctx, bob, dm); err != nil || v.Name != "DM:ann" {
		t.Errorf("a side joins: %+v, %v", v, err)
	}
	if members, err := p.Members(ctx, bob, dm, 0, ""); err != nil || len(members) != 2 {
		t.Errorf("members are %v, %v", members, err)
	}
	yes := true
	w.Join(agency.LobbyID, ann)
	bot, _, err := p.CreateAgent(ctx, ann, platform.NewAgent{Name: "bot"})
	if err != nil {
		t.Fatal(err)
	}
	forRooms := map[string]func(who *platform.Identity) error{
		"leave":  func(who *platform.Identity) error { return p.Leave(ctx, who, dm) },
		"delete": func(who *platform.Identity) error { return p.DeleteAgency(ctx, who, dm) },
		"update": func(who *platform.Identity) error {
			_, err := p.UpdateAgency(ctx, who, dm, agency.Update{Private: &yes})
			return err
		},
		"role":   func(who *platform.Identity) error { _, err := p.SetRole(ctx, who, dm, bob.ID, "admin"); return err },
		"demote": func(who *platform.Identity) error { _, err := p.SetRole(ctx, who, dm, who.ID, "member"); return err },
		"kick":   func(who *platform.Identity) error { return p.Kick(ctx, who, dm, ann.ID, "") },
		"ban":    func(who *platform.Identity) error { _, err := p.Ban(ctx, who, dm, eve.ID, "", ""); return err },
		"unban":  func(who *platform.Identity) error { return p.Unban(ctx, who, dm, eve.ID) },
		"bans":   func(who *platform.Identity) error { _, err := p.Bans(ctx, who, dm, 0, ""); return err },
		"invite": func(who *platform.Identity) error { _, err := p.CreateInvite(ctx, who, dm, nil, ""); return err },
		"invites": func(who *platform.Identity) error {
			_, err := p.Invites(ctx, who, dm)
			return err
		},
		"revoke": func(who *platform.Identity) error { return p.RevokeInvite(ctx, who, dm, agency.NewInviteCode()) },
		"transfer": func(who *platform.Identity) error {
			_, _, err := p.TransferAgency(ctx, who, dm, bob.ID, "")
			return err
		},
		"add an agent": func(who *platform.Identity) error {
			_, err := p.AddAgent(ctx, who, dm, platform.AddedAgent{AgentID: bot.ID})
			return err
		},
		"add a new agent": func(who *platform.Identity) error {
			_, err := p.AddAgent(ctx, who, dm, platform.AddedAgent{New: platform.NewAgent{Name: "another"}})
			return err
		},
		"create an agent": func(who *platform.Identity) error {
			_, _, err := p.CreateAgent(ctx, who, platform.NewAgent{Name: "another", AgencyID: dm})
			return err
		},
		"delete the other's message": func(who *platform.Identity) error {
			if who == ann {
				return kernel.Forbidden("it is one's own")
			}
			return p.DeleteMessage(ctx, who, dm, m.ID)
		},
	}
	forStrangers := map[string]func(who *platform.Identity) error{
		"get":     func(who *platform.Identity) error { _, err := p.Agency(ctx, who, dm); return err },
		"join":    func(who *platform.Identity) error { _, err := p.Join(ctx, who, dm); return err },
		"members": func(who *platform.Identity) error { _, err := p.Members(ctx, who, dm, 0, ""); return err },
		"history": func(who *platform.Identity) error { _, err := p.Messages(ctx, who, dm, platform.History{}); return err },
		"messages": func(who *platform.Identity) error {
			_, err := p.DMMessages(ctx, who, dm, platform.History{})
			return err
		},
		"command": func(who *platform.Identity) error { _, err := p.Command(ctx, who, dm, "/x"); return err },
		"post": func(who *platform.Identity) error {
			_, _, err := p.Post(ctx, who, dm, agency.NewMessage{Content: "x"})
			return err
		},
		"edit":  func(who *platform.Identity) error { _, err := p.EditMessage(ctx, who, dm, m.ID, "x"); return err },
		"react": func(who *platform.Identity) error { _, err := p.React(ctx, who, dm, m.ID, "👍", false); return err },
		"hide":  func(who *platform.Identity) error { return p.HideDM(ctx, who, dm) },
		"purge": func(who *platform.Identity) error { return p.PurgeDM(ctx, who, dm) },
	}
	for name, act := range forRooms {
		actortest.Wants(t, name+" by a side", act(bob), kernel.CodeForbidden)
		actortest.Wants(t, name+" by the other side", act(ann), kernel.CodeForbidden)
		actortest.Wants(t, name+" by a stranger", act(eve), kernel.CodeNotFound)
	}
	for name, act := range forStrangers {
		actortest.Wants(t, name+" by a stranger", act(eve), kernel.CodeNotFound)
	}
	room := w.Room(ann, "Room", false)
	_, err = p.DMMessages(ctx, ann, room, platform.History{})
	actortest.Wants(t, "messages of a room", err, kernel.CodeNotFound)
	actortest.Wants(t, "purge a room", p.PurgeDM(ctx, ann, room), kernel.CodeNotFound)
	actortest.Wants(t, "hide a room", p.HideDM(ctx, ann, room), kernel.CodeNotFound)
	actortest.Wants(t, "hide an odd id", p.HideDM(ctx, ann, "a/b"), kernel.CodeNotFound)
	_, err = kernel.Ask[*agency.Entered](ctx, w.Local, agency.Ref(dm), agency.AddMember{Who: eve.Sender})
	actortest.Wants(t, "the server adds somebody", err, kernel.CodeForbidden)
	if got := said(w, bob, dm); !slices.Equal(got, []string{"hi"}) || len(listedDMs(w, ann)) != 1 {
		t.Errorf("after all that: %q", got)
	}
}

func gone(err error) bool { code, ok := actortest.Code(err); return ok && code == kernel.CodeNotFound }

func TestDMList(t *testing.T) {
	w := actortest.New(t)
	ann := w.User("ann")
	if got := listedDMs(w, ann); len(got) != 0 {
		t.Errorf("%v", got)
	}
	others := map[string]*platform.Identity{}
	dms := map[string]string{}
	for _, name := range []string{"bob", "cat", "dan"} {
		others[name] = w.User(name)
		dms[name] = openDM(w, ann, others[name])
		w.Clock.Advance(1e9)
	}
	wants := func(when string, who *platform.Identity, want ...string) {
		t.Helper()
		if got := listedDMs(w, who); !slices.Equal(got, want) {
			t.Errorf("%s: %s lists %v, want %v", when, who.Username, got, want)
		}
	}
	wants("made", ann, "dan", "cat", "bob")
	w.Post(others["bob"], dms["bob"], strings.Repeat("é", platform.LastMessageLength+1))
	wants("bob spoke", ann, "bob", "dan", "cat")
	w.Clock.Advance(1e9)
	m := w.Post(ann, dms["cat"], "to cat")
	views, err := w.Platform.DMs(ctx, ann, 2, 0)
	if err != nil || len(views) != 2 || *views[0].LastMessage != "to cat" || *views[0].LastMessageAt != m.CreatedAt || len([]rune(*views[1].LastMessage)) != platform.LastMessageLength {
		t.Errorf("%+v, %v", views, err)
	}
	hide := func(who *platform.Identity, dm string) {
		t.Helper()
		if err := w.Platform.HideDM(ctx, who, dm); err != nil {
			t.Fatal(err)
		}
	}
	hide(ann, dms["cat"])
	wants("cat hidden", ann, "bob", "dan")
	wants("cat hidden", others["cat"], "ann")
	if _, err := w.Platform.React(ctx, others["cat"], dms["cat"], m.ID, "👍", false); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Platform.EditMessage(ctx, ann, dms["cat"], m.ID, "edited"); err != nil {
		t.Fatal(err)
	}
	w.Restart()
	wants("a reaction and an edit are no messages", ann, "bob", "dan")
	w.Clock.Advance(1e9)
	w.Post(others["cat"], dms["cat"], "back")
	wants("cat spoke", ann, "cat", "bob", "dan")
	if got := said(w, ann, dms["cat"]); len(got) != 2 {
		t.Errorf("what was before is lost: %q", got)
	}
	hide(ann, dms["cat"])
	hide(ann, dms["dan"])
	wants("both hidden", ann, "bob")
	openDM(w, others["dan"], ann)
	wants("opened by the other side", ann, "bob")
	openDM(w, ann, others["dan"])
	wants("opened by oneself", ann, "bob", "dan")
}

func TestMostOpenedDMs(t *testing.T) {
	w := actortest.New(t)
	ann, bob, cat := w.User("ann"), w.User("bob"), w.User("cat")
	openDM(w, ann, bob)
	stream := persistence.Stream("test", "x")
	lease, err := w.Store.Acquire(ctx, stream, 0)
	if err != nil {
		t.Fatal(err)
	}
	b := &persistence.Batch{Stream: stream, Epoch: lease.Epoch}
	for i := range platform.MaxOpenedDMs - 1 {
		b.Documents = append(b.Documents, persistence.DocumentOp{Collection: persistence.CollectionOpenedDM, Key: fmt.Sprintf("%s/x%d", ann.ID, i), Data: []byte{}})
	}
	if err := w.Store.Append(ctx, []*persistence.Batch{b})[0]; err != nil {
		t.Fatal(err)
	}
	_, _, err = w.Platform.OpenDM(ctx, ann, cat.ID)
	actortest.Wants(t, "one more", err, kernel.CodeForbidden)
	if openDM(w, ann, bob) != openDM(w, bob, ann) {
		t.Error("one that is there can't be opened")
	}
	openDM(w, cat, ann)
	openDM(w, ann, cat)
}

// TestDMOfTheDeleted: the other side keeps it and sees a deleted account; with both gone nothing is left.
func TestDMOfTheDeleted(t *testing.T) {
	w := actortest.New(t)
	ann, bob := w.User("ann"), w.User("bob")
	dm := openDM(w, ann, bob)
	m := w.Post(ann, dm, "hi")
	w.Post(bob, dm, "hello")
	if err := w.Platform.DeleteAccount(ctx, ann, nil); err != nil {
		t.Fatal(err)
	}
	w.Crash()
	views, err := w.Platform.DMs(ctx, bob, 0, 0)
	if err != nil || len(views) != 1 || views[0].Participant.Username != "deleted" || !views[0].Participant.Deleted || views[0].Participant.ID != ann.ID ||
		*views[0].LastMessage != "hello" {
		t.Fatalf("%+v, %v", views, err)
	}
	if v, err := w.Platform.Agency(ctx, bob, dm); err != nil || v.Name != "DM:deleted" || v.MemberCount != 1 {
		t.Errorf("%+v, %v", v, err)
	}
	if got := said(w, bob, dm); !slices.Equal(got, []string{"hi", "hello"}) {
		t.Errorf("%q", got)
	}
	_, _, err = w.Platform.Post(ctx, bob, dm, agency.NewMessage{Content: "are you there?"})
	actortest.Wants(t, "a post to nobody", err, kernel.CodeForbidden)
	_, _, err = w.Platform.OpenDM(ctx, bob, ann.ID)
	actortest.Wants(t, "opening with the deleted", err, kernel.CodeNotFound)
	if _, err := w.Platform.React(ctx, bob, dm, m.ID, "👍", false); err != nil {
		t.Error(err)
	}
	if err := w.Platform.HideDM(ctx, bob, dm); err != nil || len(listedDMs(w, bob)) != 0 {
		t.Error(err, listedDMs(w, bob))
	}
	if err := w.Platform.DeleteAccount(ctx, bob, nil); err != nil {
		t.Fatal(err)
	}
	w.Restart() // the runner begins with what is promised
	w.Eventually("the end of the clean-up", func() bool { n, err := w.Platform.PendingErrands(ctx); return err == nil && n == 0 })
	for _, collection := range []string{persistence.CollectionDM, persistence.CollectionOpenedDM, persistence.CollectionAgency, persistence.CollectionMember,
		persistence.CollectionMessage, persistence.CollectionTally, persistence.CollectionReaction, persistence.CollectionMembership} {
		rows, err := w.Store.Documents(ctx, collection, persistence.Range{})
		if err != nil || slices.ContainsFunc(rows, func(d persistence.Document) bool { return strings.Contains(d.Key, dm) }) {
			t.Errorf("%s has %v, %v", collection, rows, err)
		}
	}
	if total, err := w.Platform.Totals(ctx); err != nil || total.Messages != 0 || total.Memberships != 0 || total.Agencies != 1 {
		t.Errorf("%+v, %v", total, err)
	}
}

// TestDMWithTheDeleted: an account that goes while it is made loses its side, also over a crash in between.
func TestDMWithTheDeleted(t *testing.T) {
	w := actortest.New(t)
	ann, bob := w.User("ann"), w.User("bob")
	if err := w.Platform.DeleteAccount(ctx, bob, nil); err != nil {
		t.Fatal(err)
	}
	dm := agency.DMID(ann.ID, bob.ID)
	late := fmt.Sprintf(`{"k":"meet","a":%q,"w":{"ID":%q},"o":%q}`, dm, ann.ID, bob.ID)
	_, err := kernel.Ask[*agency.OpenedDM](ctx, w.Local, agency.Ref(dm), agency.OpenDM{Who: ann.Sender, Other: bob.Sender,
		Outbox: []persistence.OutboxOp{{ID: "meet/" + ann.ID + "/" + dm, Data: []byte(late)}}})
	if err != nil {
		t.Fatal(err)
	}
	w.Crash()
	w.Eventually("the errand", func() bool { n, err := w.Platform.PendingErrands(ctx); return err == nil && n == 0 })
	if v, err := w.Platform.Agency(ctx, ann, dm); err != nil || v.MemberCount != 1 || v.Name != "DM:deleted" {
		t.Errorf("%+v, %v", v, err)
	}
}

// TestDMLive: sides join the room, strangers can't, and agents are sides like users.
func TestDMLive(t *testing.T) {
	w := actortest.New(t)
	ann, eve := w.User("ann"), w.User("eve")
	r, err := w.Platform.RegisterAgent(context.Background(), platform.SelfRegistration{Name: "bot"})
	if err != nil {
		t.Fatal(err)
	}
	bot := &platform.Identity{Sender: r.Agent.Sender()}
	dm := openDM(w, bot, ann)
	s, socket := w.Connect(bot)
	stranger, _ := w.Connect(eve)
	if _, err := actortest.Do(s, session.Join{AgencyID: dm}); err != nil {
		t.Fatal(err)
	}
	_, err = actortest.Do(stranger, session.Join{AgencyID: dm})
	actortest.Wants(t, "a stranger joins", err, kernel.CodeNotFound)
	joined := socket.Named(mirror.EventAgencyJoined)[0]
	if !strings.Contains(string(joined.Data), `"name":"DM:ann"`) || !strings.Contains(string(joined.Data), `"role":"agent"`) {
		t.Errorf("%s", joined.Data)
	}
	w.Post(ann, dm, "hello bot")
	w.Eventually("the message", func() bool { return len(socket.Named(agency.EventMessage)) == 1 })
	if got := string(socket.Named(agency.EventMessage)[0].Data); !strings.Contains(got, `"dm":true`) || !strings.Contains(got, `"agencyId":"`+dm+`"`) {
		t.Errorf("%s", got)
	}
	if err := w.Platform.DeleteAccount(ctx, ann, nil); err != nil {
		t.Fatal(err)
	}
	if got, err := w.Platform.DMs(ctx, bot, 0, 0); err != nil || got[0].Participant.Type != account.User || !got[0].Participant.Deleted {
		t.Errorf("%+v, %v", got, err)
	}
}
