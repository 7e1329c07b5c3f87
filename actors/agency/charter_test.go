package agency_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"parley/actors/actortest"
	"parley/actors/agency"
	"parley/actors/kernel"
	"parley/actors/platform"
	"parley/persistence"
)

var ctx = context.Background()

func ask[R any](w *actortest.World, id string, command any) (R, error) {
	return kernel.Ask[R](ctx, w.Local, agency.Ref(id), command)
}

func text(s string) *string { return &s }

func TestFounding(t *testing.T) {
	w := actortest.New(t)
	ann := w.User("ann")
	for i, want := range []string{"ann-s-reef", "ann-s-reef-2", "ann-s-reef-3"} {
		v, err := w.Platform.CreateAgency(ctx, ann, agency.NewAgency{Name: " Ann's Reef ", Charter: text(" be kind "), Private: i == 1})
		if err != nil || v.Slug != want || v.Name != "Ann's Reef" || *v.Charter != "be kind" || v.Private != (i == 1) || v.MemberCount != 1 || *v.Role != agency.Owner {
			t.Fatalf("%+v, %v", v, err)
		}
		if back, err := w.Platform.AgencyBySlug(ctx, ann, strings.ToUpper(want)); err != nil || back.ID != v.ID {
			t.Errorf("%+v, %v", back, err)
		}
	}
	_, err := w.Platform.CreateAgency(ctx, ann, agency.NewAgency{Name: "x", Slug: "Ann's Reef"})
	actortest.Wants(t, "a taken slug", err, kernel.CodeTaken)
	for _, n := range []agency.NewAgency{{}, {Name: "  "}, {Name: strings.Repeat("x", 101)}, {Name: "a\x00"}, {Name: "x", Charter: text(strings.Repeat("x", 4001))}} {
		_, err := w.Platform.CreateAgency(ctx, ann, n)
		actortest.Wants(t, fmt.Sprintf("%.20q", n.Name), err, kernel.CodeInvalid)
	}
	for _, slug := range []string{"", "none", strings.Repeat("x", 10_000), "\x00"} {
		_, err := w.Platform.AgencyBySlug(ctx, ann, slug)
		actortest.Wants(t, "slug", err, kernel.CodeNotFound)
	}
}

func TestFoundingRaces(t *testing.T) {
	w := actortest.New(t)
	ann := w.User("ann")
	var mu sync.Mutex
	slugs := map[string]int{}
	won := 0
	var wg sync.WaitGroup
	for i := range 30 {
		wg.Go(func() {
			n := agency.NewAgency{Name: "Same Name"}
			if i%3 == 0 {
				n.Slug = "one-slug"
			}
			v, err := w.Platform.CreateAgency(ctx, ann, n)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				slugs[v.Slug]++
				if i%3 == 0 {
					won++
				}
			case i%3 == 0:
				actortest.Wants(t, "one slug for many", err, kernel.CodeTaken)
			default:
				t.Errorf("a name for many: %v", err)
			}
		})
	}
	wg.Wait()
	if won != 1 || len(slugs) != 21 {
		t.Errorf("%d won the slug, %d slugs for 21 agencies: %v", won, len(slugs), slugs)
	}
	c, err := w.Store.Counters(ctx)
	if err != nil || c[persistence.CountAgencies] != 22 || c[persistence.CountMemberships] != 21 {
		t.Errorf("%v, %v", c, err)
	}
}

func TestUpdate(t *testing.T) {
	w := actortest.New(t)
	ann, bob, eve := w.User("ann"), w.User("bob"), w.User("eve")
	room := w.Room(ann, "Room", false)
	w.Join(room, bob)
	yes := true
	_, err := w.Platform.UpdateAgency(ctx, bob, room, agency.Update{Name: text("Mine")})
	actortest.Wants(t, "by a member", err, kernel.CodeForbidden)
	_, err = w.Platform.UpdateAgency(ctx, eve, room, agency.Update{Name: text("Mine")})
	actortest.Wants(t, "by a stranger", err, kernel.CodeForbidden)
	v, err := w.Platform.UpdateAgency(ctx, ann, room, agency.Update{Name: text("New"), Charter: text("c"), Private: &yes})
	if err != nil || v.Name != "New" || *v.Charter != "c" || !v.Private || v.Slug != "room" || v.MemberCount != 2 {
		t.Fatal(v, err)
	}
	if v, err = w.Platform.UpdateAgency(ctx, ann, room, agency.Update{Charter: text("")}); err != nil || v.Charter != nil || v.Name != "New" || !v.Private {
		t.Fatal(v, err)
	}
	_, err = w.Platform.UpdateAgency(ctx, ann, room, agency.Update{Name: text(" ")})
	actortest.Wants(t, "empty name", err, kernel.CodeInvalid)
	w.Crash()
	if v, err := w.Platform.Agency(ctx, bob, room); err != nil || v.Name != "New" || !v.Private || v.MemberCount != 2 {
		t.Error(v, err)
	}
	if list, err := w.Platform.Agencies(ctx, eve, 0, 0); err != nil || len(list) != 1 {
		t.Errorf("a stranger sees %+v, %v", list, err)
	}
	if list, err := w.Platform.Agencies(ctx, bob, 1, 1); err != nil || len(list) != 1 || list[0].ID != room {
		t.Errorf("a member sees %+v, %v", list, err)
	}
}

