package mirror_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"parley/actors/actortest"
	"parley/actors/agency"
	"parley/actors/kernel"
	"parley/actors/mirror"
	"parley/actors/platform"
	"parley/actors/session"
	"parley/persistence"
	"parley/persistence/storetest"
)

func TestRoomSeesWhatHappens(t *testing.T) {
	w := actortest.New(t)
	ann, bob := w.User("ann"), w.User("bob")
	room, other := w.Room(ann, "Room", false), w.Room(ann, "Other", false)
	s, socket := w.Connect(ann)
	enter(t, s, socket, room, nil)
	sb, sockb := w.Connect(bob)
	enter(t, sb, sockb, room, nil) // becomes a member
	m := w.Post(bob, room, "hello")
	w.Post(ann, other, "elsewhere")
	if _, err := w.Platform.EditMessage(ctx, bob, room, m.ID, "edited"); err != nil {
		t.Fatal(err)
	}
	if err := w.Platform.DeleteMessage(ctx, ann, room, m.ID); err != nil {
		t.Fatal(err)
	}
	want := map[string]map[string]any{
		agency.EventMessage:        {"id": m.ID, "content": "hello", "agency_id": room, "sender_id": bob.ID, "seq": float64(m.Seq)},
		agency.EventMessageEdited:  {"messageId": m.ID, "agencyId": room, "agency_id": room, "content": "edited", "seq": float64(m.Seq + 1)},
		agency.EventMessageDeleted: {"messageId": m.ID, "agencyId": room, "agency_id": room, "seq": float64(m.Seq + 2)},
	}
	for _, one := range []*actortest.Socket{socket, sockb} {
		w.Eventually("the deletion", func() bool { return len(one.Named(agency.EventMessageDeleted)) == 1 })
		for name, fields := range want {
			events := one.Named(name)
			if len(events) != 1 {
				t.Fatalf("%d times %s", len(events), name)
			}
			var got map[string]any
			if err := json.Unmarshal(events[0].Data, &got); err != nil {
				t.Fatal(err)
			}
			for k, v := range fields {
				if got[k] != v {
					t.Errorf("%s: %s is %v, want %v", name, k, got[k], v)
				}
			}
		}
	}
	w.Eventually("news of the member", func() bool { return len(socket.Named(agency.EventMembersUpdated)) == 1 })
	var news struct {
		Change      string
		MemberCount int
		Member      struct{ ID string }
	}
	if err := json.Unmarshal(socket.Named(agency.EventMembersUpdated)[0].Data, &news); err != nil || news.Change != "joined" || news.Member.ID != bob.ID || news.MemberCount != 2 {
		t.Errorf("%+v, %v", news, err)
	}
	if _, err := actortest.Do(s, session.Leave{AgencyID: room}); err != nil || len(socket.Named(mirror.EventAgencyLeft)) != 1 {
		t.Error(err)
	}
	seen := len(socket.Events())
	eventuallySees(w, sockb, w.Post(ann, room, "without me").Seq)
	if len(socket.Events()) != seen {
		t.Error("an event after leaving")
	}
}

// An agency's actor that fails after its commit, or whose commit is answered with an error although it is stored, costs
// the sockets nothing.
func TestAgencyFailuresLoseNothing(t *testing.T) {
	for name, hurt := range map[string]func(w *actortest.World){
		"panic before it publishes": func(w *actortest.World) { w.Publisher.FailNext() },
		"lost reply":                func(w *actortest.World) { w.Faults.Script(storetest.LoseReply) },
	} {
		t.Run(name, func(t *testing.T) {
			w := actortest.New(t)
			ann := w.User("ann")
			room := w.Room(ann, "Room", false)
			s, socket := w.Connect(ann)
			enter(t, s, socket, room, nil)
			for i := range 5 {
				hurt(w)
				_, _, _ = w.Platform.Post(ctx, ann, room, agency.NewMessage{Content: fmt.Sprint(i)})
			}
			w.Post(ann, room, "last")
			log := hard(t, w, room, 0)
			if len(log) != 6 {
				t.Fatalf("%d in the log", len(log))
			}
			eventuallySees(w, socket, log[5])
			var seen []uint64
			for _, e := range socket.Named(agency.EventMessage) {
				seen = append(seen, e.Seq)
			}
			if fmt.Sprint(seen) != fmt.Sprint(log) {
				t.Errorf("saw %v, want %v", seen, log)
			}
		})
	}
}

