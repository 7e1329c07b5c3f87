package agency_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/actors/actortest"
	"parley/actors/agency"
	"parley/actors/kernel"
	"parley/persistence"
)

// The banned stay out by every way, and are told why and until when; the ban ends by itself.
func TestBans(t *testing.T) {
	w := actortest.New(t)
	ann, bob, eve := w.User("ann"), w.User("bob"), w.User("eve")
	room := w.Room(ann, "Room", false)
	w.Join(room, bob, eve)
	inv, err := w.Platform.CreateInvite(ctx, ann, room, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	v, err := w.Platform.Ban(ctx, ann, room, bob.ID, "spam", "1h")
	if err != nil || v.ID != bob.ID || *v.Reason != "spam" || *v.ExpiresAt != "2026-01-01T01:00:00.000Z" || v.By.ID != ann.ID || v.CreatedAt == nil {
		t.Fatalf("%+v, %v", v, err)
	}
	out := func(when string) {
		t.Helper()
		_, join := w.Platform.Join(ctx, bob, room)
		_, redeem := w.Platform.RedeemInvite(ctx, bob, inv.Code)
		_, add := ask[*agency.Entered](w, room, agency.AddMember{Who: bob.Sender, By: eve.ID})
		_, system := ask[*agency.Entered](w, room, agency.AddMember{Who: bob.Sender})
		for how, err := range map[string]error{"join": join, "redeem": redeem, "add": add, "system": system} {
			actortest.Wants(t, when+" "+how, err, kernel.CodeForbidden)
			if !strings.Contains(err.Error(), "banned from this agency until 2026-01-01T01:00:00.000Z: spam") {
				t.Errorf("%s %s: %v", when, how, err)
			}
		}
		_, _, err := w.Platform.Post(ctx, bob, room, agency.NewMessage{Content: "x"})
		actortest.Wants(t, when+" post", err, kernel.CodeForbidden)
	}
	out("at once")
	w.Sleep(agency.Ref(room))
	out("after sleep")
	w.Crash()
	out("after a crash")
	if list, err := w.Platform.Bans(ctx, ann, room, 0, ""); err != nil || len(list) != 1 || list[0] != (agency.BanView{}) && list[0].ID != bob.ID {
		t.Errorf("%+v, %v", list, err)
	}
	w.Clock.Advance(time.Hour)
	if list, err := w.Platform.Bans(ctx, ann, room, 0, ""); err != nil || len(list) != 0 {
		t.Errorf("after its end: %+v, %v", list, err)
	}
	actortest.Wants(t, "unban after its end", w.Platform.Unban(ctx, ann, room, bob.ID), kernel.CodeNotFound)
	if _, err := w.Platform.Join(ctx, bob, room); err != nil {
		t.Fatalf("after its end: %v", err)
	}
	if _, err := w.Store.Document(ctx, persistence.CollectionBan, persistence.Key(room, bob.ID)); err == nil {
		t.Error("a ban outlived its end and the return of the banned")
	}
	if _, err := w.Platform.Ban(ctx, ann, room, bob.ID, "", ""); err != nil {
		t.Fatal(err)
	}
	w.Clock.Advance(20 * 365 * 24 * time.Hour)
	_, err = w.Platform.Join(ctx, bob, room)
	actortest.Wants(t, "for ever", err, kernel.CodeForbidden)
	if !strings.HasSuffix(err.Error(), "you are banned from this agency") {
		t.Error(err)
	}
	if err := w.Platform.Unban(ctx, ann, room, bob.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Platform.Join(ctx, bob, room); err != nil {
		t.Errorf("after the unban: %v", err)
	}
	checkLog(t, w, room)
}

// A new ban replaces the old one, also a longer one.
func TestBanAgain(t *testing.T) {
	w := actortest.New(t)
	ann, bob := w.User("ann"), w.User("bob")
	room := w.Room(ann, "Room", false)
	for _, expires := range []string{"", "7d", "1m"} {
		if _, err := w.Platform.Ban(ctx, ann, room, bob.ID, expires, expires); err != nil {
			t.Fatal(err)
		}
	}
	if list, err := w.Platform.Bans(ctx, ann, room, 0, ""); err != nil || len(list) != 1 || *list[0].Reason != "1m" {
		t.Fatal(list, err)
	}
	w.Clock.Advance(time.Minute)
	if _, err := w.Platform.Join(ctx, bob, room); err != nil {
		t.Error(err)
	}
	for _, expires := range []string{"soon", "0s", "2001-01-01T00:00:00Z"} {
		_, err := w.Platform.Ban(ctx, ann, room, bob.ID, "", expires)
		actortest.Wants(t, expires, err, kernel.CodeInvalid)
	}
	_, err := w.Platform.Ban(ctx, ann, room, "nobody", "", "")
	actortest.Wants(t, "nobody", err, kernel.CodeNotFound)
}

// The list of bans is paged, and skips what has run out.
func TestBanPages(t *testing.T) {
	w := actortest.New(t)
	ann := w.User("ann")
	room := w.Room(ann, "Room", true)
	var want []string
	for i := range 20 {
		who, expires := w.User(fmt.Sprint("user", i)), "1m"
		if i%3 == 0 {
			expires = ""
			want = append(want, who.ID)
		}
		if _, err := w.Platform.Ban(ctx, ann, room, who.ID, "", expires); err != nil {
			t.Fatal(err)
		}
	}
	w.Clock.Advance(2 * time.Minute)
	slices.Sort(want)
	for _, limit := range []int{1, 3, 7, 0} {
		var got []string
		for after := ""; ; {
			page, err := w.Platform.Bans(ctx, ann, room, limit, after)
			if err != nil || limit > 0 && len(page) > limit {
				t.Fatal(len(page), err)
			}
			if len(page) == 0 {
				break
			}
			for _, b := range page {
				got = append(got, b.ID)
			}
			after = got[len(got)-1]
		}
		if !slices.Equal(got, want) {
			t.Errorf("pages of %d: %v, want %v", limit, got, want)
		}
	}
}

// Joins, bans and unbans of one account at the same time never leave a member who is banned.
func TestBanRaces(t *testing.T) {
	w := actortest.New(t)
	ann, bob := w.User("ann"), w.User("bob")
	room := w.Room(ann, "Room", false)
	var wg sync.WaitGroup
	for i := range 6 {
		wg.Go(func() {
			for j := range 40 {
				switch i % 3 {
				case 0:
					_, _ = w.Platform.Join(ctx, bob, room)
				case 1:
					_, _ = w.Platform.Ban(ctx, ann, room, bob.ID, "", "")
				default:
					_ = w.Platform.Unban(ctx, ann, room, bob.ID)
				}
				if j%5 == 0 {
					w.Local.TellResident(agency.Ref(room), kernel.Sweep{})
				}
			}
		})
	}
	wg.Wait()
	in, out := false, false
	for i, l := range logOf(w, room, 2) {
		switch l.Kind {
		case "joined":
			if in || out {
				t.Fatalf("event %d: joined, was a member %v, banned %v", i, in, out)
			}
			in = true
		case "banned":
			if (l.Role != "") != in {
				t.Fatalf("event %d: banned as %q, was a member %v", i, l.Role, in)
			}
			in, out = false, true
		case "unbanned":
			if !out {
				t.Fatalf("event %d: unbanned, was not banned", i)
			}
			out = false
		}
	}
	s := &stage{World: w, room: room}
	if (roleOf(w, room, bob) != "") != in || s.isBanned(bob) != out {
		t.Errorf("the documents say %q, banned %v; the log %v, %v", roleOf(w, room, bob), s.isBanned(bob), in, out)
	}
}

// Nothing of bans and invites outlives the agency.
func TestDissolvedModeration(t *testing.T) {
	w := actortest.New(t)
	ann, bob := w.User("ann"), w.User("bob")
	room := w.Room(ann, "Room", false)
	if _, err := w.Platform.Ban(ctx, ann, room, bob.ID, "", ""); err != nil {
		t.Fatal(err)
	}
	inv, err := w.Platform.CreateInvite(ctx, ann, room, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Platform.DeleteAgency(ctx, ann, room); err != nil {
		t.Fatal(err)
	}
	if rows, err := w.Store.Documents(ctx, persistence.CollectionBan, persistence.Range{Prefix: room}); err != nil || len(rows) != 0 {
		t.Errorf("%d bans are left, %v", len(rows), err)
	}
	if c, err := w.Store.Claim(ctx, persistence.ClaimInvite, inv.Code); err == nil {
		t.Errorf("the code is left: %+v", c)
	}
	_, err = w.Platform.RedeemInvite(ctx, bob, inv.Code)
	actortest.Wants(t, "redeem", err, kernel.CodeNotFound)
	_, err = w.Platform.Ban(ctx, ann, room, bob.ID, "", "")
	actortest.Wants(t, "ban", err, kernel.CodeNotFound)
}
