package platform_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"parley/actors/actortest"
	"parley/actors/agency"
	"parley/actors/kernel"
	"parley/actors/platform"
	"parley/actors/search"
)

// prose makes messages of ten words out of 50,000, few of which are frequent. One message in two has "common" and one in
// three "frequent"; five of all have "needle"; one in a thousand mentions ann.
func prose(n int) func(i int) string {
	r := rand.New(rand.NewPCG(1, 2))
	z := rand.NewZipf(r, 1.1, 4, 50_000)
	return func(i int) string {
		text := ""
		for range 10 {
			text += fmt.Sprintf("w%d ", z.Uint64())
		}
		if i%2 == 0 {
			text += "common "
		}
		if i%3 == 0 {
			text += "frequent "
		}
		if i%(n/5) == n/10 {
			text += "needle "
		}
		if i%1000 == 500 {
			text += "@ann, look"
		}
		return text
	}
}

// indexed waits until the index of an agency has all full blocks, for a minute or two at most.
func indexed(w *actortest.World, room string) {
	w.T.Helper()
	done := func() bool {
		if _, err := kernel.Ask[kernel.Done](ctx, w.Local, agency.Ref(room), agency.Index{}); err != nil {
			w.T.Fatal(err)
		}
		_, last, err := w.Store.Head(ctx, "agency/"+room)
		if err != nil {
			w.T.Fatal(err)
		}
		blocks, err := search.Reached(ctx, w.Store, room)
		return err == nil && blocks == search.Full(last)
	}
	for end := time.Now().Add(2 * time.Minute); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			w.T.Fatal("the index is never written")
		}
	}
}

// BenchmarkSearch looks for words in agencies of very different sizes: the cost must not follow them.
func BenchmarkSearch(b *testing.B) {
	for _, size := range []int{1000, 100_000, 1_000_000} {
		if testing.Short() && size > 100_000 {
			b.Skip("takes a minute to set up")
		}
		w := actortest.New(b)
		owner := w.User("owner")
		room := w.Room(owner, "Room", false)
		w.Talk(room, owner.Sender, size, prose(size))
		indexed(w, room)
		for _, c := range []struct {
			name string
			h    platform.History
			hits int
		}{
			{"history", platform.History{}, 50},
			{"rare", platform.History{Query: "needle"}, 5},
			{"absent", platform.History{Query: "nowhere"}, 0},
			{"common", platform.History{Query: "common"}, 50},
			{"common-asc", platform.History{Query: "common", Ascending: true}, 50},
			{"two-common", platform.History{Query: "common frequent"}, 50},
			{"rare-and-common", platform.History{Query: "frequent needle"}, -1},
			{"phrase", platform.History{Query: `"common frequent"`}, 50},
			{"mention", platform.History{Mentions: "Ann"}, min(size/1000, 50)},
		} {
			b.Run(fmt.Sprintf("messages=%d/%s", size, c.name), func(b *testing.B) {
				report := actortest.CPU(b)
				for b.Loop() {
					page, err := w.Platform.Messages(context.Background(), owner, room, c.h)
					if err != nil || c.hits >= 0 && len(page) != c.hits {
						b.Fatal(len(page), err)
					}
				}
				report()
			})
		}
		w.Stop()
	}
}
