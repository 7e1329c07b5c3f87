package search

import (
	"errors"
	"slices"
	"strings"
)

// MaxQuery is the number of words in a query.
const MaxQuery = 128

// maxWalked is the number of words of a query that are looked up; that a hit has the others is seen on the message.
const maxWalked = 8

// Errors of Parse.
var (
	ErrNoWords   = errors.New("the query has no words")
	ErrManyWords = errors.New("the query has too many words")
)

// Query is what a message must have: every word, the words of a phrase in a row, and a mention.
type Query struct {
	groups  [][]string // words that follow one another
	mention string     // handle in lower case, empty for none

	numbers map[string]int32 // of the words, so that each word of a message is looked up once
	phrases []phrase         // the groups, in numbers
}

// Parse reads a query: words, and phrases in double quotes. What scripts without spaces write in one go is a phrase too.
// handle is somebody who must be mentioned, in the form of Handle; text may be empty when it is given.
func Parse(text, handle string) (*Query, error) {
	q := &Query{mention: handle}
	text = strings.NewReplacer("“", `"`, "”", `"`, "„", `"`, "＂", `"`).Replace(text)
	for i, part := range strings.Split(text, `"`) {
		q.add(part, i%2 == 1)
	}
	n := 0
	for _, g := range q.groups {
		n += len(g)
	}
	switch {
	case n > MaxQuery:
		return nil, ErrManyWords
	case n == 0 && (strings.TrimSpace(text) != "" || handle == ""):
		return nil, ErrNoWords
	}
	q.compile()
	return q, nil
}

// add takes the words of a part of the query, quoted or not.
func (q *Query) add(part string, phrase bool) {
	first := true
	words(fold(part), func(w word) bool {
		if last := len(q.groups) - 1; w.joined || phrase && !first {
			q.groups[last] = append(q.groups[last], w.text)
		} else {
			q.groups = append(q.groups, []string{w.text})
		}
		first = false
		return true
	})
}

// walked are the keys of the words to look up: the mention and the longest words, which are the rarest as a rule.
func (q *Query) walked() []string {
	var keys []string
	for _, g := range q.groups {
		for _, w := range g {
			keys = append(keys, termOf(w))
		}
	}
	slices.SortFunc(keys, func(x, y string) int {
		if len(x) != len(y) {
			return len(y) - len(x)
		}
		return strings.Compare(x, y)
	})
	keys = slices.Compact(keys)
	if q.mention != "" {
		keys = slices.Insert(keys, 0, mentionTerm(q.mention))
	}
	return keys[:min(len(keys), maxWalked)]
}

// Matches reports whether a message with this content is found.
func (q *Query) Matches(content string) bool {
	found, _ := q.match(content)
	return found
}

// match is Matches, and says how many steps in phrases it took: a message of few words that are in many phrases takes many.
func (q *Query) match(content string) (found bool, steps int) {
	if q.mention != "" && !mentions(content, q.mention) {
		return false, 0
	}
	if len(q.phrases) == 0 {
		return true, 0
	}
	m := matching{query: q, places: make([]int, len(q.phrases)), left: len(q.phrases)}
	firstWords(fold(content), m.word)
	return m.left == 0, m.steps
}

func mentions(content, handle string) (found bool) {
	Mentions(content, func(h string) bool {
		found = h == handle
		return !found
	})
	return found
}
