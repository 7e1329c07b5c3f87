package agency_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"parley/actors/actortest"
	"parley/actors/agency"
	"parley/actors/kernel"
	"parley/actors/mirror"
	"parley/actors/platform"
	"parley/actors/session"
	"parley/persistence"
)

// logged is what the tests read of an event of the log.
type logged struct {
	Kind   string
	Member struct{ ID string }
	By     *struct{ ID string }
	Role   agency.Role
	Was    agency.Role
	Count  int64
	Reason string
	Until  int64
	Invite struct {
		Code      string
		Max, Uses int64
	}
}

// logOf reads the log of an agency behind an event.
func logOf(w *actortest.World, room string, after uint64) (list []logged) {
	w.T.Helper()
	events, err := w.Store.Events(ctx, persistence.Stream(persistence.StreamAgency, room), after, 1000)
	if err != nil {
		w.T.Fatal(err)
	}
	for _, ev := range events {
		l := logged{}
		if err := json.Unmarshal(ev.Data, &l); err != nil {
			w.T.Fatal(err)
		}
		l.Kind = ev.Kind
		list = append(list, l)
	}
	return list
}

func end(w *actortest.World, room string) uint64 {
	w.T.Helper()
	_, last, err := w.Store.Head(ctx, persistence.Stream(persistence.StreamAgency, room))
	if err != nil {
		w.T.Fatal(err)
	}
	return last
}

// setRole promotes or demotes.
func setRole(w *actortest.World, by *platform.Identity, room string, who *platform.Identity, role agency.Role) error {
	_, err := w.Platform.SetRole(ctx, by, room, who.ID, string(role))
	return err
}

// What webhooks will tell of moderation is in the log.
func TestModerationIsLogged(t *testing.T) {
	w := actortest.New(t)
	ann, bob, eve := w.User("ann"), w.User("bob"), w.User("eve")
	room := w.Room(ann, "Room", false)
	w.Join(room, bob, eve)
	from := end(w, room)
	v, err := w.Platform.SetRole(ctx, ann, room, bob.ID, "moderator")
	if err != nil || v.Role != agency.Moderator || v.ID != bob.ID || v.Online == nil || v.JoinedAt == nil {
		t.Fatal(v, err)
	}
	for _, err := range []error{
		setRole(w, ann, room, bob, agency.Moderator), // no change, no event
		setRole(w, ann, room, bob, agency.Member),
		setRole(w, ann, room, bob, agency.Moderator),
		w.Platform.Kick(ctx, bob, room, eve.ID, " spam "),
		w.Platform.Unban(ctx, bob, room, eve.ID),
	} {
		if err != nil && kernel.AsError(err).Code != kernel.CodeNotFound { // the last is not banned
			t.Fatal(err)
		}
	}
	if _, err := w.Platform.Ban(ctx, bob, room, eve.ID, "again", "1h"); err != nil {
		t.Fatal(err)
	}
	if err := w.Platform.Unban(ctx, ann, room, eve.ID); err != nil {
		t.Fatal(err)
	}
	until := w.Clock.Now().UnixMilli() + 3_600_000
	got := logOf(w, room, from)
	for i, want := range []logged{
		{Kind: "role", Role: agency.Moderator, Was: agency.Member, Count: 3},
		{Kind: "role", Role: agency.Member, Was: agency.Moderator, Count: 3},
		{Kind: "role", Role: agency.Moderator, Was: agency.Member, Count: 3},
		{Kind: "kicked", Role: agency.Member, Reason: "spam", Count: 2},
		{Kind: "banned", Reason: "again", Until: until, Count: 2},
		{Kind: "unbanned", Count: 2},
	} {
		by, member := ann.ID, bob.ID
		if i >= 3 {
			member = eve.ID
		}
		if i == 3 || i == 4 {
			by = bob.ID
		}
		g := got[i]
		if g.By == nil || g.By.ID != by || g.Member.ID != member {
			t.Errorf("event %d: %+v", i, g)
		}
		g.By, g.Member.ID = nil, ""
		if g != want {
			t.Errorf("event %d is %+v, want %+v", i, g, want)
		}
	}
	if len(got) != 6 {
		t.Errorf("%d events", len(got))
	}
}