// To strangers a private agency does not exist, whatever they try.
func TestPrivateIsHidden(t *testing.T) {
	w := actortest.New(t)
	ann, eve := w.User("ann"), w.User("eve")
	room := w.Room(ann, "Secret", true)
	m := w.Post(ann, room, "x")
	for name, try := range map[string]func(room string) error{
		"get":     func(r string) error { _, err := w.Platform.Agency(ctx, eve, r); return err },
		"members": func(r string) error { _, err := w.Platform.Members(ctx, eve, r, 0, ""); return err },
		"history": func(r string) error { _, err := w.Platform.Messages(ctx, eve, r, platform.History{}); return err },
		"join":    func(r string) error { _, err := w.Platform.Join(ctx, eve, r); return err },
		"leave":   func(r string) error { return w.Platform.Leave(ctx, eve, r) },
		"post": func(r string) error {
			_, _, err := w.Platform.Post(ctx, eve, r, agency.NewMessage{Content: "x"})
			return err
		},
		"edit":   func(r string) error { _, err := w.Platform.EditMessage(ctx, eve, r, m.ID, "y"); return err },
		"delete": func(r string) error { return w.Platform.DeleteMessage(ctx, eve, r, m.ID) },
		"update": func(r string) error {
			_, err := w.Platform.UpdateAgency(ctx, eve, r, agency.Update{Name: text("x")})
			return err
		},
		"dissolve": func(r string) error { return w.Platform.DeleteAgency(ctx, eve, r) },
	} {
		hidden := try(room)
		for _, r := range []string{room, "none", "00000000-0000-4000-8000-00000000000f"} {
			err := try(r)
			actortest.Wants(t, name+" "+r, err, kernel.CodeNotFound)
			if fmt.Sprint(err) != fmt.Sprint(hidden) {
				t.Errorf("%s tells a hidden room (%v) from a missing one (%v)", name, hidden, err)
			}
		}
	}
	_, err := w.Platform.AgencyBySlug(ctx, eve, "secret")
	actortest.Wants(t, "by slug", err, kernel.CodeNotFound)
	if list, err := w.Platform.Agencies(ctx, eve, 0, 0); err != nil || len(list) != 1 {
		t.Error(list, err)
	}
}

func TestLobbyRules(t *testing.T) {
	w := actortest.New(t)
	ann := w.User("ann")
	w.Join(agency.LobbyID, ann)
	yes := true
	actortest.Wants(t, "leave", w.Platform.Leave(ctx, ann, agency.LobbyID), kernel.CodeForbidden)
	actortest.Wants(t, "delete", w.Platform.DeleteAgency(ctx, ann, agency.LobbyID), kernel.CodeForbidden)
	_, err := w.Platform.UpdateAgency(ctx, ann, agency.LobbyID, agency.Update{Private: &yes})
	actortest.Wants(t, "make private", err, kernel.CodeForbidden)
	w.Restart() // founds it again, over the one that is there
	if v, err := w.Platform.Agency(ctx, ann, agency.LobbyID); err != nil || v.MemberCount != 1 || v.Slug != "lobby" || v.Type != "lobby" {
		t.Error(v, err)
	}
}

