package session_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"parley/actors/account"
	"parley/actors/actortest"
	"parley/actors/agency"
	"parley/actors/mirror"
	"parley/actors/platform"
	"parley/actors/session"
)

var ctx = context.Background()

// connectAgain connects and resumes, as the transport does.
func connectAgain(t *testing.T, w *actortest.World, who *platform.Identity) (*session.Session, *actortest.Socket) {
	t.Helper()
	s, socket := w.Connect(who)
	s.Resume(ctx)
	return s, socket
}

func do(t *testing.T, s *session.Session, op any) {
	t.Helper()
	if _, err := actortest.Do(s, op); err != nil {
		t.Fatalf("%T: %v", op, err)
	}
}

// invited are the agencies that a socket was told of by agency-invited.
func invited(t *testing.T, s *actortest.Socket) []string {
	t.Helper()
	list := []string{}
	for _, e := range s.Named(platform.EventAgencyInvited) {
		var d struct {
			AgencyID string `json:"agencyId"`
			Agency   struct{ ID, Name, Slug string }
		}
		if err := json.Unmarshal(e.Data, &d); err != nil || d.AgencyID != d.Agency.ID || d.Agency.Slug == "" {
			t.Errorf("agency-invited is %s, %v", e.Data, err)
		}
		list = append(list, d.AgencyID)
	}
	slices.Sort(list)
	return list
}

// hears waits until a socket has got a message that is posted again and again: its seat may still be on its way.
func hears(t *testing.T, w *actortest.World, by *platform.Identity, room string, s *actortest.Socket) {
	t.Helper()
	seen := len(s.Named(agency.EventMessage))
	w.Eventually("a message", func() bool {
		w.Post(by, room, "hello?")
		time.Sleep(5 * time.Millisecond)
		return len(s.Named(agency.EventMessage)) > seen
	})
}

// The ends of a server's life that a client survives.
func TestRoomsComeBack(t *testing.T) {
	for name, between := range map[string]func(w *actortest.World, lose func()){
		"at once":         func(_ *actortest.World, lose func()) { lose() },
		"after a restart": func(w *actortest.World, lose func()) { lose(); w.Restart() },
		"after a crash": func(w *actortest.World, lose func()) {
			w.Eventually("documents", func() bool { w.Watch.Note(); return len(w.Documents("seats")) > 0 })
			lose()
			w.Crash()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := actortest.New(t)
			ann, bob := w.User("ann"), w.User("bob")
			one, two, kicked := w.Room(ann, "One", false), w.Room(ann, "Two", true), w.Room(ann, "Kicked", false)
			w.Join(two, bob)
			v, _, err := w.Platform.OpenDM(ctx, ann, bob.ID)
			if err != nil {
				t.Fatal(err)
			}
			s, socket := w.Connect(bob)
			for _, room := range []string{one, two, kicked, v.ID} {
				do(t, s, session.Join{AgencyID: room})
			}
			w.Eventually("all joined", func() bool { return len(socket.Named(mirror.EventAgencyJoined)) == 4 })
			between(w, s.Lose)
			if err := w.Platform.Kick(ctx, ann, kicked, bob.ID, ""); err != nil {
				t.Fatal(err)
			}
			again, back := connectAgain(t, w, bob)
			for _, room := range []string{one, two, v.ID} {
				hears(t, w, ann, room, back)
			}
			want := []string{one, two}
			slices.Sort(want)
			w.Eventually("the nudge", func() bool { return len(invited(t, back)) == 2 })
			if got := fmt.Sprint(invited(t, back)); got != fmt.Sprint(want) || len(back.Named(mirror.EventAgencyJoined)) != 0 {
				t.Errorf("invited to %s, want %v; %d joined", got, want, len(back.Named(mirror.EventAgencyJoined)))
			}
			if p, err := w.Platform.Agency(ctx, bob, kicked); err != nil || p.IsMember {
				t.Errorf("who was kicked is a member again: %+v, %v", p, err)
			}
			do(t, again, session.Join{AgencyID: one})
			if len(back.Named(mirror.EventAgencyJoined)) != 1 {
				t.Error("a join of a restored room is not answered")
			}
			again.Close() // by its own will: nothing is kept
			w.Watch.Note()
			_, third := connectAgain(t, w, bob)
			w.Post(ann, one, "nobody hears it")
			time.Sleep(50 * time.Millisecond)
			if n := len(third.Named(agency.EventMessage)); n != 0 {
				t.Errorf("%d messages after the client's own end", n)
			}
		})
	}
}

