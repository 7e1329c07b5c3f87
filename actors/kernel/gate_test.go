package kernel

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestGateKeepsOrder(t *testing.T) {
	var g Gate[string]
	var got []int
	inside := map[string]bool{}
	var waiting []func()
	for i := range 100 {
		key := []string{"a", "b"}[i%2]
		g.Enter(key, func() {
			if inside[key] {
				t.Fatal("two are in")
			}
			inside[key] = true
			got = append(got, i)
			leave := func() {
				inside[key] = false
				g.Leave(key)
			}
			if rand.IntN(2) == 0 {
				leave()
				return
			}
			waiting = append(waiting, leave)
		})
	}
	for len(waiting) > 0 {
		leave := waiting[0]
		waiting = waiting[1:]
		leave()
	}
	if len(got) != 100 || len(g.lines) != 0 {
		t.Fatalf("%d of 100 were in; %d lines are left", len(got), len(g.lines))
	}
	for odd := range 2 {
		if mine := slices.DeleteFunc(slices.Clone(got), func(i int) bool { return i%2 != odd }); !slices.IsSorted(mine) {
			t.Errorf("order of a key: %v", mine)
		}
	}
	g.Leave("nobody")
}

func TestGateDoesNotPileUp(t *testing.T) {
	const line = 1_000_000
	var g Gate[int]
	n := 0
	g.Enter(1, func() {})
	for range line {
		g.Enter(1, func() { n++; g.Leave(1) })
	}
	g.Leave(1)
	if n != line || len(g.lines) != 0 {
		t.Fatalf("%d went through, %d lines are left", n, len(g.lines))
	}
}
