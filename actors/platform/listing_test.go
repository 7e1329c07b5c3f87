package platform_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/actors/account"
	"parley/actors/actortest"
	"parley/actors/agency"
	"parley/actors/kernel"
	"parley/actors/platform"
	"parley/persistence"
)

// listed returns the slugs of GET /api/agencies, members' with a bang, and checks the answer's form on the way.
func listed(t testing.TB, w *actortest.World, id *platform.Identity, g platform.Page) string {
	t.Helper()
	l, err := w.Platform.ListAgencies(ctx, id, g)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	n, err := l.WriteTo(&b)
	if err != nil || n != l.Size() || n != int64(b.Len()) {
		t.Fatalf("%d bytes written, %d announced, %d there, %v", n, l.Size(), b.Len(), err)
	}
	var views []agency.View
	if err := json.Unmarshal(b.Bytes(), &views); err != nil {
		t.Fatal(err)
	}
	var again bytes.Buffer
	e := json.NewEncoder(&again)
	e.SetEscapeHTML(false)
	if err := e.Encode(views); err != nil || again.String() != b.String() {
		t.Fatalf("the answer is not the encoding of its views:\n%s%s", b.String(), again.String())
	}
	var out []string
	for _, v := range views {
		if v.IsMember != (v.Role != nil) || v.IsMember != v.IsMember2 {
			t.Errorf("%+v", v)
		}
		slug := v.Slug
		if v.IsMember {
			slug += "!"
		}
		out = append(out, slug)
	}
	return strings.Join(out, " ")
}

func TestListOrder(t *testing.T) {
	w := actortest.New(t)
	ann, bob, eve := w.User("ann"), w.User("bob"), w.User("eve")
	all := platform.Page{}
	same(t, "an empty server", listed(t, w, eve, all), "lobby")
	old := w.Room(ann, "Old", false)
	w.Clock.Advance(time.Second)
	secret := w.Room(ann, "Secret", true)
	w.Clock.Advance(time.Second)
	big := w.Room(bob, "Big", false)
	w.Join(big, ann, w.User("x1"), w.User("x2"))
	w.Join(agency.LobbyID, ann)
	same(t, "ann", listed(t, w, ann, all), "lobby! old! secret! big!")
	same(t, "bob", listed(t, w, bob, all), "lobby big! old")
	same(t, "eve", listed(t, w, eve, all), "lobby big old")
	same(t, "a page of own and others", listed(t, w, bob, platform.Page{Limit: 2, Offset: 1}), "big! old")
	same(t, "the last", listed(t, w, bob, platform.Page{Limit: 5, Offset: 2}), "old")
	same(t, "behind the end", listed(t, w, bob, platform.Page{Limit: 5, Offset: 1_000_000}), "")
	same(t, "search", listed(t, w, ann, platform.Page{Text: "SEC"})+listed(t, w, eve, platform.Page{Text: "sec"}), "secret!")
	same(t, "search among others", listed(t, w, ann, platform.Page{Text: "big"})+listed(t, w, eve, platform.Page{Text: "o"}), "big!old")
	same(t, "search in pages", listed(t, w, ann, platform.Page{Text: "s", Limit: 1, Offset: 1}), "")
	w.Join(secret, eve)
	same(t, "added to a private one", listed(t, w, eve, all), "lobby secret! big old")
	if err := w.Platform.Leave(ctx, eve, secret); err != nil {
		t.Fatal(err)
	}
	same(t, "left it", listed(t, w, eve, all), "lobby big old")
	if err := w.Platform.DeleteAgency(ctx, ann, old); err != nil {
		t.Fatal(err)
	}
	if err := w.Platform.DeleteAgency(ctx, ann, secret); err != nil {
		t.Fatal(err)
	}
	same(t, "dissolved", listed(t, w, ann, all), "lobby! big!")
	w.Restart()
	same(t, "after a restart", listed(t, w, ann, all), "lobby! big!")
}

