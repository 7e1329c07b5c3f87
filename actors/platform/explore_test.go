package platform_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/actors/account"
	"parley/actors/actortest"
	"parley/actors/agency"
	"parley/actors/explore"
	"parley/actors/kernel"
	"parley/actors/platform"
	"parley/persistence"
)

func text(s string) *string { return &s }

// rowsOf reads a whole collection, by key.
func rowsOf(t *testing.T, w *actortest.World, collection string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for after := ""; ; {
		page, err := w.Store.Documents(ctx, collection, persistence.Range{After: after})
		if err != nil {
			t.Fatal(err)
		}
		if len(page) == 0 {
			return all
		}
		for _, d := range page {
			all[d.Key], after = string(d.Data), d.Key
		}
	}
}

// checkDirectory compares the directory with what it is made of: nothing more, nothing less, nothing else.
func checkDirectory(t *testing.T, w *actortest.World) {
	t.Helper()
	want := map[string]map[string]string{persistence.CollectionListing: {}, persistence.CollectionNewest: {}, persistence.CollectionTerm: {}, persistence.CollectionPublic: {}}
	add := func(e *explore.Entry) {
		for _, op := range explore.Change(nil, e) {
			want[op.Collection][op.Key] = string(op.Data)
		}
	}
	for _, doc := range rowsOf(t, w, persistence.CollectionAgency) {
		r, err := agency.DecodeRecord([]byte(doc))
		if err != nil {
			t.Fatal(err)
		}
		if r.Listed() {
			want[persistence.CollectionPublic][r.ID] = ""
		}
		add(agency.EntryOf(r))
	}
	for _, doc := range rowsOf(t, w, persistence.CollectionAccount) {
		p, err := account.DecodeProfile([]byte(doc))
		if err != nil {
			t.Fatal(err)
		}
		add(account.EntryOf(p))
	}
	for collection, rows := range want {
		got := rowsOf(t, w, collection)
		for key, data := range rows {
			if have, there := got[key]; !there || have != data {
				t.Errorf("%s lacks %s (%q, it has %q)", collection, key, data, have)
			}
			delete(got, key)
		}
		for key := range got {
			t.Errorf("%s still has %s", collection, key)
		}
	}
}

func slugs(t *testing.T, w *actortest.World, id *platform.Identity, g platform.Page) string {
	t.Helper()
	views, err := w.Platform.ExploreAgencies(ctx, id, g)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, v := range views {
		slug := v.Slug
		if v.IsMember {
			slug += "!"
		}
		out = append(out, slug)
	}
	return strings.Join(out, " ")
}

func names(t *testing.T, w *actortest.World, g platform.Page) string {
	t.Helper()
	profiles, err := w.Platform.ExploreUsers(ctx, g)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, p := range profiles {
		out = append(out, p.Username)
	}
	return strings.Join(out, " ")
}

func agents(t *testing.T, w *actortest.World, g platform.Page) string {
	t.Helper()
	cards, err := w.Platform.ExploreAgents(ctx, g)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, c := range cards {
		out = append(out, c.Username+"@"+c.AgencySlug)
	}
	return strings.Join(out, " ")
}

func same(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %q, want %q", what, got, want)
	}
}

