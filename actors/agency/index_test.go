package agency_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"parley/actors/actortest"
	"parley/actors/agency"
	"parley/actors/kernel"
	"parley/actors/platform"
	"parley/actors/search"
	"parley/persistence"
	"parley/persistence/storetest"
)

// blocks is the number of blocks that are in an agency's index.
func blocks(w *actortest.World, room string) uint64 {
	w.T.Helper()
	n, err := search.Reached(ctx, w.Store, room)
	if err != nil {
		w.T.Fatal(err)
	}
	return n
}

// say posts many messages at once.
func say(w *actortest.World, who *platform.Identity, room string, n int, content func(i int) string) {
	w.T.Helper()
	var wg sync.WaitGroup
	var failed atomic.Pointer[error]
	for i := range n {
		wg.Add(1)
		w.Local.Call(agency.Ref(room), agency.Post{Who: who.Sender, NewMessage: agency.NewMessage{Content: content(i)}}, func(_ any, err error) {
			if err != nil {
				failed.Store(&err)
			}
			wg.Done()
		})
	}
	wg.Wait()
	if err := failed.Load(); err != nil {
		w.T.Fatal(*err)
	}
}

func find(w *actortest.World, who *platform.Identity, room, q string) (contents []string) {
	w.T.Helper()
	page, err := w.Platform.Messages(ctx, who, room, platform.History{Query: q, Limit: platform.MaxHistory})
	if err != nil {
		w.T.Fatalf("search for %q: %v", q, err)
	}
	for _, doc := range page {
		m, err := agency.DecodeMessage(doc)
		if err != nil {
			w.T.Fatal(err)
		}
		contents = append(contents, m.Content)
	}
	return contents
}

func wantFound(w *actortest.World, who *platform.Identity, room, q string, want ...string) {
	w.T.Helper()
	if got := find(w, who, room, q); strings.Join(got, "|") != strings.Join(want, "|") {
		w.T.Errorf("%q finds %q, want %q", q, got, want)
	}
}

// TestIndexFollowsPosts: full blocks are indexed while posts go on, also by an actor that wakes.
func TestIndexFollowsPosts(t *testing.T) {
	w := actortest.New(t)
	ann := w.User("ann")
	room := w.Room(ann, "Room", false)
	first := w.Post(ann, room, "needle one")
	say(w, ann, room, search.BlockSize, func(i int) string { return fmt.Sprint("hay ", i) })
	w.Eventually("the first block", func() bool { return blocks(w, room) == 1 })
	second := w.Post(ann, room, "needle two")
	wantFound(w, ann, room, "NEEDLE", "needle two", "needle one")

	before := len(terms(w, room))
	for _, m := range []*agency.Message{first, second} {
		if _, err := w.Platform.EditMessage(ctx, ann, room, m.ID, strings.Replace(m.Content, "needle", "pin", 1)); err != nil {
			t.Fatal(err)
		}
	}
	if got := len(terms(w, room)); got != before+1 {
		t.Errorf("%d documents were added by two edits, one of them of a message that is not indexed", got-before)
	}
	wantFound(w, ann, room, "needle")
	wantFound(w, ann, room, "pin", "pin two", "pin one")
	wantFound(w, ann, room, `"hay 7"`, "hay 7")

	w.Sleep(agency.Ref(room))
	w.Restart()
	if _, err := w.Platform.EditMessage(ctx, ann, room, first.ID, "thread one"); err != nil { // by an actor that has not read how far the index is
		t.Fatal(err)
	}
	wantFound(w, ann, room, "thread", "thread one")
	say(w, ann, room, search.BlockSize, func(i int) string { return fmt.Sprint("straw ", i) })
	w.Eventually("the second block", func() bool { return blocks(w, room) == 2 })
	if err := w.Platform.DeleteMessage(ctx, ann, room, first.ID); err != nil {
		t.Fatal(err)
	}
	wantFound(w, ann, room, "thread")
	wantFound(w, ann, room, "pin", "pin two")
	wantFound(w, ann, room, "straw 1000", "straw 1000")
}