// Agencies of other kinds, such as direct messages, and rows of what is gone are nowhere in the list.
func TestHiddenKinds(t *testing.T) {
	w := actortest.New(t)
	ann := w.User("ann")
	r := &agency.Record{ID: "dm1", Name: "DM", Slug: "dm-1", Kind: "dm", Private: true, MemberCount: 2}
	lease, err := w.Store.Acquire(ctx, "agency/dm1", 0)
	if err != nil {
		t.Fatal(err)
	}
	m := agency.MemberRecord{Role: agency.Member}.Encode()
	if err := w.Store.Append(ctx, []*persistence.Batch{{Stream: "agency/dm1", Epoch: lease.Epoch, Documents: []persistence.DocumentOp{
		{Collection: persistence.CollectionAgency, Key: "dm1", Data: r.Encode()},
		{Collection: persistence.CollectionMembership, Key: persistence.Key(ann.ID, "dm1"), Data: m},
		{Collection: persistence.CollectionMembership, Key: persistence.Key(ann.ID, "none"), Data: m}}}})[0]; err != nil {
		t.Fatal(err)
	}
	same(t, "list", listed(t, w, ann, platform.Page{})+listed(t, w, ann, platform.Page{Text: "dm"}), "lobby")
	same(t, "explore", slugs(t, w, ann, platform.Page{Text: "dm", Limit: 9}), "")
}

// However many public agencies there are, the caller's own are in the list, and first.
func TestOwnAgenciesAreNeverCut(t *testing.T) {
	w := actortest.New(t)
	w.FillDirectory(platform.MaxAgencies + 20)
	ann := w.User("ann")
	w.Clock.Advance(time.Minute)
	w.Room(ann, "Mine", false)
	w.Clock.Advance(time.Minute)
	w.Room(ann, "Secret", true)
	w.Enroll(ann.ID, 1) // one of the last of the order
	got := strings.Fields(listed(t, w, ann, platform.Page{}))
	if len(got) != platform.MaxAgencies || strings.Join(got[:4], " ") != "lobby room0000000! mine! secret!" {
		t.Errorf("%d: %v", len(got), got[:4])
	}
	seen := map[string]bool{}
	for offset := 0; offset < platform.MaxAgencies+500; offset += 1000 {
		for _, slug := range strings.Fields(listed(t, w, ann, platform.Page{Limit: 1000, Offset: offset})) {
			if seen[slug] {
				t.Fatalf("%s comes twice", slug)
			}
			seen[slug] = true
		}
	}
	if len(seen) != platform.MaxAgencies {
		t.Errorf("%d agencies in pages", len(seen))
	}
	found, err := w.Platform.Agencies(ctx, w.User("eve"), 3, 0)
	if err != nil || len(found) != 3 || found[0].ID != agency.LobbyID || found[1].MemberCount < 64 {
		t.Errorf("%+v, %v", found, err)
	}
}

// What was answered is in the next list, while many others read and change: nobody is shown what has become private, and
// nobody misses what was made, joined or renamed.
func TestListIsNeverBehind(t *testing.T) {
	const owners, rounds = 4, 12
	w := actortest.New(t)
	w.FillDirectory(40)
	eve := w.User("eve")
	stop := make(chan struct{})
	var readers, writers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					if l, err := w.Platform.ListAgencies(ctx, eve, platform.Page{}); err != nil {
						t.Error(err)
					} else if _, err := l.WriteTo(io.Discard); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	for n := range owners {
		owner, guest := w.User(fmt.Sprint("owner", n)), w.User(fmt.Sprint("guest", n))
		writers.Go(func() { changing(t, w, owner, guest, eve, fmt.Sprint("room-of-", n), rounds) })
	}
	writers.Wait()
	close(stop)
	readers.Wait()
}