func TestExploreAgencies(t *testing.T) {
	w := actortest.New(t)
	ann, bob := w.User("ann"), w.User("bob")
	reef := w.Room(ann, "Ann's Reef", false)
	w.Clock.Advance(time.Second)
	deep := w.Room(ann, "Deep Sea", false)
	w.Room(ann, "Secret Reef", true)
	w.Join(deep, bob)
	all := platform.Page{Limit: 20}
	same(t, "all, for nobody", slugs(t, w, nil, all), "deep-sea ann-s-reef lobby")
	same(t, "all, for bob", slugs(t, w, bob, all), "deep-sea! ann-s-reef lobby")
	same(t, "a page", slugs(t, w, ann, platform.Page{Limit: 1, Offset: 1}), "ann-s-reef!")
	same(t, "behind the end", slugs(t, w, ann, platform.Page{Limit: 5, Offset: 1 << 40}), "")
	same(t, "no limit", slugs(t, w, ann, platform.Page{Offset: -7}), "deep-sea!")
	for q, want := range map[string]string{"reef": "ann-s-reef", "REE": "ann-s-reef", "ann-s-r": "ann-s-reef", "sea deep": "deep-sea", "secret": "",
		"eef": "", "!!": "", "deep-sea": "deep-sea", "@deep": "deep-sea", " ": "deep-sea ann-s-reef lobby", "deep reef": ""} {
		same(t, q, slugs(t, w, nil, platform.Page{Text: q, Limit: 20}), want)
	}
	checkDirectory(t, w)

	yes, no := true, false
	update := func(u agency.Update) {
		t.Helper()
		if _, err := w.Platform.UpdateAgency(ctx, ann, reef, u); err != nil {
			t.Fatal(err)
		}
		checkDirectory(t, w)
	}
	update(agency.Update{Name: text("Coral Garden")})
	same(t, "by the old name, which the slug keeps", slugs(t, w, nil, platform.Page{Text: "reef", Limit: 20}), "ann-s-reef")
	same(t, "by the new name", slugs(t, w, nil, platform.Page{Text: "gard", Limit: 20}), "ann-s-reef")
	update(agency.Update{Private: &yes})
	same(t, "private", slugs(t, w, ann, platform.Page{Text: "coral", Limit: 20})+slugs(t, w, nil, all), "deep-sea lobby")
	update(agency.Update{Private: &no, Charter: text("be kind")})
	same(t, "public again", slugs(t, w, nil, platform.Page{Text: "coral", Limit: 20}), "ann-s-reef")
	for i := range 20 { // through several classes of size
		who := w.User(fmt.Sprint("guest", i))
		w.Join(reef, who)
		checkDirectory(t, w)
	}
	same(t, "by size", slugs(t, w, nil, all), "ann-s-reef deep-sea lobby")
	w.Crash()
	checkDirectory(t, w)
	if err := w.Platform.DeleteAgency(ctx, ann, reef); err != nil {
		t.Fatal(err)
	}
	same(t, "dissolved", slugs(t, w, nil, all), "deep-sea lobby")
	checkDirectory(t, w)
}

// An agency that ends with its last member leaves nothing behind, though leaving moves it in the list.
func TestEndWithTheLastMember(t *testing.T) {
	w := actortest.New(t)
	ann := w.User("ann")
	w.Room(ann, "Room", false)
	if err := w.Platform.DeleteAccount(ctx, ann, nil); err != nil {
		t.Fatal(err)
	}
	runErrands(w)
	same(t, "all", slugs(t, w, nil, platform.Page{Limit: 20}), "lobby")
	checkDirectory(t, w)
}