// TestOldRoomsAreIndexed: what was said before there was an index gets one when somebody searches.
func TestOldRoomsAreIndexed(t *testing.T) {
	w := actortest.New(t)
	ann := w.User("ann")
	room := w.Room(ann, "Room", false)
	const many = search.MaxWork/4 + 3*search.BlockSize
	w.Talk(room, ann.Sender, many, func(i int) string { return fmt.Sprint("old ", i) })
	_, err := w.Platform.Messages(ctx, ann, room, platform.History{Query: "old 17"})
	if e := kernel.AsError(err); e == nil || e.Code != kernel.CodeOverloaded || e.RetryAfter == 0 {
		t.Fatalf("a search that would read everything: %v", err)
	}
	w.Eventually("the index", func() bool { return blocks(w, room) == search.Full(many) })
	wantFound(w, ann, room, "old 17", "old 17")
	if len(find(w, ann, room, "old")) != platform.MaxHistory {
		t.Error("a page is not full")
	}
}

// TestIndexPortions: blocks with very many words are indexed in portions, and in batches that are small.
func TestIndexPortions(t *testing.T) {
	var largest atomic.Int64
	w := actortest.NewOver(t, func(s persistence.Store) persistence.Store { return watchful{s, &largest} })
	ann := w.User("ann")
	room := w.Room(ann, "Room", false)
	w.Talk(room, ann.Sender, search.BlockSize+10, func(i int) string {
		text := fmt.Sprintf("message%d", i)
		if i < 40 {
			for j := range 1500 {
				text += fmt.Sprintf(" %d-x", i*1500+j)
			}
		}
		return text
	})
	if _, err := ask[kernel.Done](w, room, agency.Index{}); err != nil {
		t.Fatal(err)
	}
	if n := blocks(w, room); n != 0 {
		t.Fatalf("%d blocks after one portion", n)
	}
	w.Eventually("the index", func() bool { return blocks(w, room) == 1 })
	for i := range 40 {
		for _, j := range []int{0, 1499} {
			if got := find(w, ann, room, fmt.Sprint(i*1500+j)); len(got) != 1 || !strings.HasPrefix(got[0], fmt.Sprintf("message%d ", i)) {
				t.Fatalf("%d of message %d: %.50q", j, i, got)
			}
		}
	}
	wantFound(w, ann, room, "message1000", "message1000")
	if n := largest.Load(); n > 1000 {
		t.Errorf("a batch of the index has %d documents", n)
	}
}

// watchful notes the largest batch without events.
type watchful struct {
	persistence.Store
	largest *atomic.Int64
}

func (w watchful) Append(ctx context.Context, batches []*persistence.Batch) []error {
	for _, b := range batches {
		if n := int64(len(b.Documents)); len(b.Events) == 0 && strings.HasPrefix(b.Stream, "agency/") && n > w.largest.Load() && b.Documents[0].Collection == persistence.CollectionWord {
			w.largest.Store(n)
		}
	}
	return w.Store.Append(ctx, batches)
}

// TestIndexHammer: whatever is posted, edited, deleted and indexed at once, and however often the server falls, a search
// finds what is there.
func TestIndexHammer(t *testing.T) {
	w := actortest.New(t)
	ann := w.User("ann")
	room := w.Room(ann, "Room", false)
	w.Talk(room, ann.Sender, 2*search.BlockSize, func(i int) string { return fmt.Sprint("start ", i) })
	for round := range 4 {
		page, err := w.Platform.Messages(ctx, ann, room, platform.History{Limit: 100, Ascending: round%2 == 0})
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for i, doc := range page {
			m, err := agency.DecodeMessage(doc)
			if err != nil {
				t.Fatal(err)
			}
			wg.Go(func() {
				var err error
				if r := rand.IntN(10); r == 0 {
					err = w.Platform.DeleteMessage(ctx, ann, room, m.ID)
				} else {
					_, err = w.Platform.EditMessage(ctx, ann, room, m.ID, fmt.Sprintf("edit%d of%d r%d", round, i%7, r))
				}
				if err != nil {
					t.Error(err)
				}
			})
		}
		wg.Go(func() {
			for range 20 {
				if _, err := ask[kernel.Done](w, room, agency.Index{}); err != nil {
					t.Error(err)
				}
			}
		})
		say(w, ann, room, 400, func(i int) string { return fmt.Sprintf("post%d of%d r%d", round, i%7, i%10) })
		wg.Wait()
		checkSearches(w, ann, room)
		if round == 1 {
			w.Crash()
		}
	}
	w.Eventually("the index", func() bool { return blocks(w, room) == 3 })
	checkSearches(w, ann, room)
}

