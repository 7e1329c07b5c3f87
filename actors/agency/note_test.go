package agency_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"parley/actors/actortest"
	"parley/actors/agency"
	"parley/actors/kernel"
	"parley/persistence"
)

func TestNotes(t *testing.T) {
	w := actortest.New(t)
	ctx := context.Background()
	ann, bob, eve := w.User("ann"), w.User("bob"), w.User("eve")
	room := w.Room(ann, "Room", true)
	w.Join(room, bob)
	for _, c := range []struct {
		what       string
		key, value string
		code       kernel.Code
	}{
		{"no key", "", "x", kernel.CodeInvalid},
		{"a long key", strings.Repeat("é", agency.MaxNoteKey+1), "x", kernel.CodeInvalid},
		{"two words", "a b", "x", kernel.CodeInvalid},
		{"a line", "a\nb", "x", kernel.CodeInvalid},
		{"nothing to read", "\u200b", "x", kernel.CodeInvalid},
		{"no UTF-8", "\xff", "x", kernel.CodeInvalid},
		{"no value", "a", " \n ", kernel.CodeInvalid},
		{"a long value", "a", strings.Repeat("é", agency.MaxNoteValue+1), kernel.CodeInvalid},
	} {
		actortest.Wants(t, c.what, w.Platform.SaveNote(ctx, bob, room, c.key, c.value), c.code)
	}
	long := strings.Repeat("é", agency.MaxNoteValue)
	for _, n := range [][2]string{{"repo", "ann/reef main"}, {"a/b", "x"}, {strings.Repeat("é", agency.MaxNoteKey), long}, {"repo", "ann/reef \"dev\"\n2"}} {
		if err := w.Platform.SaveNote(ctx, bob, room, n[0], "  "+n[1]+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	check := func() {
		t.Helper()
		n, err := w.Platform.Note(ctx, ann, room, "repo")
		if err != nil || n.Value != "ann/reef \"dev\"\n2" || n.By.ID != bob.ID {
			t.Errorf("%+v %v", n, err)
		}
		list, err := w.Platform.Notes(ctx, ann, room)
		if err != nil || len(list) != 3 || list[0].Key != "a/b" || list[2].Value != long {
			t.Errorf("%d notes, %v", len(list), err)
		}
	}
	check()
	for what, err := range map[string]error{
		"a stranger saves":          w.Platform.SaveNote(ctx, eve, room, "a", "x"),
		"a stranger clears":         w.Platform.ClearNote(ctx, eve, room, "repo"),
		"clear what is not there":   w.Platform.ClearNote(ctx, bob, room, "none"),
		"clear what can't be there": w.Platform.ClearNote(ctx, bob, room, ""),
	} {
		actortest.Wants(t, what, err, kernel.CodeNotFound)
	}
	_, err := w.Platform.Note(ctx, eve, room, "repo")
	actortest.Wants(t, "a stranger reads", err, kernel.CodeNotFound)
	_, err = w.Platform.Notes(ctx, eve, room)
	actortest.Wants(t, "a stranger lists", err, kernel.CodeNotFound)
	_, err = w.Platform.Note(ctx, ann, room, "")
	actortest.Wants(t, "no key", err, kernel.CodeNotFound)
	w.Sleep(agency.Ref(room))
	check()
	w.Crash()
	check()
	if err := w.Platform.ClearNote(ctx, ann, room, "a/b"); err != nil {
		t.Fatal(err)
	}
	_, err = w.Platform.Note(ctx, ann, room, "a/b")
	actortest.Wants(t, "a deleted note", err, kernel.CodeNotFound)
	if err := w.Platform.DeleteAgency(ctx, ann, room); err != nil {
		t.Fatal(err)
	}
	w.Eventually("the notes are gone with the agency", func() bool {
		rows, err := w.Store.Documents(ctx, persistence.CollectionNote, persistence.Range{})
		return err == nil && len(rows) == 0
	})
}

// Of many who save the last possible note at once, one does; notes that are there can still be replaced.
func TestNotesAreBounded(t *testing.T) {
	w := actortest.New(t)
	ctx := context.Background()
	ann := w.User("ann")
	room := w.Room(ann, "Room", false)
	value := strings.Repeat("é", agency.MaxNoteValue) // more than one read of the store
	for i := range agency.MaxNotes - 1 {
		if err := w.Platform.SaveNote(ctx, ann, room, fmt.Sprintf("k%03d", i), value); err != nil {
			t.Fatal(err)
		}
	}
	w.Sleep(agency.Ref(room))
	results := make([]error, 8)
	var wg sync.WaitGroup
	for i := range results {
		wg.Go(func() { results[i] = w.Platform.SaveNote(ctx, ann, room, fmt.Sprintf("last%d", i), "x") })
	}
	wg.Wait()
	saved := 0
	for _, err := range results {
		if err == nil {
			saved++
			continue
		}
		actortest.Wants(t, "one note too many", err, kernel.CodeTaken)
	}
	list, err := w.Platform.Notes(ctx, ann, room)
	if saved != 1 || err != nil || len(list) != agency.MaxNotes {
		t.Errorf("%d saved, %d notes, %v", saved, len(list), err)
	}
	if err := w.Platform.SaveNote(ctx, ann, room, "k000", "new"); err != nil {
		t.Error(err)
	}
}