func TestExploreAccounts(t *testing.T) {
	w := actortest.New(t)
	ann := w.User("Ann_x")
	w.Join(agency.LobbyID, ann)
	w.Clock.Advance(time.Second)
	room, secret := w.Room(ann, "Reef", false), w.Room(ann, "Secret", true)
	bot, _, err := w.Platform.CreateAgent(ctx, ann, platform.NewAgent{Name: "My-Bot", Role: "helper", Personality: "kind", AgencyID: secret})
	if err != nil {
		t.Fatal(err)
	}
	w.Clock.Advance(time.Second)
	w.User("bob")
	all := platform.Page{Limit: 20}
	same(t, "all", names(t, w, all), "bob my-bot Ann_x")
	same(t, "agents, in a private agency alone", agents(t, w, all), "my-bot@lobby")
	w.Join(room, &platform.Identity{Sender: bot.Sender()})
	same(t, "agents", agents(t, w, all), "my-bot@reef")
	for q, want := range map[string]string{"my": "my-bot", "bo": "bob my-bot", "BOT": "my-bot", "my-bot": "my-bot", "@ann_x": "Ann_x", "ann x": "Ann_x", "y-b": "", "%": "", "an_": "Ann_x", "nn": ""} {
		got := strings.Fields(names(t, w, platform.Page{Text: q, Limit: 20}))
		slices.Sort(got)
		same(t, q, strings.Join(got, " "), want)
	}
	same(t, "an agent's search", agents(t, w, platform.Page{Text: "bo", Limit: 20}), "my-bot@reef")
	same(t, "a user is no agent", agents(t, w, platform.Page{Text: "bob", Limit: 20}), "")
	checkDirectory(t, w)
	if _, err := w.Platform.UpdateProfile(ctx, ann, account.ProfileUpdate{DisplayName: text("Łucja Żółw")}); err != nil {
		t.Fatal(err)
	}
	same(t, "by the new name", names(t, w, platform.Page{Text: "żÓŁ łuc", Limit: 20}), "Ann_x")
	checkDirectory(t, w)
	yes := true
	if _, err := w.Platform.UpdateAgency(ctx, ann, room, agency.Update{Private: &yes}); err != nil {
		t.Fatal(err)
	}
	same(t, "its agency is private now", agents(t, w, all), "my-bot@lobby")
	if err := w.Platform.DeleteAgent(ctx, ann, bot.ID); err != nil {
		t.Fatal(err)
	}
	same(t, "deleted", agents(t, w, all)+names(t, w, platform.Page{Text: "bot", Limit: 20}), "")
	if err := w.Platform.DeleteAccount(ctx, ann, nil); err != nil {
		t.Fatal(err)
	}
	same(t, "who is left", names(t, w, all), "bob")
	runErrands(w)
	checkDirectory(t, w)
}

// Who bears a name comes first, however many others begin with it; pages neither repeat nor leave out anything.
func TestSearchInPages(t *testing.T) {
	w := actortest.New(t)
	w.FillDirectory(3000)
	w.User("mem")
	for _, c := range []struct {
		q    string
		want int
	}{{"mem", 3001}, {"word17", 30}, {"of mem", 3000}, {"word1 mem", 30 * 11}} {
		seen := map[string]bool{}
		for offset := 0; ; offset += 100 {
			found, err := w.Platform.ExploreUsers(ctx, platform.Page{Text: c.q, Limit: 100, Offset: offset})
			if err != nil {
				t.Fatal(err)
			}
			if offset == 0 && c.q == "mem" && found[0].Username != "mem" {
				t.Errorf("the first is %s", found[0].Username)
			}
			for _, p := range found {
				if seen[p.ID] {
					t.Fatalf("%q: %s comes twice", c.q, p.Username)
				}
				seen[p.ID] = true
			}
			if len(found) == 0 {
				break
			}
		}
		if c.q == "of mem" { // judged one by one, so not to the end
			c.want = 1000 - 1 // the bearer of a name that does not match counts
		}
		if len(seen) != c.want {
			t.Errorf("%q finds %d, want %d", c.q, len(seen), c.want)
		}
	}
}

// What the store does not tell nobody makes up.
func TestExploreWithoutStore(t *testing.T) {
	w := actortest.New(t)
	ann := w.User("ann")
	if err := w.Faults.Close(); err != nil {
		t.Fatal(err)
	}
	for name, try := range map[string]func() error{
		"agencies": func() error { _, err := w.Platform.ExploreAgencies(ctx, ann, platform.Page{}); return err },
		"agents":   func() error { _, err := w.Platform.ExploreAgents(ctx, platform.Page{}); return err },
		"users":    func() error { _, err := w.Platform.ExploreUsers(ctx, platform.Page{Text: "x"}); return err },
		"list":     func() error { _, err := w.Platform.ListAgencies(ctx, ann, platform.Page{}); return err },
		"search":   func() error { _, err := w.Platform.ListAgencies(ctx, ann, platform.Page{Text: "x"}); return err },
	} {
		actortest.Wants(t, name, try(), kernel.CodeUnavailable)
	}
	w.Crash()
}
