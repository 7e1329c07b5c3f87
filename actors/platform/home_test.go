package platform_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"parley/actors/actortest"
	"parley/actors/platform"
	"parley/persistence"
)

// tally counts the records of agencies that are read.
type tally struct {
	persistence.Store
	records *atomic.Int64
}

func (s tally) Document(ctx context.Context, collection, key string) ([]byte, error) {
	if collection == persistence.CollectionAgency {
		s.records.Add(1)
	}
	return s.Store.Document(ctx, collection, key)
}

// Anybody may list agents: how many private rooms those are in must not be what that costs.
func TestAgentsInManyRooms(t *testing.T) {
	const rooms, agents = 20, 20
	var records atomic.Int64
	w := actortest.NewOver(t, func(s persistence.Store) persistence.Store { return tally{s, &records} })
	ann := w.User("ann")
	var bots []*platform.Identity
	for i := range agents {
		bot, _ := makeAgent(w, ann, fmt.Sprint("bot", i))
		bots = append(bots, bot)
	}
	for i := range rooms {
		w.Join(w.Room(ann, fmt.Sprint("Secret ", i), true), bots...)
	}
	open := w.Room(ann, "Open", false)
	w.Join(open, bots[:agents/2]...)
	records.Store(0)
	cards, err := w.Platform.ExploreAgents(ctx, platform.Page{Limit: 100})
	if err != nil || len(cards) != agents {
		t.Fatal(len(cards), err)
	}
	slugs := map[string]int{}
	for _, c := range cards {
		slugs[c.AgencySlug]++
	}
	if slugs["open"] != agents/2 || slugs["lobby"] != agents/2 {
		t.Errorf("%v", slugs)
	}
	if n := records.Load(); n > rooms {
		t.Errorf("read %d records", n)
	}
}
