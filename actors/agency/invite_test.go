package agency_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"parley/actors/actortest"
	"parley/actors/agency"
	"parley/actors/kernel"
	"parley/actors/platform"
	"parley/persistence"
	"parley/persistence/storetest"
)

func most(n int64) *int64 { return &n }

func invite(w *actortest.World, by *platform.Identity, room string, maxUses *int64, expires string) string {
	w.T.Helper()
	v, err := w.Platform.CreateInvite(ctx, by, room, maxUses, expires)
	if err != nil {
		w.T.Fatal(err)
	}
	return v.Code
}

func TestInvites(t *testing.T) {
	w := actortest.New(t)
	ann, bob, eve, dan := w.User("ann"), w.User("bob"), w.User("eve"), w.User("dan")
	bot := agent(w, "Bot")
	room := w.Room(ann, "Secret", true)
	from := end(w, room)
	code := invite(w, ann, room, most(2), "1h")
	redeem := func(who *platform.Identity) error {
		_, err := w.Platform.RedeemInvite(ctx, who, code)
		return err
	}
	v, err := w.Platform.RedeemInvite(ctx, bob, code)
	if err != nil || v.ID != room || *v.Role != agency.Member || v.MemberCount != 2 {
		t.Fatal(v, err)
	}
	w.Restart()                         // on a snapshot
	w.Crash()                           // and on the log
	if err := redeem(bob); err != nil { // a member uses nothing up
		t.Fatal(err)
	}
	if v, err := w.Platform.RedeemInvite(ctx, bot, code); err != nil || *v.Role != agency.AgentRole {
		t.Fatal(v, err)
	}
	actortest.Wants(t, "used up", redeem(eve), kernel.CodeGone)
	if err := redeem(bob); err != nil {
		t.Errorf("a member, used up: %v", err)
	}
	got := logOf(w, room, from)
	var kinds string
	for _, l := range got {
		kinds += l.Kind + " "
	}
	if kinds != "invited joined redeemed joined redeemed " || got[0].By.ID != ann.ID || got[0].Invite.Code != code || got[0].Invite.Max != 2 ||
		got[4].Invite.Uses != 2 || got[4].Member.ID != bot.ID {
		t.Errorf("%s: %+v", kinds, got)
	}
	code = invite(w, ann, room, nil, "30s")
	w.Clock.Advance(29 * time.Second)
	if err := redeem(eve); err != nil {
		t.Fatal(err)
	}
	w.Clock.Advance(time.Second)
	actortest.Wants(t, "expired", redeem(dan), kernel.CodeGone)
	code = invite(w, ann, room, nil, "")
	list, err := w.Platform.Invites(ctx, ann, room)
	if err != nil || len(list) != 3 || list[0].Code != code || !list[0].Active || list[1].Active || list[2].Uses != 2 || list[1].Uses != 1 {
		t.Fatalf("%+v, %v", list, err)
	}
	if err := w.Platform.RevokeInvite(ctx, ann, room, code); err != nil {
		t.Fatal(err)
	}
	actortest.Wants(t, "revoked", redeem(dan), kernel.CodeNotFound)
	actortest.Wants(t, "revoke again", w.Platform.RevokeInvite(ctx, ann, room, code), kernel.CodeNotFound)
	for _, code := range []string{"", "x", agency.NewInviteCode(), "../" + code, code + "\x00"} {
		_, err := w.Platform.RedeemInvite(ctx, dan, code)
		actortest.Wants(t, fmt.Sprintf("%q", code), err, kernel.CodeNotFound)
	}
	checkLog(t, w, room)
}

func TestInviteLimits(t *testing.T) {
	w := actortest.New(t)
	ann, bob := w.User("ann"), w.User("bob")
	room := w.Room(ann, "Secret", true)
	for _, n := range []int64{0, -1, agency.MaxUses + 1} {
		_, err := w.Platform.CreateInvite(ctx, ann, room, &n, "")
		actortest.Wants(t, fmt.Sprint(n), err, kernel.CodeInvalid)
	}
	_, err := w.Platform.CreateInvite(ctx, ann, room, nil, "yesterday")
	actortest.Wants(t, "expires", err, kernel.CodeInvalid)
	var first, last string
	for i := range agency.MaxInvites {
		last = invite(w, ann, room, most(agency.MaxUses), "1m")
		if i == 0 {
			first = last
		}
	}
	_, err = w.Platform.CreateInvite(ctx, ann, room, nil, "")
	actortest.Wants(t, "too many", err, kernel.CodeTaken)
	if err := w.Platform.RevokeInvite(ctx, ann, room, last); err != nil {
		t.Fatal(err)
	}
	invite(w, ann, room, nil, "1m")
	w.Clock.Advance(time.Minute)
	for range agency.MaxInvites {
		last = invite(w, ann, room, nil, "")
	}
	_, err = w.Platform.RedeemInvite(ctx, bob, first)
	actortest.Wants(t, "an expired one is remembered", err, kernel.CodeGone)
	if err := w.Platform.RevokeInvite(ctx, ann, room, last); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		invite(w, ann, room, nil, "30s")
		w.Clock.Advance(time.Minute)
	}
	w.Crash()
	list, err := w.Platform.Invites(ctx, ann, room)
	if err != nil || len(list) != 2*agency.MaxInvites {
		t.Errorf("%d invites, %v", len(list), err)
	}
	_, err = w.Platform.RedeemInvite(ctx, bob, first)
	actortest.Wants(t, "the oldest made way", err, kernel.CodeNotFound)
	if c, err := w.Store.Claim(ctx, persistence.ClaimInvite, first); err == nil {
		t.Errorf("its code is left: %+v", c)
	}
}

// However many redeem at once, with the actor falling asleep and the server crashing in between: an invite is never used
// more often than it may be, and each use is one member.
func TestRedeemRaces(t *testing.T) {
	const uses, people = 7, 40
	w := actortest.New(t)
	ann := w.User("ann")
	for round := range 6 {
		room := w.Room(ann, "Secret", true)
		code := invite(w, ann, room, most(uses), "")
		redeem := func(fail bool) {
			var wg sync.WaitGroup
			for i := range people {
				who := w.UserAs(fmt.Sprint("m", round, "-", i))
				for range 2 {
					wg.Go(func() {
						if i%5 == 0 {
							w.Local.TellResident(agency.Ref(room), kernel.Sweep{})
						}
						_, err := w.Platform.RedeemInvite(ctx, who, code)
						if c, failed := actortest.Code(err); failed && c != kernel.CodeGone && c != kernel.CodeUnavailable {
							t.Error(err)
						}
					})
				}
				if i == people/2 && fail {
					w.Faults.Script(storetest.LoseReply, storetest.FailBefore)
				}
			}
			wg.Wait()
		}
		redeem(round%2 == 1)
		if round%2 == 1 {
			w.Crash()
			redeem(false)
		}
		rows, err := w.Store.Documents(ctx, persistence.CollectionMember, persistence.Range{Prefix: room + "/"})
		if err != nil {
			t.Fatal(err)
		}
		list, err := w.Platform.Invites(ctx, ann, room)
		if err != nil || len(list) != 1 || list[0].Uses != uses || len(rows) != uses+1 {
			t.Fatalf("round %d: %d members after %+v, %v", round, len(rows)-1, list, err)
		}
	}
}