// The end of an agency reaches its sockets also when the actor fails in the midst of it.
func TestEndReachesSockets(t *testing.T) {
	for _, fails := range []bool{false, true} {
		w := actortest.New(t)
		ann, bob := w.User("ann"), w.User("bob")
		room := w.Room(ann, "Room", false)
		w.Join(room, bob)
		s, socket := w.Connect(bob)
		enter(t, s, socket, room, nil)
		if fails {
			w.Publisher.FailNext()
		}
		if err := w.Platform.DeleteAgency(ctx, ann, room); err != nil {
			t.Fatal(err)
		}
		w.Eventually("the end", func() bool { return len(socket.Named(agency.EventAgencyDeleted)) == 1 })
		_, err := actortest.Do(s, session.Join{AgencyID: room})
		actortest.Wants(t, "join what has ended", err, kernel.CodeNotFound)
		w.Eventually("an end to the seat", func() bool {
			_, err := actortest.Do(s, session.Leave{AgencyID: room})
			return err != nil
		})
		w.Sleep(mirror.Ref(room))
		w.Sleep(agency.Ref(room))
	}
}

func TestMirrorFailure(t *testing.T) {
	w := actortest.New(t)
	ann, bob := w.User("ann"), w.User("bob")
	room := w.Room(ann, "Room", false)
	w.Join(room, bob)
	s, socket := w.Connect(ann)
	j := enter(t, s, socket, room, nil)
	sb, sockb := w.Connect(bob)
	enter(t, sb, sockb, room, nil)
	sockb.FailNext()
	m := w.Post(ann, room, "x")
	w.Eventually("restarts", func() bool { return socket.Restarts() == 1 && sockb.Restarts() == 1 })
	s.Close()
	s2, socket2 := w.Connect(ann)
	if back := enter(t, s2, socket2, room, at(j.Seq)); !*back.Recovered || fmt.Sprint(missed(back)) != fmt.Sprint([]uint64{m.Seq}) {
		t.Errorf("%+v", back)
	}
	eventuallySees(w, socket2, w.Post(ann, room, "y").Seq)
}

// Who is no member any more sees nothing more.
func TestEviction(t *testing.T) {
	for name, end := range map[string]func(w *actortest.World, who *platform.Identity, room string) error{
		"leave": func(w *actortest.World, who *platform.Identity, room string) error {
			return w.Platform.Leave(ctx, who, room)
		},
		"account": func(w *actortest.World, who *platform.Identity, _ string) error {
			return w.Platform.DeleteAccount(ctx, who, nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := actortest.New(t)
			ann, bob := w.User("ann"), w.User("bob")
			room := w.Room(ann, "Room", false)
			w.Join(room, bob)
			s, socket := w.Connect(ann)
			enter(t, s, socket, room, nil)
			var bobs []*actortest.Socket
			var last *session.Session
			for range 3 {
				sb, one := w.Connect(bob)
				enter(t, sb, one, room, nil)
				bobs, last = append(bobs, one), sb
			}
			if err := end(w, bob, room); err != nil {
				t.Fatal(err)
			}
			eventuallySees(w, socket, w.Post(ann, room, "without bob").Seq)
			for _, one := range bobs {
				if events := one.Events(); len(one.Named(agency.EventMessage)) != 0 || len(one.Named(mirror.EventAgencyLeft)) != 1 ||
					events[len(events)-1].Name != mirror.EventAgencyLeft {
					t.Errorf("%d events, the last is %s", len(events), events[len(events)-1].Name)
				}
			}
			if name == "account" {
				return
			}
			w.Eventually("an end to the seat", func() bool {
				_, err := actortest.Do(last, session.Leave{AgencyID: room})
				return err != nil
			})
			enter(t, last, bobs[2], room, nil) // comes back as a new member
			eventuallySees(w, bobs[2], w.Post(ann, room, "with bob").Seq)
		})
	}
}

// counting counts what is read.
type counting struct {
	persistence.Store
	reads, rows *atomic.Int64
}

func (c counting) Document(ctx context.Context, collection, key string) ([]byte, error) {
	c.reads.Add(1)
	return c.Store.Document(ctx, collection, key)
}

func (c counting) Documents(ctx context.Context, collection string, r persistence.Range) ([]persistence.Document, error) {
	c.reads.Add(1)
	rows, err := c.Store.Documents(ctx, collection, r)
	c.rows.Add(int64(len(rows)))
	return rows, err
}