// checkSearches compares searches with all that is there.
func checkSearches(w *actortest.World, who *platform.Identity, room string) {
	w.T.Helper()
	rows, err := w.Store.Documents(ctx, persistence.CollectionMessage, persistence.Range{Prefix: room + "/", Reverse: true})
	if err != nil {
		w.T.Fatal(err)
	}
	for _, q := range []string{"edit1", "edit0 of3", "post2 of3 r5", "start 5", "start 2000", "r7", `"of3 r7"`} {
		query, err := search.Parse(q, "")
		if err != nil {
			w.T.Fatal(err)
		}
		var want []string
		for _, d := range rows {
			content, err := agency.ContentOf(d.Data)
			if err != nil {
				w.T.Fatal(err)
			}
			if query.Matches(content) && len(want) < platform.MaxHistory {
				want = append(want, content)
			}
		}
		wantFound(w, who, room, q, want...)
	}
}

// TestIndexAndFailures: a store that fails leaves an index that is whole or goes on later.
func TestIndexAndFailures(t *testing.T) {
	for _, fault := range []storetest.Fault{storetest.FailBefore, storetest.LoseReply} {
		w := actortest.New(t)
		ann := w.User("ann")
		room := w.Room(ann, "Room", false)
		w.Talk(room, ann.Sender, 2*search.BlockSize, func(i int) string { return fmt.Sprint("old ", i) })
		w.Faults.Script(fault)
		if _, err := ask[kernel.Done](w, room, agency.Index{}); err == nil {
			t.Errorf("fault %d went unnoticed", fault)
		}
		wantFound(w, ann, room, "old 17", "old 17")
		w.Eventually("the index", func() bool {
			_, err := ask[kernel.Done](w, room, agency.Index{})
			return err == nil && blocks(w, room) == 2
		})
		wantFound(w, ann, room, "old 17", "old 17")
		w.Post(ann, room, "new")
		wantFound(w, ann, room, "new", "new")
		if n := len(find(w, ann, room, "old")); n != platform.MaxHistory {
			t.Errorf("%d hits", n)
		}
	}
}

// TestDissolvedIndex: an index goes with its agency, also when it was being written.
func TestDissolvedIndex(t *testing.T) {
	w := actortest.New(t)
	ann := w.User("ann")
	for _, early := range []bool{true, false} {
		room := w.Room(ann, "Room", false)
		w.Talk(room, ann.Sender, 4*search.BlockSize, func(i int) string { return fmt.Sprint("hay ", i) })
		w.Local.Call(agency.Ref(room), agency.Index{}, func(any, error) {})
		if !early {
			w.Eventually("the index", func() bool { return blocks(w, room) == 4 })
		}
		if err := w.Platform.DeleteAgency(ctx, ann, room); err != nil {
			t.Fatal(err)
		}
		w.Eventually("clean-up", func() bool {
			p, err := ask[agency.Purged](w, room, agency.Purge{})
			return err == nil && p.Over
		})
		if rows := terms(w, room); len(rows) != 0 {
			t.Errorf("%d documents are left, the first %q", len(rows), rows[0].Key)
		}
		_, err := ask[kernel.Done](w, room, agency.Index{})
		actortest.Wants(t, "indexing the dissolved", err, kernel.CodeNotFound)
	}
}
