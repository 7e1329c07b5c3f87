package mirror_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"parley/actors/actortest"
	"parley/actors/agency"
	"parley/actors/kernel"
	"parley/actors/mirror"
	"parley/actors/platform"
	"parley/actors/session"
	"parley/persistence"
)

var ctx = context.Background()

// enter joins a room and returns the answer.
func enter(t testing.TB, s *session.Session, socket *actortest.Socket, room string, since *uint64) actortest.Joined {
	t.Helper()
	before := len(socket.Named(mirror.EventAgencyJoined))
	if _, err := actortest.Do(s, session.Join{AgencyID: room, Since: since}); err != nil {
		t.Fatalf("join: %v", err)
	}
	answers := socket.Named(mirror.EventAgencyJoined)
	if len(answers) != before+1 {
		t.Fatalf("%d answers to a join", len(answers)-before)
	}
	j, err := actortest.ReadJoined(answers[before])
	if err != nil || j.AgencyID != room {
		t.Fatal(j, err)
	}
	return j
}

func at(seq uint64) *uint64 { return &seq }

// hard returns the events of a log that clients must not miss: sequences above since.
func hard(t testing.TB, w *actortest.World, room string, since uint64) (list []uint64) {
	t.Helper()
	for {
		page, err := w.Store.Events(ctx, persistence.Stream(persistence.StreamAgency, room), since, 1000)
		if err != nil {
			t.Fatal(err)
		}
		if len(page) == 0 {
			return list
		}
		for i := range page {
			since = page[i].Seq
			e, ok, err := agency.Render(room, &page[i])
			if err != nil {
				t.Fatal(err)
			}
			if ok && !e.Soft {
				list = append(list, since)
			}
		}
	}
}

func missed(j actortest.Joined) (list []uint64) {
	for _, m := range j.Missed {
		list = append(list, m.Data.Seq)
	}
	return list
}

func TestRecovery(t *testing.T) {
	w := actortest.New(t)
	ann := w.User("ann")
	room := w.Room(ann, "Room", false)
	first := w.Post(ann, room, "first")
	second := w.Post(ann, room, "second")
	if _, err := w.Platform.EditMessage(ctx, ann, room, first.ID, "edited"); err != nil {
		t.Fatal(err)
	}
	if err := w.Platform.DeleteMessage(ctx, ann, room, second.ID); err != nil {
		t.Fatal(err)
	}
	w.Join(room, w.User("bob")) // soft: not repeated
	if _, err := w.Platform.UpdateAgency(ctx, ann, room, agency.Update{Name: func() *string { s := "New"; return &s }()}); err != nil {
		t.Fatal(err)
	}
	s, socket := w.Connect(ann)
	j := enter(t, s, socket, room, nil)
	last := j.Seq
	if j.Recovered != nil || j.Missed != nil || last != 8 {
		t.Errorf("a join without since: %+v", j)
	}
	for since := uint64(0); since <= last; since++ {
		j := enter(t, s, socket, room, at(since))
		if want := hard(t, w, room, since); j.Recovered == nil || !*j.Recovered || j.More || fmt.Sprint(missed(j)) != fmt.Sprint(want) {
			t.Errorf("since %d: %+v, want %v", since, j, want)
		}
	}
	j = enter(t, s, socket, room, at(2))
	var names []string
	for _, m := range j.Missed {
		names = append(names, m.Event)
	}
	if fmt.Sprint(names) != "[message message message-edited message-deleted agency-updated]" {
		t.Error(names)
	}
	for _, future := range []uint64{last + 1, 1 << 63, ^uint64(0)} {
		if j := enter(t, s, socket, room, at(future)); j.Recovered == nil || *j.Recovered || j.Missed != nil {
			t.Errorf("since %d: %+v", future, j)
		}
	}
	if m := w.Post(ann, room, "after"); !eventuallySees(w, socket, m.Seq) {
		t.Error("a socket that could not be recovered is not in the room")
	}
}

func eventuallySees(w *actortest.World, socket *actortest.Socket, seq uint64) bool {
	w.T.Helper()
	w.Eventually(fmt.Sprint("event ", seq), func() bool {
		for _, e := range socket.Events() {
			if e.Seq == seq && e.Name != mirror.EventAgencyJoined {
				return true
			}
		}
		return false
	})
	return true
}

func TestRecoveryLimits(t *testing.T) {
	w := actortest.New(t)
	ann := w.User("ann")
	room := w.Room(ann, "Room", false)
	fill(w, ann, room, 1001, "x")
	s, socket := w.Connect(ann)
	if j := enter(t, s, socket, room, at(2)); *j.Recovered {
		t.Errorf("1001 events were recovered")
	}
	var got []uint64
	for since, more := uint64(3), true; more; since = got[len(got)-1] {
		j := enter(t, s, socket, room, at(since))
		if !*j.Recovered || len(j.Missed) == 0 {
			t.Fatalf("1000 events: recovered %t, %d", *j.Recovered, len(j.Missed))
		}
		got, more = append(got, missed(j)...), j.More
	}
	if want := hard(t, w, room, 3); fmt.Sprint(got) != fmt.Sprint(want) || len(got) != 1000 {
		t.Errorf("%d events came", len(got))
	}
}

