package agency_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/actors/actortest"
	"parley/actors/agency"
	"parley/actors/kernel"
	"parley/actors/platform"
	"parley/persistence"
)

func TestPostRules(t *testing.T) {
	w := actortest.New(t)
	ann, eve := w.User("ann"), w.User("eve")
	room := w.Room(ann, "Room", false)
	post := func(n agency.NewMessage) (*agency.Message, error) {
		doc, _, err := w.Platform.Post(ctx, ann, room, n)
		if err != nil {
			return nil, err
		}
		return agency.DecodeMessage(doc)
	}
	first := w.Post(ann, room, "first")
	for _, c := range []struct {
		name    string
		in      agency.NewMessage
		content string // empty: refused
		meta    string
	}{
		{"trimmed", agency.NewMessage{Content: " \n hi \t"}, "hi", "{}"},
		{"longest", agency.NewMessage{Content: strings.Repeat("é", 16_000)}, strings.Repeat("é", 16_000), "{}"},
		{"longest with space around", agency.NewMessage{Content: " " + strings.Repeat("x", 16_000) + " "}, strings.Repeat("x", 16_000), "{}"},
		{"too long", agency.NewMessage{Content: strings.Repeat("x", 16_001)}, "", ""},
		{"empty", agency.NewMessage{Content: " \n"}, "", ""},
		{"broken UTF-8", agency.NewMessage{Content: "a\xff"}, "", ""},
		{"markup stays", agency.NewMessage{Content: "<b>\u2028&"}, "<b>\u2028&", "{}"},
		{"action", agency.NewMessage{Content: "x", Type: "action"}, "x", "{}"},
		{"tool_result", agency.NewMessage{Content: "x", Type: "tool_result"}, "x", "{}"},
		{"forged type", agency.NewMessage{Content: "x", Type: "system"}, "", ""},
		{"reply", agency.NewMessage{Content: "x", ReplyTo: first.ID}, "x", "{}"},
		{"reply to nonsense", agency.NewMessage{Content: "x", ReplyTo: "1"}, "", ""},
		{"metadata", agency.NewMessage{Content: "x", Metadata: json.RawMessage(` {"a": {"b":[1, 2]}} `)}, "x", `{"a":{"b":[1,2]}}`},
		{"metadata as text", agency.NewMessage{Content: "x", Metadata: json.RawMessage(`"{\"a\": 1}"`)}, "x", `{"a":1}`},
		{"no metadata", agency.NewMessage{Content: "x", Metadata: json.RawMessage(`null`)}, "x", "{}"},
		{"forged metadata", agency.NewMessage{Content: "x", Metadata: json.RawMessage(`{"webhook":{"x":1},"run_id":"r","a":1}`)}, "x", `{"a":1}`},
		{"forged with an escape", agency.NewMessage{Content: "x", Metadata: json.RawMessage(`{"\u0077ebhook":1,"webhook":2,"run\u005fid":3}`)}, "x", `{}`},
		{"forged in text", agency.NewMessage{Content: "x", Metadata: json.RawMessage(`"{\"webhook\":1}"`)}, "x", `{}`},
		{"list", agency.NewMessage{Content: "x", Metadata: json.RawMessage(`[1]`)}, "", ""},
		{"number", agency.NewMessage{Content: "x", Metadata: json.RawMessage(`1`)}, "", ""},
		{"text", agency.NewMessage{Content: "x", Metadata: json.RawMessage(`"x"`)}, "", ""},
		{"no JSON", agency.NewMessage{Content: "x", Metadata: json.RawMessage(`{"a"`)}, "", ""},
		{"two values", agency.NewMessage{Content: "x", Metadata: json.RawMessage(`{} {}`)}, "", ""},
		{"largest metadata", agency.NewMessage{Content: "x", Metadata: json.RawMessage(`{"a":"` + strings.Repeat("x", 64<<10-8) + `"}`)}, "x", `{"a":"` + strings.Repeat("x", 64<<10-8) + `"}`},
		{"too large metadata", agency.NewMessage{Content: "x", Metadata: json.RawMessage(`{"a":"` + strings.Repeat("x", 64<<10-7) + `"}`)}, "", ""},
		{"longest clientId", agency.NewMessage{Content: "x", ClientID: strings.Repeat("é", 64)}, "x", "{}"},
		{"too long clientId", agency.NewMessage{Content: "x", ClientID: strings.Repeat("x", 65)}, "", ""},
		{"odd clientId", agency.NewMessage{Content: "x", ClientID: "/\x00/"}, "x", "{}"},
	} {
		m, err := post(c.in)
		if c.content == "" {
			actortest.Wants(t, c.name, err, kernel.CodeInvalid)
			continue
		}
		if err != nil || m.Content != c.content || string(m.Metadata) != c.meta {
			t.Errorf("%s: %.200v, %v", c.name, m, err)
		}
	}
	_, _, err := w.Platform.Post(ctx, eve, room, agency.NewMessage{Content: "x"})
	actortest.Wants(t, "a stranger", err, kernel.CodeForbidden)
}