// Who joins by itself is not nudged, and neither is another login of the same account, nor one that comes back late.
func TestWhoIsNotNudged(t *testing.T) {
	t.Parallel()
	w := actortest.New(t)
	ann, bob := w.User("ann"), w.User("bob")
	room, other := w.Room(ann, "One", false), w.Room(ann, "Other", false)
	lose := func() {
		s, _ := connectAgain(t, w, bob)
		do(t, s, session.Join{AgencyID: room})
		do(t, s, session.Join{AgencyID: other})
		s.Lose()
		w.Eventually("it is gone", func() bool { return !w.Registry.Online(bob.ID) })
	}
	lose()
	stranger := *bob
	stranger.Session = "another"
	_, foreign := connectAgain(t, w, &stranger)
	back, joiner := connectAgain(t, w, bob)
	do(t, back, session.Join{AgencyID: room})
	time.Sleep(2 * time.Second) // the nudge comes after 1.5 s
	if a, b := invited(t, joiner), invited(t, foreign); len(a)+len(b) != 0 {
		t.Errorf("nudged: %v, %v", a, b)
	}
	hears(t, w, ann, other, joiner)
	if n := len(foreign.Named(agency.EventMessage)); n != 0 {
		t.Error("another login got the rooms")
	}
	back.Lose()
	w.Eventually("the rooms are kept", func() bool { return !w.Registry.Kept(bob.Session).IsZero() })
	w.Clock.Advance(session.KeepRooms + time.Second)
	w.Watch.Look()
	_, late := connectAgain(t, w, bob)
	w.Post(ann, room, "too late")
	time.Sleep(50 * time.Millisecond)
	if n := len(late.Named(agency.EventMessage)); n != 0 {
		t.Error("rooms came back after their time")
	}
	w.Watch.Note()
	if docs := w.Documents("seats"); len(docs) != 0 {
		t.Errorf("%d documents stay", len(docs))
	}
}

// A client that is back before the server has noticed that it was gone gets its rooms when it notices.
func TestBackBeforeNoticed(t *testing.T) {
	t.Parallel()
	w := actortest.New(t)
	ann, bob := w.User("ann"), w.User("bob")
	room := w.Room(ann, "One", false)
	s, _ := w.Connect(bob)
	do(t, s, session.Join{AgencyID: room})
	_, back := connectAgain(t, w, bob)
	s.Lose()
	hears(t, w, ann, room, back)
	w.Eventually("the nudge", func() bool { return len(invited(t, back)) == 1 })
}

// Documents of an earlier life go when nobody came back for them.
func TestForgottenRooms(t *testing.T) {
	t.Parallel()
	w := actortest.New(t)
	ann := w.User("ann")
	room := w.Room(ann, "One", false)
	s, _ := w.Connect(ann)
	do(t, s, session.Join{AgencyID: room})
	w.Eventually("a document", func() bool { w.Watch.Note(); return len(w.Documents("seats")) == 1 })
	s.Lose()
	w.Crash()
	w.Clock.Advance(session.KeepRooms + time.Second)
	w.Watch.Look()
	w.Watch.Note()
	if n := len(w.Documents("seats")); n != 0 {
		t.Errorf("%d documents stay", n)
	}
}