func changing(t *testing.T, w *actortest.World, owner, guest, eve *platform.Identity, slug string, rounds int) {
	yes, no := true, false
	has := func(what string, id *platform.Identity, entry string, want bool) {
		t.Helper()
		list := " " + listed(t, w, id, platform.Page{}) + " "
		if strings.Contains(list, " "+entry+" ") != want {
			t.Errorf("%s: %s in the list of %s is %v: %s", what, entry, id.Username, !want, list)
		}
	}
	update := func(id string, u agency.Update) {
		if _, err := w.Platform.UpdateAgency(ctx, owner, id, u); err != nil {
			t.Error(err)
		}
	}
	for range rounds {
		v, err := w.Platform.CreateAgency(ctx, owner, agency.NewAgency{Name: "Room", Slug: slug})
		if err != nil {
			t.Error(err)
			return
		}
		has("made", owner, slug+"!", true)
		has("made", eve, slug, true)
		if _, err := w.Platform.Join(ctx, guest, v.ID); err != nil {
			t.Error(err)
		}
		has("joined", guest, slug+"!", true)
		update(v.ID, agency.Update{Private: &yes})
		has("private", eve, slug, false)
		has("private", guest, slug+"!", true)
		if err := w.Platform.Leave(ctx, guest, v.ID); err != nil {
			t.Error(err)
		}
		has("left", guest, slug+"!", false)
		update(v.ID, agency.Update{Private: &no})
		has("public", eve, slug, true)
		has("public", guest, slug, true)
		if err := w.Platform.DeleteAgency(ctx, owner, v.ID); err != nil {
			t.Error(err)
		}
		has("deleted", eve, slug, false)
		has("deleted", owner, slug+"!", false)
	}
}

// A list that can't be known to be up to date is no list.
func TestListWithoutVersions(t *testing.T) {
	w := actortest.New(t)
	ann := w.User("ann")
	same(t, "before", listed(t, w, ann, platform.Page{}), "lobby")
	w.Faults.HideVersions(true)
	_, err := w.Platform.ListAgencies(ctx, ann, platform.Page{})
	actortest.Wants(t, "without versions", err, kernel.CodeUnavailable)
	_, err = w.Platform.Members(ctx, ann, agency.LobbyID, 0, "")
	actortest.Wants(t, "members without versions", err, kernel.CodeUnavailable)
	w.Faults.HideVersions(false)
	same(t, "after", listed(t, w, ann, platform.Page{}), "lobby")
}

// Names of members are those of now, also when a profile changes between two lists.
func TestMembersOfNow(t *testing.T) {
	w := actortest.New(t)
	ann, bob := w.User("ann"), w.User("bob")
	room := w.Room(ann, "Room", false)
	w.Join(room, bob)
	show := func(q string) string {
		t.Helper()
		find := w.Platform.Members
		if q != "" {
			find = func(c context.Context, id *platform.Identity, agencyID string, limit int, after string) ([]agency.MemberView, error) {
				return w.Platform.FindMembers(c, id, agencyID, q, limit, after)
			}
		}
		members, err := find(ctx, ann, room, 0, "")
		if err != nil {
			t.Fatal(err)
		}
		out := map[string]string{}
		for _, m := range members {
			out[m.Username] = m.DisplayName
		}
		return fmt.Sprint(out)
	}
	same(t, "both", show(""), "map[ann:ann bob:bob]")
	if _, err := w.Platform.UpdateProfile(ctx, bob, account.ProfileUpdate{DisplayName: text("Robert")}); err != nil {
		t.Fatal(err)
	}
	same(t, "renamed", show(""), "map[ann:ann bob:Robert]")
	same(t, "found", show("rob")+show("@an")+show("x"), "map[bob:Robert]map[ann:ann]map[]")
	if err := w.Platform.DeleteAccount(ctx, bob, nil); err != nil {
		t.Fatal(err)
	}
	same(t, "deleted", show("")+show("rob"), "map[ann:ann]map[]")
	_, err := w.Platform.FindMembers(ctx, w.User("eve"), w.Room(ann, "Secret", true), "a", 0, "")
	actortest.Wants(t, "members of a private agency", err, kernel.CodeNotFound)
}