func TestMessageHasItsForm(t *testing.T) {
	w := actortest.New(t)
	ann := w.User("Ann")
	room := w.Room(ann, "Room", false)
	a, b := w.Post(ann, room, "a"), w.Post(ann, room, "b")
	if a.Seq != 3 || b.Seq != 4 || a.CreatedAt >= b.CreatedAt || a.Type != "chat" || a.SenderID != ann.ID || a.SenderUsername != "Ann" ||
		a.Username != "Ann" || a.AgencyID != room || a.AgencyID2 != room {
		t.Errorf("%+v\n%+v", a, b)
	}
	if seq, ok := agency.SeqOfMessageID(b.ID); !ok || seq != b.Seq {
		t.Errorf("%s is at %d", b.ID, seq)
	}
}

func TestClientID(t *testing.T) {
	w := actortest.New(t)
	ann, bob := w.User("ann"), w.User("bob")
	room, other := w.Room(ann, "Room", false), w.Room(ann, "Other", false)
	w.Join(room, bob)
	post := func(id *platform.Identity, room, client string) (string, bool) {
		t.Helper()
		doc, earlier, err := w.Platform.Post(ctx, id, room, agency.NewMessage{Content: "x", ClientID: client})
		if err != nil {
			t.Fatal(err)
		}
		m, err := agency.DecodeMessage(doc)
		if err != nil || m.ClientID != client {
			t.Fatal(m, err)
		}
		return m.ID, earlier
	}
	first, earlier := post(ann, room, "c")
	if earlier {
		t.Error("the first one came earlier")
	}
	again := func(when string) {
		t.Helper()
		if id, earlier := post(ann, room, "c"); id != first || !earlier {
			t.Errorf("%s: %s, %t; want %s", when, id, earlier, first)
		}
	}
	again("at once")
	w.Sleep(agency.Ref(room))
	again("after a sleep")
	w.Crash()
	again("after a crash")
	w.Clock.Advance(23 * time.Hour)
	again("within a day")
	for what, id := range map[string]string{"another's": func() string { id, _ := post(bob, room, "c"); return id }(),
		"in another room": func() string { id, _ := post(ann, other, "c"); return id }(),
		"another":         func() string { id, _ := post(ann, room, "C"); return id }()} {
		if id == first {
			t.Errorf("%s clientId found the message", what)
		}
	}
	if err := w.Platform.DeleteMessage(ctx, ann, room, first); err != nil {
		t.Fatal(err)
	}
	_, _, err := w.Platform.Post(ctx, ann, room, agency.NewMessage{Content: "x", ClientID: "c"})
	actortest.Wants(t, "a repetition of a deleted one", err, kernel.CodeGone)
	w.Restart()
	w.Clock.Advance(2 * time.Hour)
	if id, earlier := post(ann, room, "c"); id == first || earlier {
		t.Error("after a day the clientId is still held")
	}
}

func TestClientIDRace(t *testing.T) {
	w := actortest.New(t)
	ann := w.User("ann")
	room := w.Room(ann, "Room", false)
	for round := range 30 {
		var mu sync.Mutex
		ids := map[string]int{}
		news := 0
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				doc, earlier, err := w.Platform.Post(ctx, ann, room, agency.NewMessage{Content: "x", ClientID: fmt.Sprint(round)})
				if err != nil {
					t.Error(err)
					return
				}
				m, _ := agency.DecodeMessage(doc)
				mu.Lock()
				defer mu.Unlock()
				ids[m.ID]++
				if !earlier {
					news++
				}
			})
		}
		if round%3 == 0 {
			w.Local.TellResident(agency.Ref(room), kernel.Sweep{})
		}
		wg.Wait()
		if len(ids) != 1 || news != 1 {
			t.Fatalf("round %d: %d messages, %d times new", round, len(ids), news)
		}
	}
	if page, err := w.Platform.Messages(ctx, ann, room, platform.History{Limit: 100}); err != nil || len(page) != 30 {
		t.Errorf("%d messages, %v", len(page), err)
	}
}