func TestModerationOfOneself(t *testing.T) {
	w := actortest.New(t)
	s := &stage{World: w, boss: w.User("boss")}
	s.room = w.Room(s.boss, "Room", false)
	me := w.User("myself")
	roles := []agency.Role{agency.Owner, agency.Admin, agency.Moderator, agency.Member}
	for i, is := range roles {
		for j, next := range roles {
			s.cast(me, string(is))
			err := setRole(w, me, s.room, me, next)
			if j < i {
				actortest.Wants(t, fmt.Sprint(is, " makes itself ", next), err, kernel.CodeForbidden)
			} else if err != nil || roleOf(w, s.room, me) != next {
				t.Errorf("%s steps down to %s: %v", is, next, err)
			}
		}
		s.cast(me, string(is))
		actortest.Wants(t, "kick", w.Platform.Kick(ctx, me, s.room, me.ID, ""), kernel.CodeInvalid)
		_, err := w.Platform.Ban(ctx, me, s.room, me.ID, "", "")
		actortest.Wants(t, "ban", err, kernel.CodeInvalid)
		if is == agency.Owner {
			_, _, err = w.Platform.TransferAgency(ctx, me, s.room, me.ID, "")
			actortest.Wants(t, "transfer", err, kernel.CodeInvalid)
		}
	}
	s.cast(me, "member")
	for _, next := range roles[1:] {
		actortest.Wants(t, "the last owner steps down", setRole(w, s.boss, s.room, s.boss, next), kernel.CodeTaken)
	}
	w.Crash()
	actortest.Wants(t, "after a crash", setRole(w, s.boss, s.room, s.boss, agency.Member), kernel.CodeTaken)
}

func TestTransfer(t *testing.T) {
	w := actortest.New(t)
	ann, bob := w.User("ann"), w.User("Bob")
	room := w.Room(ann, "Room", true)
	w.Join(room, bob)
	from := end(w, room)
	v, owner, err := w.Platform.TransferAgency(ctx, ann, room, "", "bOB")
	if err != nil || v.ID != room || *v.Role != agency.Admin || owner.ID != bob.ID {
		t.Fatal(v, owner, err)
	}
	if got := logOf(w, room, from); len(got) != 2 || got[0].Role != agency.Owner || got[1].Role != agency.Admin || got[1].Was != agency.Owner {
		t.Errorf("%+v", got)
	}
	w.Crash()
	if roleOf(w, room, ann) != agency.Admin || roleOf(w, room, bob) != agency.Owner {
		t.Error(roleOf(w, room, ann), roleOf(w, room, bob))
	}
	if err := w.Platform.Leave(ctx, ann, room); err != nil {
		t.Errorf("the old owner leaves: %v", err)
	}
	actortest.Wants(t, "the new one leaves", w.Platform.Leave(ctx, bob, room), kernel.CodeTaken)
	_, _, err = w.Platform.TransferAgency(ctx, ann, room, bob.ID, "")
	actortest.Wants(t, "an outsider of a private agency", err, kernel.CodeNotFound)
	for _, id := range []string{"nobody", "a/b", ann.ID} {
		_, _, err = w.Platform.TransferAgency(ctx, bob, room, id, "Bob")
		actortest.Wants(t, id, err, kernel.CodeNotFound)
	}
	_, _, err = w.Platform.TransferAgency(ctx, bob, room, "", strings.Repeat("x", 4096))
	actortest.Wants(t, "a long name", err, kernel.CodeNotFound)
}

