package run

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// TestGrowth: whoever appends what was added, and takes the whole text where it comes, has the agent's text at every step.
func TestGrowth(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 1))
	words := []string{"word ", "é", "", "\n", strings.Repeat("long ", 100), "😀"}
	for range 50 {
		var text, seen, last string
		g := &growth{}
		for step := range 300 {
			switch random.IntN(20) {
			case 0: // the agent thinks again
				text = text[:len(text)/2]
				for !utf8.ValidString(text) {
					text = text[:len(text)-1]
				}
			case 1: // the server has forgotten
				g = &growth{}
			}
			add := words[random.IntN(len(words))]
			text += add
			content := text
			if random.IntN(15) == 0 && add != "" && last != "" && text == last+add && g.bytes > 0 {
				content = ""
			}
			added, whole := g.step(content, add)
			if whole {
				seen = content
			} else {
				seen += added
			}
			if seen != text || g.runes != utf8.RuneCountInString(text) {
				t.Fatalf("seed %d, step %d: %d runes, %q instead of %q", seed, step, g.runes, seen, text)
			}
			last = text
		}
	}
}

// TestGrowthIsLinear: what is told of a stream is a small multiple of its text, however long.
func TestGrowthIsLinear(t *testing.T) {
	for _, steps := range []int{100, 1000, 10_000} {
		text := strings.Repeat("token ", steps)
		g := &growth{}
		told := 0
		for i := 1; i <= steps; i++ {
			added, whole := g.step(text[:6*i], "token ")
			if told += len(added); whole {
				told += 6 * i
			}
		}
		if limit := 4*len(text) + wholeUpTo*wholeUpTo/6; told > limit {
			t.Errorf("%d bytes are told of %d, more than %d", told, len(text), limit)
		}
	}
}