func TestEditAndDelete(t *testing.T) {
	w := actortest.New(t)
	ann, bob, eve := w.User("ann"), w.User("bob"), w.User("eve")
	room, other := w.Room(ann, "Room", false), w.Room(bob, "Other", false)
	w.Join(room, bob)
	mine, theirs := w.Post(bob, room, "mine"), w.Post(ann, room, "theirs")
	foreign := w.Post(bob, other, "x")
	doc, err := w.Platform.EditMessage(ctx, bob, room, mine.ID, " better ")
	if err != nil {
		t.Fatal(err)
	}
	if m, err := agency.DecodeMessage(doc); err != nil || m.Content != "better" || m.EditedAt == nil || m.ID != mine.ID || m.Seq != mine.Seq || m.CreatedAt != mine.CreatedAt {
		t.Error(m, err)
	}
	for _, c := range []struct {
		name    string
		who     *platform.Identity
		id      string
		content string
		code    kernel.Code
	}{
		{"another's", bob, theirs.ID, "x", kernel.CodeForbidden}, {"another's, by the owner", ann, mine.ID, "x", kernel.CodeForbidden},
		{"empty", bob, mine.ID, " ", kernel.CodeInvalid}, {"too long", bob, mine.ID, strings.Repeat("x", 16_001), kernel.CodeInvalid},
		{"by a stranger", eve, mine.ID, "x", kernel.CodeForbidden}, {"of another room", bob, foreign.ID, "x", kernel.CodeNotFound},
		{"none", bob, "none", "x", kernel.CodeNotFound}, {"one that was never there", bob, agency.NewMessageID(5, mine.Seq), "x", kernel.CodeNotFound},
	} {
		_, err := w.Platform.EditMessage(ctx, c.who, room, c.id, c.content)
		actortest.Wants(t, "edit "+c.name, err, c.code)
	}
	actortest.Wants(t, "delete another's", w.Platform.DeleteMessage(ctx, bob, room, theirs.ID), kernel.CodeForbidden)
	actortest.Wants(t, "delete by a stranger", w.Platform.DeleteMessage(ctx, eve, room, mine.ID), kernel.CodeForbidden)
	if err := w.Platform.DeleteMessage(ctx, ann, room, mine.ID); err != nil {
		t.Errorf("delete by the owner: %v", err)
	}
	if err := w.Platform.DeleteMessage(ctx, ann, room, theirs.ID); err != nil {
		t.Errorf("delete one's own: %v", err)
	}
	actortest.Wants(t, "twice", w.Platform.DeleteMessage(ctx, ann, room, theirs.ID), kernel.CodeNotFound)
	_, err = w.Platform.EditMessage(ctx, ann, room, theirs.ID, "x")
	actortest.Wants(t, "edit a deleted one", err, kernel.CodeNotFound)
	// A message of somebody who has left is deleted by a moderator, and a stuck look-up must not bar the next one.
	last := w.Post(bob, room, "last")
	if err := w.Platform.Leave(ctx, bob, room); err != nil {
		t.Fatal(err)
	}
	w.Sleep(agency.Ref(room))
	if err := w.Platform.DeleteMessage(ctx, ann, room, last.ID); err != nil {
		t.Errorf("of one who left: %v", err)
	}
	if c, err := w.Store.Counters(ctx); err != nil || c[persistence.CountMessages] != 1 {
		t.Errorf("%v, %v", c, err)
	}
}

// Edits and deletions of one message at the same time never bring it back.
func TestEditsAndDeletionsRace(t *testing.T) {
	w := actortest.New(t)
	ann := w.User("ann")
	room := w.Room(ann, "Room", false)
	for round := range 25 {
		m := w.Post(ann, room, "x")
		var wg sync.WaitGroup
		deleted := make([]bool, 4)
		for i := range deleted {
			wg.Go(func() {
				_, _ = w.Platform.EditMessage(ctx, ann, room, m.ID, fmt.Sprint("edit ", i))
			})
			wg.Go(func() {
				err := w.Platform.DeleteMessage(ctx, ann, room, m.ID)
				if deleted[i] = err == nil; err != nil {
					actortest.Wants(t, "a second deletion", err, kernel.CodeNotFound)
				}
			})
		}
		wg.Wait()
		n := 0
		for _, d := range deleted {
			if d {
				n++
			}
		}
		_, err := w.Store.Document(ctx, persistence.CollectionMessage, persistence.SeqKey(room, m.Seq))
		if n != 1 || err == nil {
			t.Fatalf("round %d: deleted %d times, still there: %t", round, n, err == nil)
		}
	}
	if c, err := w.Store.Counters(ctx); err != nil || c[persistence.CountMessages] != 0 {
		t.Errorf("%v, %v", c, err)
	}
	checkLog(t, w, room)
}

