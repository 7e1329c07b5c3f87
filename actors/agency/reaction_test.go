package agency_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/actors/actortest"
	"parley/actors/agency"
	"parley/actors/kernel"
	"parley/actors/platform"
	"parley/actors/session"
	"parley/persistence"
)

// reactions reads what history shows of a message.
func reactions(w *actortest.World, who *platform.Identity, room, message string) agency.Reactions {
	w.T.Helper()
	page, err := w.Platform.Messages(ctx, who, room, platform.History{Limit: 100})
	if err != nil {
		w.T.Fatal(err)
	}
	for _, doc := range page {
		m, err := agency.DecodeMessage(doc)
		if err != nil {
			w.T.Fatal(err)
		}
		if m.ID == message {
			return m.Reactions
		}
	}
	w.T.Fatalf("%s is not in the history", message)
	return nil
}

// rowsOf counts the documents of a collection that belong to an agency.
func rowsOf(w *actortest.World, collection, agencyID string) int {
	w.T.Helper()
	rows, err := w.Store.Documents(ctx, collection, persistence.Range{Prefix: agencyID + "/"})
	if err != nil {
		w.T.Fatal(err)
	}
	return len(rows)
}

// lastSeq is the end of an agency's log.
func lastSeq(w *actortest.World, agencyID string) uint64 {
	w.T.Helper()
	_, last, err := w.Store.Head(ctx, persistence.Stream(persistence.StreamAgency, agencyID))
	if err != nil {
		w.T.Fatal(err)
	}
	return last
}

func TestReactions(t *testing.T) {
	w := actortest.New(t)
	ann, bob, eve := w.User("ann"), w.User("bob"), w.User("eve")
	room := w.Room(ann, "Room", false)
	w.Join(room, bob)
	before, m, after := w.Post(ann, room, "before"), w.Post(ann, room, "hi"), w.Post(bob, room, "after")
	react := func(who *platform.Identity, emoji string, remove bool, count int64, events uint64) {
		t.Helper()
		last := lastSeq(w, room)
		r, err := w.Platform.React(ctx, who, room, m.ID, emoji, remove)
		if err != nil {
			t.Fatal(err)
		}
		if r.Count != count || r.Emoji != emoji || r.MessageID != m.ID || !reflect.DeepEqual(append(agency.Reactions{}, r.Reactions...), append(agency.Reactions{}, reactions(w, ann, room, m.ID)...)) {
			t.Errorf("%s reacts with %s (remove: %t): %+v, want the count %d", who.Username, emoji, remove, r, count)
		}
		if got := lastSeq(w, room) - last; got != events {
			t.Errorf("%s reacts with %s (remove: %t): %d events, want %d", who.Username, emoji, remove, got, events)
		}
	}
	react(ann, "👍", true, 0, 0)
	react(bob, "👍", false, 1, 1)
	react(bob, "👍", false, 1, 0)
	react(ann, "🎉", false, 1, 1)
	react(ann, "👍", false, 2, 1)
	w.Crash()
	want := agency.Reactions{{Emoji: "👍", Count: 2, Users: []string{bob.ID, ann.ID}}, {Emoji: "🎉", Count: 1, Users: []string{ann.ID}}}
	if got := reactions(w, bob, room, m.ID); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	for _, other := range []string{before.ID, after.ID} {
		if got := reactions(w, bob, room, other); len(got) != 0 {
			t.Errorf("a message without reactions has %+v", got)
		}
	}
	edited, err := w.Platform.EditMessage(ctx, ann, room, m.ID, "hello")
	if err != nil || !bytes.Contains(edited, []byte(`"count":2`)) {
		t.Errorf("the edited message is %s, %v", edited, err)
	}
	react(bob, "👍", true, 1, 1)
	react(bob, "👍", true, 1, 0)
	react(ann, "👍", true, 0, 1)
	if got := reactions(w, bob, room, m.ID); len(got) != 1 || got[0].Emoji != "🎉" {
		t.Errorf("%+v", got)
	}
	_, err = w.Platform.React(ctx, eve, room, m.ID, "👍", false)
	actortest.Wants(t, "a stranger", err, kernel.CodeForbidden)
	for id, code := range map[string]kernel.Code{"nonsense": kernel.CodeNotFound, agency.NewMessageID(1, m.Seq): kernel.CodeNotFound, agency.NewMessageID(1, 999): kernel.CodeNotFound} {
		_, err = w.Platform.React(ctx, ann, room, id, "👍", false)
		actortest.Wants(t, "message "+id, err, code)
	}
	_, err = w.Platform.React(ctx, ann, room, m.ID, "thumbs", false)
	actortest.Wants(t, "no emoji", err, kernel.CodeInvalid)
	if err := w.Platform.DeleteMessage(ctx, ann, room, m.ID); err != nil {
		t.Fatal(err)
	}
	if n := rowsOf(w, persistence.CollectionReaction, room) + rowsOf(w, persistence.CollectionTally, room); n != 0 {
		t.Errorf("a deleted message leaves %d documents of reactions", n)
	}
	_, err = w.Platform.React(ctx, ann, room, m.ID, "👍", false)
	actortest.Wants(t, "a deleted message", err, kernel.CodeNotFound)
}

