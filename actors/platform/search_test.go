package platform_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"parley/actors/actortest"
	"parley/actors/agency"
	"parley/actors/kernel"
	"parley/actors/platform"
	"parley/actors/search"
)

// contents are what a page says, in its order.
func contents(t *testing.T, page []json.RawMessage) string {
	t.Helper()
	var list []string
	for _, doc := range page {
		m, err := agency.DecodeMessage(doc)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, m.Content)
	}
	return strings.Join(list, "|")
}

func TestSearch(t *testing.T) {
	w := actortest.New(t)
	ann, bob, eve := w.User("ann"), w.User("bob"), w.User("eve")
	room := w.Room(ann, "Room", true)
	w.Join(room, bob)
	var said []*agency.Message
	for _, text := range []string{"Rain in Spain", "spain, rain @bob", "in Spain rain fell", "@Bob-x and @eve", "東京都へ"} {
		said = append(said, w.Post(bob, room, text))
		w.Clock.Advance(1000_000_000)
	}
	for _, c := range []struct {
		name string
		h    platform.History
		want string
	}{
		{"words in any order", platform.History{Query: "spain RAIN"}, "in Spain rain fell|spain, rain @bob|Rain in Spain"},
		{"oldest first", platform.History{Query: "spain", Ascending: true, Limit: 2}, "Rain in Spain|spain, rain @bob"},
		{"phrase", platform.History{Query: `"in spain"`}, "in Spain rain fell|Rain in Spain"},
		{"before a message", platform.History{Query: "spain", Before: said[2].ID}, "spain, rain @bob|Rain in Spain"},
		{"after a time", platform.History{Query: "spain", After: said[0].CreatedAt}, "in Spain rain fell|spain, rain @bob"},
		{"before the first", platform.History{Query: "spain", Before: "2000-01-01T00:00:00Z"}, ""},
		{"mention", platform.History{Mentions: "BOB"}, "spain, rain @bob"},
		{"mention with @", platform.History{Mentions: "@eve"}, "@Bob-x and @eve"},
		{"mention and word", platform.History{Mentions: "bob", Query: "fell"}, ""},
		{"mention of nobody", platform.History{Mentions: "nobody"}, ""},
		{"script without spaces", platform.History{Query: "京都"}, "東京都へ"},
		{"nowhere", platform.History{Query: "rai"}, ""},
	} {
		page, err := w.Platform.Messages(ctx, ann, room, c.h)
		if err != nil || page == nil || contents(t, page) != c.want {
			t.Errorf("%s: %q, %v; want %q", c.name, contents(t, page), err, c.want)
		}
	}
	for name, h := range map[string]platform.History{"no word": {Query: "?!"}, "spaces": {Query: "  "}, "no name": {Mentions: "a b"},
		"short name": {Mentions: "@x"}, "no word beside a name": {Query: "...", Mentions: "bob"}, "cursor": {Query: "rain", Before: "x"},
		"very many words": {Query: strings.Repeat("a ", search.MaxQuery+1)}} {
		_, err := w.Platform.Messages(ctx, ann, room, h)
		actortest.Wants(t, name, err, kernel.CodeInvalid)
	}
	_, err := w.Platform.Messages(ctx, eve, room, platform.History{Query: "rain"})
	actortest.Wants(t, "an outsider", err, kernel.CodeNotFound)
}

// TestSearchShowsDeletedSenders as history does, at once.
func TestSearchShowsDeletedSenders(t *testing.T) {
	w := actortest.New(t)
	ann := w.User("ann")
	room := w.Room(ann, "Room", false)
	ghost := w.UserAs("casper")
	w.Join(room, ghost)
	w.Post(ghost, room, "boo <b>")
	if err := w.Platform.DeleteAccount(ctx, ghost, nil); err != nil {
		t.Fatal(err)
	}
	for _, h := range []platform.History{{}, {Query: "boo"}} {
		page, err := w.Platform.Messages(ctx, ann, room, h)
		if err != nil || len(page) != 1 || !strings.Contains(string(page[0]), `"sender_username":"deleted"`) || !json.Valid(page[0]) || contents(t, page) != "boo <b>" {
			t.Errorf("%+v: %s, %v", h, page, err)
		}
	}
}

// TestBroadSearch: a search that is too much work ends with words that say where to go on, in both directions.
func TestBroadSearch(t *testing.T) {
	w := actortest.New(t)
	ann := w.User("ann")
	room := w.Room(ann, "Room", false)
	const many = search.MaxWork/4 + 2*search.BlockSize
	w.Talk(room, ann.Sender, many, func(i int) string {
		if i == 5 || i == many-5 {
			return fmt.Sprint("a b ", i)
		}
		return "b a"
	})
	indexed(w, room)
	for _, ascending := range []bool{false, true} {
		h := platform.History{Query: `"a b"`, Ascending: ascending}
		_, err := w.Platform.Messages(ctx, ann, room, h)
		actortest.Wants(t, "broad", err, kernel.CodeInvalid)
		var cursor, from, other, upTo string
		var hits int
		message := strings.NewReplacer("=", " = ").Replace(kernel.AsError(err).Message)
		at := strings.Index(message, "go on with")
		if at < 0 {
			t.Fatal(message)
		}
		if n, err := fmt.Sscanf(message[at:], "go on with %s = %s (the %d hits up to there come with %s = %s", &cursor, &from, &hits, &other, &upTo); n != 5 || hits != 1 {
			t.Fatalf("%s: %v", message, err)
		}
		rest, found := h, h
		rest.Before, found.After = from, strings.TrimSuffix(upTo, ")")
		if ascending {
			rest.Before, rest.After, found.After, found.Before = "", from, "", strings.TrimSuffix(upTo, ")")
		}
		for _, part := range []platform.History{rest, found} {
			page, err := w.Platform.Messages(ctx, ann, room, part)
			if err != nil || len(page) != 1 {
				t.Errorf("%+v: %d hits, %v", part, len(page), err)
			}
		}
	}
}