func TestNobodyModeratesTheLobby(t *testing.T) {
	w := actortest.New(t)
	ann, bob := w.User("ann"), w.User("bob")
	w.Join(agency.LobbyID, ann, bob)
	_, ban := w.Platform.Ban(ctx, ann, agency.LobbyID, bob.ID, "", "")
	_, bans := w.Platform.Bans(ctx, ann, agency.LobbyID, 0, "")
	_, _, transfer := w.Platform.TransferAgency(ctx, ann, agency.LobbyID, bob.ID, "")
	_, invite := w.Platform.CreateInvite(ctx, ann, agency.LobbyID, nil, "")
	_, invites := w.Platform.Invites(ctx, ann, agency.LobbyID)
	for act, err := range map[string]error{
		"role": setRole(w, ann, agency.LobbyID, bob, agency.Member), "own role": setRole(w, ann, agency.LobbyID, ann, agency.Member),
		"kick": w.Platform.Kick(ctx, ann, agency.LobbyID, bob.ID, ""), "unban": w.Platform.Unban(ctx, ann, agency.LobbyID, bob.ID),
		"ban": ban, "bans": bans, "transfer": transfer, "invite": invite, "invites": invites,
		"revoke": w.Platform.RevokeInvite(ctx, ann, agency.LobbyID, "x"),
	} {
		actortest.Wants(t, act, err, kernel.CodeForbidden)
		if !strings.Contains(err.Error(), "Lobby") {
			t.Errorf("%s: %v does not say why", act, err)
		}
	}
}

func TestReasonsAreBounded(t *testing.T) {
	w := actortest.New(t)
	ann, bob := w.User("ann"), w.User("bob")
	room := w.Room(ann, "Room", false)
	w.Join(room, bob)
	for _, reason := range []string{strings.Repeat("ä", agency.MaxReason+1), "a\x00b"} {
		actortest.Wants(t, "kick", w.Platform.Kick(ctx, ann, room, bob.ID, reason), kernel.CodeInvalid)
		_, err := w.Platform.Ban(ctx, ann, room, bob.ID, reason, "")
		actortest.Wants(t, "ban", err, kernel.CodeInvalid)
	}
	if err := w.Platform.Kick(ctx, ann, room, bob.ID, strings.Repeat("ä", agency.MaxReason)); err != nil {
		t.Error(err)
	}
}

// Of two owners who step down at the same time one stays.
func TestOwnersStepDownAtOnce(t *testing.T) {
	w := actortest.New(t)
	ann, bob := w.User("ann"), w.User("bob")
	for round := range 20 {
		room := w.Room(ann, fmt.Sprint("Room ", round), false)
		w.Join(room, bob)
		if err := setRole(w, ann, room, bob, agency.Owner); err != nil {
			t.Fatal(err)
		}
		w.Sleep(agency.Ref(room)) // the members are to be read again
		var errs [3]error
		var wg sync.WaitGroup
		wg.Go(func() { errs[0] = setRole(w, ann, room, ann, agency.Member) })
		wg.Go(func() { errs[1] = w.Platform.Leave(ctx, bob, room) })
		wg.Wait()
		if (errs[0] == nil) == (errs[1] == nil) {
			t.Fatalf("round %d: %v, %v", round, errs[0], errs[1])
		}
		owners := 0
		for _, who := range []*platform.Identity{ann, bob} {
			if roleOf(w, room, who) == agency.Owner {
				owners++
			}
		}
		if owners != 1 {
			t.Fatalf("%d owners", owners)
		}
	}
}

// Somebody who is made an owner while being banned is either an owner or banned, whoever comes first; and one who was
// demoted on the way does nothing any more.
func TestBanMeetsPromotion(t *testing.T) {
	w := actortest.New(t)
	s := &stage{World: w, boss: w.User("boss")}
	mod, bob := w.User("mod"), w.User("bob")
	for round := range 30 {
		s.room = w.Room(s.boss, fmt.Sprint("Room ", round), false)
		s.cast(mod, "moderator")
		s.cast(bob, "member")
		w.Sleep(agency.Ref(s.room))
		var wg sync.WaitGroup
		var ban, rise, fall error
		wg.Go(func() { _, ban = w.Platform.Ban(ctx, mod, s.room, bob.ID, "", "") })
		wg.Go(func() { rise = setRole(w, s.boss, s.room, bob, agency.Owner) })
		wg.Go(func() { fall = setRole(w, s.boss, s.room, mod, agency.Member) })
		wg.Wait()
		role, out := roleOf(w, s.room, bob), s.isBanned(bob)
		switch {
		case fall != nil:
			t.Fatal(fall)
		case ban == nil && (!out || role != "" || rise == nil && !roseFirst(w, s.room)):
			t.Fatalf("round %d: banned, but %q and banned %v, promotion %v", round, role, out, rise)
		case ban != nil && (out || rise != nil || role != agency.Owner):
			t.Fatalf("round %d: not banned (%v), but %q and banned %v, promotion %v", round, ban, role, out, rise)
		}
	}
}

