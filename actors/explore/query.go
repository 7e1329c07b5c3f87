package explore

import (
	"strings"

	"parley/persistence"
)

// Query is what somebody looks for: things of which every word begins a word of the name or handle, and things whose
// handle begins with the whole text.
type Query struct {
	Handle string   // the whole text as a handle
	words  []string // without those that another one implies
}

// Parse reads what was typed. A text without a letter or digit finds nothing.
func Parse(text string) Query {
	q := Query{Handle: Handle(text)}
	seen := map[string]bool{}
	for _, w := range Words(text) {
		if !seen[w] {
			seen[w] = true
			q.words = append(q.words, w)
		}
	}
	return q
}

// Empty says that nothing can match.
func (q *Query) Empty() bool { return len(q.words) == 0 }

// Exact says that whatever the index has under one of Prefixes matches, as far as its words were not cut.
func (q *Query) Exact() bool { return len(q.words) == 1 && len(q.words[0]) < MaxTerm }

// Prefixes are the places of the index to look at, best first: that of the handle, and that of the longest word, which
// is likely to be the rarest.
func (q *Query) Prefixes(kind Kind) []string {
	if q.Empty() {
		return nil
	}
	longest := q.words[0]
	for _, w := range q.words {
		if len(w) > len(longest) {
			longest = w
		}
	}
	prefixes := []string{prefix(kind, longest)}
	if q.Handle != longest && !strings.ContainsFunc(q.Handle, func(r rune) bool { return r == '/' || r <= ' ' }) {
		prefixes = []string{prefix(kind, q.Handle), prefixes[0]}
	}
	return prefixes
}

func prefix(kind Kind, word string) string { return persistence.Key(string(kind), cut(word)) }

// Matches judges a thing by its present names.
func (q *Query) Matches(handle, name string) bool {
	if q.Empty() {
		return false
	}
	if strings.HasPrefix(fold(handle), q.Handle) {
		return true
	}
	all := terms(handle, name)
	for _, w := range q.words {
		if !begins(all, w) {
			return false
		}
	}
	return true
}

func begins(terms []string, word string) bool {
	for _, t := range terms {
		if strings.HasPrefix(t, word) {
			return true
		}
	}
	return false
}
