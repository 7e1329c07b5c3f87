package platform_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"parley/actors/actortest"
	"parley/actors/agency"
	"parley/actors/kernel"
	"parley/actors/platform"
	"parley/actors/search"
	"parley/actors/session"
	"parley/persistence"
)

// purged checks that nothing is left of a direct message's messages.
func purged(w *actortest.World, dm string, sides ...*platform.Identity) {
	w.T.Helper()
	for _, who := range sides {
		if got := said(w, who, dm); len(got) != 0 {
			w.T.Errorf("%s sees %d messages", who.Username, len(got))
		}
	}
	for _, collection := range []string{persistence.CollectionMessage, persistence.CollectionTally, persistence.CollectionReaction} {
		rows, err := w.Store.Documents(ctx, collection, persistence.Range{Prefix: dm + "/"})
		if err != nil || len(rows) != 0 {
			w.T.Errorf("%d documents of %s, %v", len(rows), collection, err)
		}
	}
	if total, err := w.Platform.Totals(ctx); err != nil || total.Messages != 0 {
		w.T.Errorf("%d messages are counted, %v", total.Messages, err)
	}
}

func TestPurgeDM(t *testing.T) {
	w := actortest.New(t)
	ann, bob := w.User("ann"), w.User("bob")
	dm := openDM(w, ann, bob)
	if err := w.Platform.PurgeDM(ctx, bob, dm); err != nil {
		t.Fatal("nothing to purge:", err)
	}
	s, socket := w.Connect(ann)
	if _, err := actortest.Do(s, session.Join{AgencyID: dm}); err != nil {
		t.Fatal(err)
	}
	const posts = 450
	ids := map[string]bool{}
	for i := range posts {
		m := w.Post(ann, dm, fmt.Sprint(i))
		ids[m.ID] = true
		if i%50 == 0 {
			if _, err := w.Platform.React(ctx, bob, dm, m.ID, "👍", false); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Platform.PurgeDM(ctx, bob, dm); err != nil {
		t.Fatal(err)
	}
	purged(w, dm, ann, bob)
	w.Eventually("the events of all deletions", func() bool { return len(socket.Named(agency.EventMessageDeleted)) == posts })
	last := uint64(0)
	for _, e := range socket.Named(agency.EventMessageDeleted) {
		var d struct{ MessageID string }
		if err := json.Unmarshal(e.Data, &d); err != nil || !ids[d.MessageID] || e.Seq <= last {
			t.Fatalf("%s, %v", e.Data, err)
		}
		delete(ids, d.MessageID)
		last = e.Seq
	}
	if views, err := w.Platform.DMs(ctx, ann, 0, 0); err != nil || len(views) != 1 || views[0].LastMessage != nil {
		t.Errorf("%+v, %v", views, err)
	}
	w.Post(bob, dm, "a new beginning")
	if got := said(w, ann, dm); !slices.Equal(got, []string{"a new beginning"}) {
		t.Errorf("%q", got)
	}
	if n, err := w.Platform.PendingErrands(ctx); err != nil || n != 0 {
		t.Errorf("%d errands wait, %v", n, err)
	}
}

// TestPurgeOutlivesACrash: begun and not ended, it goes on, and what is said meanwhile stays.
func TestPurgeOutlivesACrash(t *testing.T) {
	w := actortest.New(t)
	ann, bob := w.User("ann"), w.User("bob")
	dm := openDM(w, ann, bob)
	var first *agency.Message
	for i := range 250 {
		if m := w.Post(ann, dm, fmt.Sprint(i)); i == 0 {
			first = m
		}
	}
	if _, err := kernel.Ask[kernel.Done](ctx, w.Local, agency.Ref(dm), agency.ClearDM{By: bob.Sender}); err != nil {
		t.Fatal(err)
	}
	_, err := w.Platform.EditMessage(ctx, ann, dm, first.ID, "still here?")
	actortest.Wants(t, "an edit of what is being purged", err, kernel.CodeNotFound)
	_, err = w.Platform.React(ctx, ann, dm, first.ID, "👍", false)
	actortest.Wants(t, "a reaction to what is being purged", err, kernel.CodeNotFound)
	actortest.Wants(t, "a deletion of what is being purged", w.Platform.DeleteMessage(ctx, ann, dm, first.ID), kernel.CodeNotFound)
	w.Post(bob, dm, "meanwhile")
	if step, err := kernel.Ask[agency.Purged](ctx, w.Local, agency.Ref(dm), agency.ClearMessages{}); err != nil || step.Over {
		t.Fatal(step, err)
	}
	w.Crash()
	w.Eventually("the rest of the purge", func() bool {
		n, err := w.Platform.PendingErrands(ctx)
		return err == nil && n == 0
	})
	if got := said(w, ann, dm); !slices.Equal(got, []string{"meanwhile"}) {
		t.Errorf("%d messages: %.200q", len(got), got)
	}
	if err := w.Platform.PurgeDM(ctx, ann, dm); err != nil {
		t.Fatal(err)
	}
	purged(w, dm, ann, bob)
}

// TestPurgeAmongChanges: purges, posts, edits, deletions and reactions at once leave no message twice deleted or half there.
func TestPurgeAmongChanges(t *testing.T) {
	w := actortest.New(t)
	ann, bob := w.User("ann"), w.User("bob")
	dm := openDM(w, ann, bob)
	var wg sync.WaitGroup
	for _, who := range []*platform.Identity{ann, bob} {
		for range 4 {
			wg.Go(func() {
				for i := range 40 {
					doc, _, err := w.Platform.Post(ctx, who, dm, agency.NewMessage{Content: "x"})
					if err != nil {
						t.Error(err)
						return
					}
					m, _ := agency.DecodeMessage(doc)
					switch i % 4 {
					case 0:
						_, err = w.Platform.EditMessage(ctx, who, dm, m.ID, "y")
					case 1:
						err = w.Platform.DeleteMessage(ctx, who, dm, m.ID)
					case 2:
						_, err = w.Platform.React(ctx, who, dm, m.ID, "👍", false)
					}
					if err != nil && !gone(err) {
						t.Error(err)
					}
				}
			})
		}
		wg.Go(func() {
			for range 8 {
				if err := w.Platform.PurgeDM(ctx, who, dm); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	rows, err := w.Store.Documents(ctx, persistence.CollectionMessage, persistence.Range{Prefix: dm + "/"})
	if total, err2 := w.Platform.Totals(ctx); err != nil || err2 != nil || int(total.Messages) != len(rows) {
		t.Errorf("%d messages are there and %d are counted, %v, %v", len(rows), total.Messages, err, err2)
	}
	if err := w.Platform.PurgeDM(ctx, ann, dm); err != nil {
		t.Fatal(err)
	}
	purged(w, dm, ann, bob)
}

// TestPurgeDMForgetsWords: what was said is not to be found in the index of words either, and what is said later is.
func TestPurgeDMForgetsWords(t *testing.T) {
	w := actortest.New(t)
	ann, bob := w.User("ann"), w.User("bob")
	dm := openDM(w, ann, bob)
	words := func() []persistence.Document {
		rows, err := w.Store.Documents(ctx, persistence.CollectionWord, persistence.Range{Prefix: dm + "/", After: dm + "/"})
		if err != nil {
			t.Fatal(err)
		}
		return rows
	}
	for i := range search.BlockSize + 10 {
		w.Post(ann, dm, fmt.Sprintf("secret%d", i%700))
	}
	w.Eventually("an index", func() bool { return len(words()) >= 700 })
	if err := w.Platform.PurgeDM(ctx, bob, dm); err != nil {
		t.Fatal(err)
	}
	if rows := words(); len(rows) != 0 {
		t.Errorf("%d words are left, such as %s", len(rows), rows[0].Key)
	}
	for range search.BlockSize {
		w.Post(bob, dm, "unicorn")
	}
	w.Eventually("an index of what is new", func() bool { return len(words()) > 0 })
	for _, row := range words() {
		if strings.Contains(row.Key, "secret") {
			t.Errorf("%s is back", row.Key)
		}
	}
	page, err := w.Platform.Messages(ctx, ann, dm, platform.History{Query: "unicorn", Limit: 5, Ascending: true})
	if err != nil || len(page) != 5 {
		t.Errorf("%d are found, %v", len(page), err)
	}
}