// TestManyReactAtOnce: every one counts, the first are named, and who goes makes place for the next.
func TestManyReactAtOnce(t *testing.T) {
	w := actortest.New(t)
	ann := w.User("ann")
	room := w.Room(ann, "Room", false)
	m := w.Post(ann, room, "hi")
	people := make([]*platform.Identity, 3*agency.ShownReactors)
	for i := range people {
		people[i] = w.User(fmt.Sprintf("u%d", i))
	}
	w.Join(room, people...)
	all := func(remove bool, who []*platform.Identity) {
		t.Helper()
		var wg sync.WaitGroup
		for _, p := range who {
			for range 2 {
				wg.Go(func() {
					if _, err := w.Platform.React(ctx, p, room, m.ID, "👍", remove); err != nil {
						t.Error(err)
					}
				})
			}
		}
		wg.Wait()
	}
	all(false, people)
	got := reactions(w, ann, room, m.ID)
	if len(got) != 1 || got[0].Count != int64(len(people)) || len(got[0].Users) != agency.ShownReactors {
		t.Fatalf("%+v", got)
	}
	shown := slices.Clone(got[0].Users)
	leaver := people[slices.IndexFunc(people, func(p *platform.Identity) bool { return p.ID == shown[3] })]
	all(true, []*platform.Identity{leaver})
	got = reactions(w, ann, room, m.ID)
	if got[0].Count != int64(len(people))-1 || len(got[0].Users) != agency.ShownReactors || slices.Contains(got[0].Users, leaver.ID) ||
		!slices.Equal(got[0].Users[:agency.ShownReactors-1], slices.Delete(shown, 3, 4)) || slices.Contains(shown, got[0].Users[agency.ShownReactors-1]) {
		t.Errorf("after the fourth has gone: %+v", got)
	}
	all(true, people)
	if got := reactions(w, ann, room, m.ID); len(got) != 0 || rowsOf(w, persistence.CollectionReaction, room)+rowsOf(w, persistence.CollectionTally, room) != 0 {
		t.Errorf("after all have gone: %+v", got)
	}
}