// The list of members is bounded, with those online first, and joining costs the same in a large room and a huge one.
func TestMembersList(t *testing.T) {
	var reads, rows atomic.Int64
	w := actortest.NewOver(t, func(s persistence.Store) persistence.Store { return counting{s, &reads, &rows} })
	ann := w.User("ann")
	cost := func(members int) (int64, int64) {
		room := w.Room(ann, fmt.Sprint("Room ", members), false)
		w.Populate(room, members)
		zoe := w.UserAs("zoe")
		w.Join(room, zoe) // sorts behind all others
		sz, sockz := w.Connect(zoe)
		enter(t, sz, sockz, room, nil)
		time.Sleep(1100 * time.Millisecond) // the list of a large room lives for a second
		reads.Store(0)
		rows.Store(0)
		s, socket := w.Connect(ann)
		j := enter(t, s, socket, room, nil)
		seen := map[string]bool{}
		for _, m := range j.Members {
			seen[m.ID] = true
		}
		if len(j.Members) > 200 || len(seen) != len(j.Members) || j.MemberCount != int64(members+2) {
			t.Errorf("%d members: %d listed, %d different, count %d", members, len(j.Members), len(seen), j.MemberCount)
		}
		return reads.Load(), rows.Load()
	}
	r1, n1 := cost(400)
	r2, n2 := cost(4000)
	if r1 != r2 || n1 != n2 || n1 > 210 || r1 > 500 {
		t.Errorf("a join into 400 members: %d reads, %d rows; into 4000: %d and %d", r1, n1, r2, n2)
	}
}

// join adds members with profiles straight to the store's lists, through the actor.
func join(t *testing.T, w *actortest.World, room string, n int) {
	t.Helper()
	var wg sync.WaitGroup
	for part := range 8 {
		wg.Go(func() {
			for i := part; i < n; i += 8 {
				_, err := kernel.Ask[*agency.Entered](ctx, w.Local, agency.Ref(room), agency.AddMember{Who: w.UserAs(fmt.Sprintf("m%06d", i)).Sender})
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// Those online come first although others sort before them.
func TestMembersOnlineFirst(t *testing.T) {
	w := actortest.New(t)
	ann := w.User("ann")
	room := w.Room(ann, "Room", false)
	var all []*platform.Identity
	for i := range 220 {
		all = append(all, w.User(fmt.Sprint("user", i)))
	}
	w.Join(room, all...)
	var last *platform.Identity
	for _, u := range all {
		if last == nil || u.ID > last.ID {
			last = u
		}
	}
	sl, sockl := w.Connect(last)
	enter(t, sl, sockl, room, nil)
	time.Sleep(1100 * time.Millisecond) // the list of a large room lives for a second
	s, socket := w.Connect(ann)
	j := enter(t, s, socket, room, nil)
	if len(j.Members) != 200 || j.Members[0].ID != last.ID || j.MemberCount != 221 {
		t.Errorf("%d members, %d counted, the one online is not the first", len(j.Members), j.MemberCount)
	}
}

// A room that fills up tells its few live members of every change, gathered, and of the last one for certain.
func TestGathering(t *testing.T) {
	const joins = 300
	w := actortest.New(t)
	ann := w.User("ann")
	room := w.Room(ann, "Room", false)
	s, socket := w.Connect(ann)
	enter(t, s, socket, room, nil)
	join(t, w, room, joins)
	count := func() (n int) {
		list := socket.Named(agency.EventMembersUpdated)
		if len(list) == 0 {
			return 0
		}
		var b struct{ MemberCount int }
		if err := json.Unmarshal(list[len(list)-1].Data, &b); err != nil {
			t.Fatal(err)
		}
		return b.MemberCount
	}
	w.Eventually("the last news", func() bool { return count() == joins+1 })
	if n := len(socket.Named(agency.EventMembersUpdated)); n != joins {
		t.Errorf("%d of %d changes were told", n, joins)
	}
}

func TestRoomsWithoutSocketsSleep(t *testing.T) {
	w := actortest.New(t)
	ann := w.User("ann")
	room := w.Room(ann, "Room", false)
	s, socket := w.Connect(ann)
	enter(t, s, socket, room, nil)
	for range 20 {
		w.Local.TellResident(mirror.Ref(room), kernel.Sweep{})
		w.Local.TellResident(agency.Ref(room), kernel.Sweep{})
	}
	eventuallySees(w, socket, w.Post(ann, room, "x").Seq)
	s.Close()
	w.Sleep(mirror.Ref(room))
	w.Sleep(agency.Ref(room))
}

func TestEventIsEncodedOnce(t *testing.T) {
	e := &mirror.Event{Name: "x"}
	n := 0
	encode := func(*mirror.Event) any { n++; return n }
	for range 3 {
		if e.Encoded(mirror.Plain, encode) != 1 || e.Encoded(mirror.SocketIO, func(*mirror.Event) any { return "y" }) != "y" {
			t.Error("encodings are mixed up")
		}
	}
	if n != 1 {
		t.Errorf("encoded %d times", n)
	}
}