func TestExpiry(t *testing.T) {
	t.Parallel()
	w := actortest.New(t)
	ann := w.User("ann")
	bot, err := w.Platform.RegisterAgent(ctx, platform.SelfRegistration{Name: "bot"})
	if err != nil {
		t.Fatal(err)
	}
	token, _, err := w.Platform.ExchangeAgentToken(ctx, bot.Token)
	if err != nil {
		t.Fatal(err)
	}
	id, err := w.Platform.Authenticate(ctx, token)
	if err != nil || id.Expires == 0 {
		t.Fatal(id, err)
	}
	s, agent := w.Connect(id)
	user := *ann
	user.Expires = w.Clock.Now().Add(account.SessionLife).UnixMilli()
	_, socket := w.Connect(&user)
	forever := *ann
	forever.Session, forever.Expires = "pat", 0
	_, stays := w.Connect(&forever)
	valid := func() bool { _, err := w.Platform.Authenticate(ctx, token); return err == nil }
	extended := func() {
		w.Eventually("the extension", func() bool {
			w.Watch.Look()
			i, err := w.Platform.Authenticate(ctx, token)
			return err == nil && i.Expires >= w.Clock.Now().Add(account.SessionLife).UnixMilli()
		})
	}
	extended()
	for range 40 {
		w.Clock.Advance(12 * time.Hour)
		extended()
	}
	if !valid() || agent.Revocations() != 0 {
		t.Error("an agent's session has ended while it was connected")
	}
	if socket.Revocations() == 0 || stays.Revocations() != 0 {
		t.Errorf("told that its session has expired: %d, without an end %d", socket.Revocations(), stays.Revocations())
	}
	s.Close()
	w.Clock.Advance(account.SessionLife - time.Minute)
	if !valid() {
		t.Error("it has ended before its time after the connection")
	}
	w.Clock.Advance(account.SessionSlack + 2*time.Minute)
	if valid() {
		t.Error("it has not ended")
	}
}

// A session that is extended a day is written once a day.
func TestExtensionsAreRare(t *testing.T) {
	t.Parallel()
	w := actortest.New(t)
	bot, err := w.Platform.RegisterAgent(ctx, platform.SelfRegistration{Name: "bot"})
	if err != nil {
		t.Fatal(err)
	}
	token, _, err := w.Platform.ExchangeAgentToken(ctx, bot.Token)
	if err != nil {
		t.Fatal(err)
	}
	id, err := w.Platform.Authenticate(ctx, token)
	if err != nil {
		t.Fatal(err)
	}
	w.Connect(id)
	ends := map[int64]bool{}
	for range 3 * 24 * 4 {
		w.Clock.Advance(15 * time.Minute)
		w.Watch.Look()
		if id, err = w.Platform.Authenticate(ctx, token); err != nil {
			t.Fatal(err)
		}
		ends[id.Expires] = true
	}
	if len(ends) > 5 {
		t.Errorf("written %d times in three days", len(ends))
	}
}

func TestNewNames(t *testing.T) {
	t.Parallel()
	w := actortest.New(t)
	ann := w.User("ann")
	room := w.Room(ann, "One", false)
	s, socket := w.Connect(ann)
	do(t, s, session.Join{AgencyID: room})
	name := "Ann the Second"
	if _, err := w.Platform.UpdateProfile(ctx, ann, account.ProfileUpdate{DisplayName: &name}); err != nil {
		t.Fatal(err)
	}
	do(t, s, session.Send{AgencyID: room, Message: agency.NewMessage{Content: "x"}})
	w.Eventually("the message", func() bool { return len(socket.Named(agency.EventMessage)) == 1 })
	if m, err := agency.DecodeMessage(socket.Named(agency.EventMessage)[0].Data); err != nil || m.SenderDisplayName != name {
		t.Errorf("%+v, %v", m, err)
	}
	old := account.Sender{ID: ann.ID, Username: "ann", DisplayName: "stale"}
	s.Confirm(old)
	s.Confirm(ann.Sender)
	if s.Who() != ann.Sender {
		t.Error(s.Who())
	}
}
