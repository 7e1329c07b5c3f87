package search

// phrase is words that must follow one another, each by its number. One word alone is a phrase, too.
type phrase struct {
	words []int32
	// back says for each beginning of the phrase, by its length, how long the longest shorter one is that it ends with: where
	// an attempt goes on that met another word (Knuth, Morris and Pratt).
	back []int
}

func newPhrase(words []int32) phrase {
	p := phrase{words: words, back: make([]int, len(words)+1)}
	for i, n := 1, 0; i < len(words); i++ {
		for n > 0 && words[n] != words[i] {
			n = p.back[n]
		}
		if words[n] == words[i] {
			n++
		}
		p.back[i+1] = n
	}
	return p
}

// compile makes the phrases of the groups. Words that are asked for twice count once.
func (q *Query) compile() {
	q.numbers = map[string]int32{}
	alone := map[int32]bool{}
	for _, g := range q.groups {
		words := make([]int32, len(g))
		for i, w := range g {
			n, known := q.numbers[w]
			if !known {
				n = int32(len(q.numbers))
				q.numbers[w] = n
			}
			words[i] = n
		}
		if len(words) == 1 {
			if alone[words[0]] {
				continue
			}
			alone[words[0]] = true
		}
		q.phrases = append(q.phrases, newPhrase(words))
	}
}

// found is the place of a phrase that is complete.
const found = -1

// matching is one look at a text.
type matching struct {
	query  *Query
	places []int // of each phrase: how many of its words the text ends with so far, or found
	open   int   // phrases that are begun
	left   int   // phrases that are not found
	steps  int
}

// word goes on by one word of the text and reports whether there is more to look for.
func (m *matching) word(w word) bool {
	n, known := m.query.numbers[w.text]
	if !known && m.open == 0 {
		return true
	}
	if !known {
		n = -1
	}
	m.open = 0
	for i, at := range m.places {
		if at == found {
			continue
		}
		p := &m.query.phrases[i]
		m.steps++
		for at > 0 && p.words[at] != n {
			at = p.back[at]
			m.steps++
		}
		if p.words[at] == n {
			at++
		}
		switch {
		case at == len(p.words):
			at = found
			m.left--
		case at > 0:
			m.open++
		}
		m.places[i] = at
	}
	return m.left > 0
}