// checkLog reads the whole log of an agency: no holes, times grow. It returns the messages in it.
func checkLog(t *testing.T, w *actortest.World, room string) (messages []uint64) {
	t.Helper()
	var last persistence.Event
	for {
		page, err := w.Store.Events(ctx, persistence.Stream(persistence.StreamAgency, room), last.Seq, 1000)
		if err != nil {
			t.Fatal(err)
		}
		if len(page) == 0 {
			return messages
		}
		for _, ev := range page {
			if ev.Seq != last.Seq+1 || ev.At <= last.At {
				t.Fatalf("event %d at %d follows %d at %d", ev.Seq, ev.At, last.Seq, last.At)
			}
			if ev.Kind == "message" {
				m, err := agency.DecodeMessage(ev.Data)
				if err != nil || m.Seq != ev.Seq {
					t.Fatalf("event %d: %+v, %v", ev.Seq, m, err)
				}
				messages = append(messages, ev.Seq)
			}
			last = ev
		}
	}
}

// A page of history is what a plain list says it is.
func TestHistoryPages(t *testing.T) {
	w := actortest.New(t)
	ann := w.User("ann")
	room := w.Room(ann, "Room", false)
	var all []*agency.Message // that are there, oldest first
	var ever []*agency.Message
	for i := range 160 {
		if i%7 == 0 {
			w.Clock.Advance(time.Duration(rand.IntN(50)) * time.Millisecond)
		}
		m := w.Post(ann, room, fmt.Sprint(i))
		ever = append(ever, m)
		if i%5 == 2 {
			if err := w.Platform.DeleteMessage(ctx, ann, room, m.ID); err != nil {
				t.Fatal(err)
			}
			continue
		}
		all = append(all, m)
	}
	cursor := func() string {
		m := ever[rand.IntN(len(ever))]
		switch rand.IntN(5) {
		case 0:
			return ""
		case 1:
			at, err := time.Parse(time.RFC3339Nano, m.CreatedAt)
			if err != nil {
				t.Fatal(err)
			}
			return at.Add(time.Duration(rand.IntN(40)-20) * time.Millisecond).In(time.FixedZone("", 3600)).Format(time.RFC3339Nano)
		case 2:
			return []string{"2001-01-01T00:00:00Z", "2099-01-01T00:00:00Z"}[rand.IntN(2)]
		case 3:
			return m.CreatedAt
		default:
			return m.ID
		}
	}
	for range 400 {
		h := platform.History{Limit: []int{0, 1, 7, 100, 1000, -3}[rand.IntN(6)], Before: cursor(), After: cursor(), Ascending: rand.IntN(2) == 0}
		page, err := w.Platform.Messages(ctx, ann, room, h)
		if err != nil {
			t.Fatal(err)
		}
		var got []uint64
		for _, doc := range page {
			m, err := agency.DecodeMessage(doc)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, m.Seq)
		}
		if want := pageOf(t, all, h); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("%+v:\ngot  %v\nwant %v", h, got, want)
		}
	}
	for _, bad := range []string{"x", "2026-13-01T00:00:00Z", "5", strings.Repeat("x", 1000)} {
		_, err := w.Platform.Messages(ctx, ann, room, platform.History{Before: bad})
		actortest.Wants(t, bad, err, kernel.CodeInvalid)
		_, err = w.Platform.Messages(ctx, ann, room, platform.History{After: bad})
		actortest.Wants(t, bad, err, kernel.CodeInvalid)
	}
	if got := checkLog(t, w, room); len(got) != len(ever) {
		t.Errorf("%d messages in the log, %d posted", len(got), len(ever))
	}
}

// pageOf is the reference: a filter over the whole list.
func pageOf(t *testing.T, all []*agency.Message, h platform.History) (page []uint64) {
	t.Helper()
	compare := func(m *agency.Message, cursor string) int { // of the message's place to the cursor's
		if seq, ok := agency.SeqOfMessageID(cursor); ok {
			return int(int64(m.Seq) - int64(seq))
		}
		at, err := time.Parse(time.RFC3339Nano, cursor)
		if err != nil {
			t.Fatal(err)
		}
		mine, err := time.Parse(time.RFC3339Nano, m.CreatedAt)
		if err != nil {
			t.Fatal(err)
		}
		return mine.Compare(at)
	}
	limit := h.Limit
	if limit == 0 {
		limit = 50
	}
	limit = min(max(limit, 1), 100)
	for i := range all {
		m := all[i]
		if !h.Ascending {
			m = all[len(all)-1-i]
		}
		if (h.Before == "" || compare(m, h.Before) < 0) && (h.After == "" || compare(m, h.After) > 0) && len(page) < limit {
			page = append(page, m.Seq)
		}
	}
	return page
}
