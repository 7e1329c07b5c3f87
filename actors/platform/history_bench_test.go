package platform_test

import (
	"fmt"
	"testing"

	"parley/actors/actortest"
	"parley/actors/platform"
)

// talk fills a room with messages of so many senders.
func talk(w *actortest.World, senders, messages int) (*platform.Identity, string) {
	w.T.Helper()
	owner := w.User("owner")
	room := w.Room(owner, "Room", false)
	who := []*platform.Identity{owner}
	for i := 1; i < senders; i++ {
		u := w.User(fmt.Sprint("user", i))
		w.Join(room, u)
		who = append(who, u)
	}
	for i := range messages {
		w.Post(who[i%senders], room, fmt.Sprintf("message %d: <b>the quick brown fox</b> jumps over the lazy dog, and the dog does not even wake up", i))
	}
	return owner, room
}

// BenchmarkHistory reads the newest page of a room with as many senders.
func BenchmarkHistory(b *testing.B) {
	for _, senders := range []int{1, 10, 50} {
		b.Run(fmt.Sprint("senders=", senders), func(b *testing.B) {
			w := actortest.New(b)
			reader, room := talk(w, senders, 100)
			b.ReportAllocs()
			report := actortest.CPU(b)
			for b.Loop() {
				page, err := w.Platform.Messages(ctx, reader, room, platform.History{})
				if err != nil || len(page) != platform.DefaultHistory {
					b.Fatal(len(page), err)
				}
			}
			report()
		})
	}
}