// fill posts messages at the same time.
func fill(w *actortest.World, who *platform.Identity, room string, n int, content string) {
	w.T.Helper()
	done := make(chan error, n)
	for range n {
		go func() {
			_, _, err := w.Platform.Post(ctx, who, room, agency.NewMessage{Content: content})
			done <- err
		}()
	}
	for range n {
		if err := <-done; err != nil {
			w.T.Fatal(err)
		}
	}
}

// What is missed comes in portions of 256 KB; the client takes its seat with the last one.
func TestRecoveryInPortions(t *testing.T) {
	w := actortest.New(t)
	ann, bob := w.User("ann"), w.User("bob")
	room := w.Room(ann, "Room", false)
	w.Join(room, bob)
	fill(w, ann, room, 60, strings.Repeat("x", 16_000))
	w.Post(ann, room, strings.Repeat("é<", 8_000)) // larger as JSON
	s, socket := w.Connect(bob)
	since, joins := uint64(3), 0
	var got []uint64
	for more := true; more; joins++ {
		answer := len(socket.Events())
		j := enter(t, s, socket, room, at(since))
		if !*j.Recovered || len(socket.Events()[answer].Data) > 300<<10 {
			t.Fatalf("portion %d: recovered %t, %d bytes", joins, *j.Recovered, len(socket.Events()[answer].Data))
		}
		part := missed(j)
		got = append(got, part...)
		since = part[len(part)-1]
		if more = j.More; more {
			w.Post(ann, room, "live") // not seated yet: comes with the next portion
			if len(socket.Events()) != answer+1 {
				t.Error("a live event came in front of a missed one")
			}
		}
	}
	if want := hard(t, w, room, 3); fmt.Sprint(got) != fmt.Sprint(want) || joins < 4 {
		t.Errorf("%d joins brought\n%v\nwant\n%v", joins, got, want)
	}
	eventuallySees(w, socket, w.Post(ann, room, "live").Seq)
}

func TestRecoveryBehindTheTrim(t *testing.T) {
	w := actortest.New(t)
	ann := w.User("ann")
	room := w.Room(ann, "Room", false)
	fill(w, ann, room, 20, "x")
	w.Sleep(agency.Ref(room))
	trim := func(upTo uint64) {
		t.Helper()
		if _, err := w.Store.Trim(ctx, persistence.Stream(persistence.StreamAgency, room), upTo, w.Clock.Now().AddDate(1, 0, 0)); err != nil {
			t.Fatal(err)
		}
	}
	trim(10)
	s, socket := w.Connect(ann)
	for since, recovered := range map[uint64]bool{0: false, 9: false, 10: true, 15: true, 22: true} {
		j := enter(t, s, socket, room, at(since))
		if *j.Recovered != recovered || recovered && fmt.Sprint(missed(j)) != fmt.Sprint(hard(t, w, room, since)) {
			t.Errorf("since %d: %+v", since, j)
		}
	}
	trim(22)
	if j := enter(t, s, socket, room, at(15)); *j.Recovered {
		t.Errorf("recovered from an empty log: %+v", j)
	}
}

// TestQuietSeatComesTooLate: a room that is given back to a connection that has asked for it meanwhile brings nothing twice.
func TestQuietSeatComesTooLate(t *testing.T) {
	w := actortest.New(t)
	ann := w.User("ann")
	room := w.Room(ann, "Room", false)
	entered, err := kernel.Ask[*agency.Entered](ctx, w.Local, agency.Ref(room), agency.Enter{Who: ann.Sender})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		w.Post(ann, room, fmt.Sprint(i))
	}
	socket := &actortest.Socket{}
	seat := &mirror.Seat{Socket: socket, Account: ann.ID, Evicted: func(bool) {}}
	attach := func(quiet bool) {
		t.Helper()
		_, err := kernel.Ask[kernel.Done](ctx, w.Local, mirror.Ref(room), mirror.Attach{Seat: seat, Record: entered.Record, Since: at(entered.Last), Quiet: quiet})
		if err != nil {
			t.Fatal(err)
		}
	}
	attach(false)
	attach(true)
	w.Post(ann, room, "3")
	w.Eventually("the live message", func() bool { return len(socket.Named(agency.EventMessage)) > 0 })
	if got := socket.Named(agency.EventMessage); len(got) != 1 || !strings.Contains(string(got[0].Data), `"content":"3"`) {
		t.Errorf("%d messages, the first %s", len(got), got[0].Data)
	}
	if got := socket.Named(mirror.EventAgencyJoined); len(got) != 1 || strings.Count(string(got[0].Data), `"event":"message"`) != 3 {
		t.Errorf("%d answers, %s", len(got), got[0].Data)
	}
	if _, err := kernel.Ask[kernel.Done](ctx, w.Local, mirror.Ref(room), mirror.Detach{Seat: seat}); err != nil {
		t.Error(err)
	}
}
