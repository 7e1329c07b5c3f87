package search

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"parley/persistence"
)

// Phrases of few different words, which begin in themselves, are found where a plain look finds them.
func TestPhrasesAgainstAPlainLook(t *testing.T) {
	some := func(n int) []string {
		words := make([]string, n)
		for i := range words {
			words[i] = string(rune('a' + rand.IntN(3)))
		}
		return words
	}
	for range 20_000 {
		text, want, query := strings.Join(some(rand.IntN(20)), " "), true, ""
		for range 1 + rand.IntN(3) {
			p := strings.Join(some(1+rand.IntN(5)), " ")
			query += `"` + p + `" `
			want = want && strings.Contains(" "+text+" ", " "+p+" ")
		}
		q, err := Parse(query, "")
		if err != nil {
			t.Fatal(err)
		}
		if got := q.Matches(text); got != want {
			t.Fatalf("%s in %q: %v", query, text, got)
		}
	}
}

// hostile is a message and a query that take as long as they can.
func hostile() (message, query string) {
	for i := range MaxQuery / 2 {
		query += fmt.Sprintf(`"a q%d" `, i)
	}
	return strings.Repeat("a ", MaxWords), query
}

// A search through messages that take long costs no more than one through many that don't: it is given up sooner, says
// where it goes on, and comes to its end that way.
func TestHostileWordsAreBounded(t *testing.T) {
	s := newShelf(t)
	message, query := hostile()
	var ops []persistence.DocumentOp
	for range 200 {
		s.last++
		ops = append(ops, messageOp(s.last, []byte(message)))
	}
	s.put(ops...)
	q, err := Parse(query, "")
	if err != nil {
		t.Fatal(err)
	}
	_, steps := q.match(message)
	if most := 2 * MaxWords * MaxQuery; steps > most {
		t.Errorf("%d steps in one message, want at most %d", steps, most)
	}
	r, tries := Request{Query: q, Limit: 50}, 0
	for ; ; tries++ {
		_, err := s.find(r)
		var broad *BroadError
		if !errors.As(err, &broad) {
			if err != nil {
				t.Fatal(err)
			}
			break
		}
		if looked := int(s.last - broad.Reached); r.Before == 0 && (looked-2)*steps > MaxWork*costSteps {
			t.Errorf("%d messages of %d steps", looked, steps)
		}
		if r.Before != 0 && broad.Reached+1 >= r.Before {
			t.Fatalf("no way from %d", r.Before)
		}
		r.Before = broad.Reached + 1
	}
	if tries < 2 {
		t.Errorf("given up %d times", tries)
	}
}

func BenchmarkHostileMatch(b *testing.B) {
	message, query := hostile()
	q, err := Parse(query, "")
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		q.Matches(message)
	}
}