func TestDifferentReactions(t *testing.T) {
	w := actortest.New(t)
	ann := w.User("ann")
	room := w.Room(ann, "Room", false)
	m := w.Post(ann, room, "hi")
	for i := range agency.MaxReactions {
		if _, err := w.Platform.React(ctx, ann, room, m.ID, fmt.Sprintf(":e%d:", i), false); err != nil {
			t.Fatal(err)
		}
	}
	_, err := w.Platform.React(ctx, ann, room, m.ID, ":more:", false)
	actortest.Wants(t, "one more", err, kernel.CodeTaken)
	if _, err := w.Platform.React(ctx, ann, room, m.ID, ":e7:", true); err != nil {
		t.Fatal(err)
	}
	r, err := w.Platform.React(ctx, ann, room, m.ID, ":more:", false)
	if err != nil || len(r.Reactions) != agency.MaxReactions || r.Reactions[agency.MaxReactions-1].Emoji != ":more:" {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestReactionsOfTheDeleted: what is too much for one change follows, also over a crash, and goes with its agency.
func TestReactionsOfTheDeleted(t *testing.T) {
	w := actortest.New(t)
	ann := w.User("ann")
	room := w.Room(ann, "Room", false)
	m, kept := w.Post(ann, room, "hi"), w.Post(ann, room, "kept")
	for _, id := range []string{m.ID, kept.ID} {
		if _, err := w.Platform.React(ctx, ann, room, id, "👍", false); err != nil {
			t.Fatal(err)
		}
	}
	w.Sleep(agency.Ref(room))
	stream := persistence.Stream(persistence.StreamAgency, room)
	lease, err := w.Store.Acquire(ctx, stream, 0)
	if err != nil {
		t.Fatal(err)
	}
	b := &persistence.Batch{Stream: stream, Epoch: lease.Epoch, Expect: lease.Last}
	for i := range 2500 {
		b.Documents = append(b.Documents, persistence.DocumentOp{Collection: persistence.CollectionReaction,
			Key: fmt.Sprintf("%s/a/m%d/👍", persistence.SeqKey(room, m.Seq), i), Data: []byte("1")})
	}
	if err := w.Store.Append(ctx, []*persistence.Batch{b})[0]; err != nil {
		t.Fatal(err)
	}
	if err := w.Platform.DeleteMessage(ctx, ann, room, m.ID); err != nil {
		t.Fatal(err)
	}
	if n := rowsOf(w, persistence.CollectionReaction, room); n < 1000 {
		t.Fatalf("%d documents are left at once", n)
	}
	w.Crash()
	w.Eventually("the rest to follow", func() bool { return rowsOf(w, persistence.CollectionReaction, room) == 2 })
	w.Eventually("the errand's end", func() bool { n, err := w.Platform.PendingErrands(ctx); return err == nil && n == 0 })
	if got := reactions(w, ann, room, kept.ID); len(got) != 1 {
		t.Errorf("the other message has %+v", got)
	}
	if err := w.Platform.DeleteAgency(ctx, ann, room); err != nil {
		t.Fatal(err)
	}
	if n := rowsOf(w, persistence.CollectionReaction, room) + rowsOf(w, persistence.CollectionTally, room); n != 0 {
		t.Errorf("a deleted agency leaves %d documents of reactions", n)
	}
}

// TestReactionEvents: sockets in the room are told, and those that come back with since, too (decision 39).
func TestReactionEvents(t *testing.T) {
	w := actortest.New(t)
	ann, bob := w.User("ann"), w.User("bob")
	room := w.Room(ann, "Room", false)
	w.Join(room, bob)
	m := w.Post(ann, room, "hi")
	s, socket := w.Connect(ann)
	if _, err := actortest.Do(s, session.Join{AgencyID: room}); err != nil {
		t.Fatal(err)
	}
	r, err := actortest.Do(s, session.React{AgencyID: room, MessageID: m.ID, Emoji: "👍"})
	if reacted, ok := r.(*agency.Reacted); err != nil || !ok || reacted.Count != 1 {
		t.Fatal(r, err)
	}
	if _, err := w.Platform.React(ctx, bob, room, m.ID, "👍", false); err != nil {
		t.Fatal(err)
	}
	if _, err := actortest.Do(s, session.React{AgencyID: room, MessageID: m.ID, Emoji: "👍", Remove: true}); err != nil {
		t.Fatal(err)
	}
	w.Eventually("three events", func() bool { return len(socket.Named(agency.EventReaction)) == 3 })
	want := []string{"ann true 1", "bob true 2", "ann false 1"}
	check := func(i int, data []byte) {
		t.Helper()
		var e struct {
			AgencyID, MessageID, Emoji string
			Agency2                    string `json:"agency_id"`
			Count                      int
			User                       agency.WireSender
			Added                      bool
			Seq                        uint64
		}
		if err := json.Unmarshal(data, &e); err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(e.User.Username, " ", e.Added, " ", e.Count); got != want[i] || e.Seq != m.Seq+1+uint64(i) || e.AgencyID != room || e.Agency2 != room ||
			e.MessageID != m.ID || e.Emoji != "👍" {
			t.Errorf("event %d is %s", i, data)
		}
	}
	for i, e := range socket.Named(agency.EventReaction) {
		check(i, e.Data)
	}
	again, late := w.Connect(bob)
	if _, err := actortest.Do(again, session.Join{AgencyID: room, Since: &m.Seq}); err != nil {
		t.Fatal(err)
	}
	var j struct {
		Recovered bool
		Missed    []struct {
			Event string
			Data  json.RawMessage
		}
	}
	if err := json.Unmarshal(late.Named("agency-joined")[0].Data, &j); err != nil || !j.Recovered || len(j.Missed) != 3 {
		t.Fatalf("%s, %v", late.Named("agency-joined")[0].Data, err)
	}
	for i, e := range j.Missed {
		if check(i, e.Data); e.Event != agency.EventReaction {
			t.Errorf("missed is %s", e.Event)
		}
	}
}

// TestReactionsInAMessage: what clients write can't be taken for the place of the reactions, and a repeated post shows them.
func TestReactionsInAMessage(t *testing.T) {
	w := actortest.New(t)
	ann := w.User("ann")
	room := w.Room(ann, "Room", false)
	post := agency.NewMessage{Content: `,"reactions":[],"sender_id":"x"`, ClientID: `"sender_id":"`,
		Metadata: json.RawMessage(`{"a":1,"reactions":[],"sender_id":"x"}`)}
	doc, _, err := w.Platform.Post(ctx, ann, room, post)
	if err != nil || !bytes.Contains(doc, []byte(`},"reactions":[],"sender_id":"`+ann.ID)) {
		t.Fatalf("%s, %v", doc, err)
	}
	m, _ := agency.DecodeMessage(doc)
	if _, err := w.Platform.React(ctx, ann, room, m.ID, "👍", false); err != nil {
		t.Fatal(err)
	}
	page, err := w.Platform.Messages(ctx, ann, room, platform.History{})
	if err != nil {
		t.Fatal(err)
	}
	again, earlier, err := w.Platform.Post(ctx, ann, room, post)
	if err != nil || !earlier {
		t.Fatal(earlier, err)
	}
	for _, doc := range []json.RawMessage{page[0], again} {
		var shown struct {
			agency.Message
			Metadata map[string]any `json:"metadata"`
		}
		if err := json.Unmarshal(doc, &shown); err != nil || len(shown.Reactions) != 1 || shown.Content != post.Content || shown.SenderID != ann.ID ||
			len(shown.Metadata["reactions"].([]any)) != 0 || strings.Count(string(doc), `👍`) != 1 {
			t.Errorf("%s, %v", doc, err)
		}
	}
	stored, err := w.Store.Document(ctx, persistence.CollectionMessage, persistence.SeqKey(room, m.Seq))
	if err != nil || !bytes.Equal(stored, []byte(doc)) {
		t.Errorf("the stored message has changed: %s, %v", stored, err)
	}
}

// TestReactionsOverPages: pages of history with few and many reactions, from both ends.
func TestReactionsOverPages(t *testing.T) {
	w := actortest.New(t)
	ann := w.User("ann")
	room := w.Room(ann, "Room", false)
	want := map[string]bool{}
	for i := range 40 {
		m := w.Post(ann, room, fmt.Sprint(i))
		want[m.ID] = i%3 == 0 || i > 30
		if want[m.ID] {
			if _, err := w.Platform.React(ctx, ann, room, m.ID, "👍", false); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, ascending := range []bool{true, false} {
		for _, limit := range []int{1, 7, 40} {
			h, seen := platform.History{Limit: limit, Ascending: ascending}, 0
			for {
				page, err := w.Platform.Messages(ctx, ann, room, h)
				if err != nil {
					t.Fatal(err)
				}
				if len(page) == 0 {
					break
				}
				for _, doc := range page {
					m, err := agency.DecodeMessage(doc)
					if err != nil || (len(m.Reactions) == 1) != want[m.ID] {
						t.Errorf("pages of %d: %s, %v", limit, doc, err)
					}
					if h.Before = m.ID; ascending {
						h.Before, h.After = "", m.ID
					}
					seen++
				}
			}
			if seen != len(want) {
				t.Errorf("pages of %d: %d messages", limit, seen)
			}
		}
	}
}

// TestReactionsAmongChanges: reactions that come and go at once, among edits, sleeps of the actor and a deletion, are
// counted as they are stored, and a deletion leaves none.
func TestReactionsAmongChanges(t *testing.T) {
	w := actortest.New(t)
	ann := w.User("ann")
	room := w.Room(ann, "Room", false)
	m, doomed := w.Post(ann, room, "hi"), w.Post(ann, room, "doomed")
	people := make([]*platform.Identity, agency.ShownReactors+5)
	for i := range people {
		people[i] = w.User(fmt.Sprintf("u%d", i))
	}
	w.Join(room, people...)
	stop := make(chan struct{})
	var sleeper, wg sync.WaitGroup
	sleeper.Go(func() {
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
				w.Local.TellResident(agency.Ref(room), kernel.Sweep{})
			}
		}
	})
	for i, p := range people {
		wg.Go(func() {
			for n := range 20 {
				for _, id := range []string{m.ID, doomed.ID} {
					_, err := w.Platform.React(ctx, p, room, id, []string{"👍", "🎉"}[n%2], (n+i)%3 == 0)
					if err != nil && !(id == doomed.ID && strings.Contains(err.Error(), "no such message")) {
						t.Error(err)
					}
				}
			}
		})
	}
	wg.Go(func() {
		for n := range 20 {
			if _, err := w.Platform.EditMessage(ctx, ann, room, m.ID, fmt.Sprint(n)); err != nil {
				t.Error(err)
			}
		}
		if err := w.Platform.DeleteMessage(ctx, ann, room, doomed.ID); err != nil {
			t.Error(err)
		}
	})
	wg.Wait()
	close(stop)
	sleeper.Wait()
	total := 0
	for _, r := range reactions(w, ann, room, m.ID) {
		line, err := w.Store.Documents(ctx, persistence.CollectionReaction, persistence.Range{Prefix: persistence.SeqKey(room, m.Seq) + "/e/" + r.Emoji + "/"})
		if err != nil || int64(len(line)) != r.Count {
			t.Errorf("%d of %s are counted and %d stored, %v", r.Count, r.Emoji, len(line), err)
		}
		for i, id := range r.Users {
			if string(line[i].Data) != id {
				t.Errorf("%s: %s is shown at place %d, where %s stands", r.Emoji, id, i, line[i].Data)
			}
		}
		if len(r.Users) != min(len(line), agency.ShownReactors) {
			t.Errorf("%s: %d are shown of %d", r.Emoji, len(r.Users), len(line))
		}
		total += len(line)
	}
	if n := rowsOf(w, persistence.CollectionReaction, room); n != 2*total {
		t.Errorf("%d documents for %d reactions", n, total)
	}
}