func TestDissolve(t *testing.T) {
	w := actortest.New(t)
	ann, bob := w.User("ann"), w.User("bob")
	room := w.Room(ann, "Room", false)
	w.Join(room, bob)
	for i := range 450 { // more than one step of the clean-up
		if i < 250 {
			w.Join(room, w.UserAs(fmt.Sprint("m", i)))
		}
		w.Post(ann, room, "x")
	}
	actortest.Wants(t, "by a member", w.Platform.DeleteAgency(ctx, bob, room), kernel.CodeForbidden)
	var wg sync.WaitGroup
	for range 4 { // each carries the clean-up out
		wg.Go(func() { _ = w.Platform.DeleteAgency(ctx, ann, room) })
	}
	for range 3 {
		wg.Go(func() {
			for over := false; !over; {
				p, err := ask[agency.Purged](w, room, agency.Purge{})
				if err != nil {
					t.Errorf("clean-up: %v", err)
					return
				}
				if over = p.Over; over {
					_, err := w.Platform.Agency(ctx, ann, room)
					over = err != nil
				}
			}
		})
	}
	wg.Wait()
	if _, err := ask[agency.Purged](w, room, agency.Purge{}); err != nil {
		t.Fatal(err)
	}
	w.Eventually("clean-up", func() bool {
		p, err := ask[agency.Purged](w, room, agency.Purge{})
		return err == nil && p.Over
	})
	c, err := w.Store.Counters(ctx)
	if err != nil || c[persistence.CountMessages] != 0 || c[persistence.CountMemberships] != 0 || c[persistence.CountAgencies] != 1 {
		t.Errorf("counters: %v, %v", c, err)
	}
	for _, collection := range []string{persistence.CollectionMember, persistence.CollectionMessage, persistence.CollectionAgency} {
		rows, err := w.Store.Documents(ctx, collection, persistence.Range{Prefix: room})
		if err != nil || len(rows) != 0 {
			t.Errorf("%d documents of %s are left, %v", len(rows), collection, err)
		}
	}
	for name, err := range map[string]error{"join": func() error { _, err := w.Platform.Join(ctx, bob, room); return err }(),
		"post": func() error {
			_, _, err := w.Platform.Post(ctx, ann, room, agency.NewMessage{Content: "x"})
			return err
		}(),
		"again": w.Platform.DeleteAgency(ctx, ann, room)} {
		actortest.Wants(t, name, err, kernel.CodeNotFound)
	}
	if v, err := w.Platform.CreateAgency(ctx, bob, agency.NewAgency{Name: "x", Slug: "room"}); err != nil || v.Slug != "room" {
		t.Errorf("the slug of the dissolved: %+v, %v", v, err)
	}
}

// Nothing that was on its way when an agency was dissolved may bring a part of it back.
func TestNothingOutlivesTheEnd(t *testing.T) {
	w := actortest.New(t)
	ann := w.User("ann")
	for round := range 15 {
		room := w.Room(ann, "Room", false)
		var strangers []*platform.Identity
		for i := range 12 {
			strangers = append(strangers, w.UserAs(fmt.Sprint("s", round, "-", i)))
		}
		w.Join(room, strangers[:6]...)
		w.Sleep(agency.Ref(room)) // the members are to be read again
		var wg sync.WaitGroup
		for i, s := range strangers {
			wg.Go(func() {
				if i%2 == 0 {
					_, _ = w.Platform.Join(ctx, s, room)
				}
				_, _, _ = w.Platform.Post(ctx, s, room, agency.NewMessage{Content: "x", ClientID: "c"})
				_, _ = ask[kernel.Done](w, room, agency.Forget{Who: s.Sender})
			})
		}
		wg.Go(func() {
			if err := w.Platform.DeleteAgency(ctx, ann, room); err != nil {
				t.Error(err)
			}
		})
		wg.Wait()
		w.Eventually("clean-up", func() bool {
			p, err := ask[agency.Purged](w, room, agency.Purge{})
			return err == nil && p.Over
		})
		for _, collection := range []string{persistence.CollectionMember, persistence.CollectionMessage, persistence.CollectionAgency, persistence.CollectionPublic} {
			if rows, err := w.Store.Documents(ctx, collection, persistence.Range{Prefix: room}); err != nil || len(rows) != 0 {
				t.Fatalf("round %d: %d documents of %s are left, %v", round, len(rows), collection, err)
			}
		}
	}
	if c, err := w.Store.Counters(ctx); err != nil || c[persistence.CountMessages] != 0 || c[persistence.CountMemberships] != 0 {
		t.Errorf("counters: %v, %v", c, err)
	}
}
