package platform_test

import (
	"fmt"
	"testing"

	"parley/actors/actortest"
	"parley/actors/platform"
)

// BenchmarkExplore is the cost of a page of 20 of the directory, which must not depend on its size.
func BenchmarkExplore(b *testing.B) {
	for _, size := range []int{1000, 100_000, 1_000_000} {
		if size > 100_000 && testing.Short() {
			continue
		}
		w := actortest.New(b)
		w.FillDirectory(size)
		ann := w.User("ann")
		page := func(text string, offset int) platform.Page {
			return platform.Page{Text: text, Limit: 20, Offset: offset}
		}
		for _, c := range []struct {
			name string
			run  func() (int, error)
		}{
			{"agencies", func() (int, error) { l, err := w.Platform.ExploreAgencies(ctx, ann, page("", 0)); return len(l), err }},
			{"agents", func() (int, error) { l, err := w.Platform.ExploreAgents(ctx, page("", 0)); return len(l), err }},
			{"users", func() (int, error) { l, err := w.Platform.ExploreUsers(ctx, page("", 0)); return len(l), err }},
			{"users from 400", func() (int, error) { l, err := w.Platform.ExploreUsers(ctx, page("", 400)); return len(l), err }},
			{"a handle", func() (int, error) {
				l, err := w.Platform.ExploreUsers(ctx, page("@Member0000500", 0))
				return len(l) + 19, err
			}},
			{"a word of all", func() (int, error) { l, err := w.Platform.ExploreUsers(ctx, page("mem", 0)); return len(l), err }},
			{"a word of all from 400", func() (int, error) { l, err := w.Platform.ExploreUsers(ctx, page("mem", 400)); return len(l), err }},
			{"a word of many", func() (int, error) {
				l, err := w.Platform.ExploreAgencies(ctx, nil, page("word9", 0))
				return len(l), err
			}},
			{"two words", func() (int, error) { l, err := w.Platform.ExploreUsers(ctx, page("word9 mem", 0)); return len(l), err }},
			{"two words that hardly meet", func() (int, error) {
				l, err := w.Platform.ExploreUsers(ctx, page("0000500 member", 0))
				return len(l) + 19, err
			}},
			{"two common words that never meet", func() (int, error) {
				l, err := w.Platform.ExploreUsers(ctx, page("word9 room", 0))
				return len(l) + 20, err
			}},
			{"no result", func() (int, error) {
				l, err := w.Platform.ExploreAgents(ctx, page("xyzzy", 0))
				return len(l) + 20, err
			}},
		} {
			b.Run(fmt.Sprintf("size=%d/%s", size, c.name), func(b *testing.B) {
				for b.Loop() {
					if n, err := c.run(); err != nil || n != 20 {
						b.Fatal(n, err)
					}
				}
			})
		}
		w.Stop()
	}
}