// roseFirst reports whether the log has the promotion to owner before the ban, which can't be.
func roseFirst(w *actortest.World, room string) bool {
	for _, l := range logOf(w, room, 0) {
		if l.Kind == "banned" {
			return false
		}
		if l.Kind == "role" && l.Role == agency.Owner {
			return true
		}
	}
	return false
}

// An agency whose owner is deleted while it is handed over loses the deleted one either way.
func TestTransferMeetsDeletion(t *testing.T) {
	w := actortest.New(t)
	for round := range 20 {
		ann, bob, eve := w.User(fmt.Sprint("ann", round)), w.User(fmt.Sprint("bob", round)), w.User(fmt.Sprint("eve", round))
		room := w.Room(ann, "Room", false)
		w.Join(room, eve, bob)
		w.Sleep(agency.Ref(room))
		var wg sync.WaitGroup
		wg.Go(func() { _, _, _ = w.Platform.TransferAgency(ctx, ann, room, bob.ID, "") })
		wg.Go(func() {
			if _, err := ask[kernel.Done](w, room, agency.Forget{Who: ann.Sender}); err != nil {
				t.Error(err)
			}
		})
		wg.Wait()
		owners := 0
		for _, who := range []*platform.Identity{bob, eve} {
			if roleOf(w, room, who) == agency.Owner {
				owners++
			}
		}
		if owners != 1 || roleOf(w, room, ann) != "" {
			t.Fatalf("round %d: %d owners, the deleted one is %q", round, owners, roleOf(w, room, ann))
		}
	}
}

// The sockets of those who are kicked or banned leave the room, and hear no more of it; the others are told.
func TestSocketsOfTheKicked(t *testing.T) {
	w := actortest.New(t)
	ann, bob := w.User("ann"), w.User("bob")
	room := w.Room(ann, "Room", true)
	watching, watcher := w.Connect(ann)
	if _, err := actortest.Do(watching, session.Join{AgencyID: room}); err != nil {
		t.Fatal(err)
	}
	for _, change := range []string{"kicked", "banned"} {
		w.Join(room, bob)
		sitting, socket := w.Connect(bob)
		if _, err := actortest.Do(sitting, session.Join{AgencyID: room}); err != nil {
			t.Fatal(err)
		}
		var err error
		if change == "kicked" {
			err = w.Platform.Kick(ctx, ann, room, bob.ID, "")
		} else {
			_, err = w.Platform.Ban(ctx, ann, room, bob.ID, "", "")
		}
		if err != nil {
			t.Fatal(err)
		}
		w.Eventually("agency-left", func() bool { return len(socket.Named(mirror.EventAgencyLeft)) == 1 })
		w.Eventually("news of it", func() bool {
			for _, e := range watcher.Named(agency.EventMembersUpdated) {
				var b struct {
					Change      string
					MemberCount int
					Member      struct{ ID string }
				}
				if err := json.Unmarshal(e.Data, &b); err != nil {
					t.Fatal(err)
				}
				if b.Change == change && b.MemberCount == 1 && b.Member.ID == bob.ID {
					return true
				}
			}
			return false
		})
		before := len(watcher.Named(agency.EventMessage))
		w.Post(ann, room, "without bob")
		w.Eventually("the message", func() bool { return len(watcher.Named(agency.EventMessage)) == before+1 })
		if n := len(socket.Named(agency.EventMessage)); n != 0 {
			t.Errorf("%s, and got %d messages", change, n)
		}
		_, err = actortest.Do(sitting, session.Send{AgencyID: room, Message: agency.NewMessage{Content: "x"}})
		actortest.Wants(t, "a post of the "+change, err, kernel.CodeNotFound)
		_, err = actortest.Do(sitting, session.Join{AgencyID: room})
		actortest.Wants(t, "a join of the "+change, err, kernel.CodeNotFound)
	}
}
