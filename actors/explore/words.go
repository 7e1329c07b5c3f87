// Package explore is the directory of what anybody may find: the words under which agencies, agents and users are
// searched, and the documents that keep them in step with what they name. Each is written in the batch of the change
// that it follows from.
package explore

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Limits of the index.
const (
	// MaxTerm is the length in bytes to which a word is cut in the index; what a search matches is judged by whole words.
	MaxTerm = 64
	// MaxTerms is the largest number of words under which one thing is found.
	MaxTerms = 64
)

// Words splits a text at everything that is no letter or digit, and folds case. Marks, such as the vowel signs of Hindi,
// belong to the letter before them. A letter with its marks is the same however it is encoded (NFKC), as in the search of
// messages: keyboards and systems differ in that.
func Words(text string) []string {
	words := strings.FieldsFunc(norm.NFKC.String(text), func(r rune) bool { return !unicode.In(r, unicode.L, unicode.N, unicode.M) })
	for i, w := range words {
		words[i] = fold(w)
	}
	return words
}

// Handle folds a user name or slug as it is searched whole; an @ in front is for people.
func Handle(text string) string {
	return fold(norm.NFKC.String(strings.TrimPrefix(strings.TrimSpace(text), "@")))
}

// fold makes the spellings of a text that differ in case alone one.
func fold(text string) string {
	return strings.Map(func(r rune) rune {
		if r < utf8.RuneSelf {
			return unicode.ToLower(r)
		}
		least := r
		for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
			least = min(least, next)
		}
		return unicode.ToLower(least)
	}, text)
}

// terms are the words under which something is found: its handle as a whole, and the words of handle and name.
func terms(handle, name string) []string {
	whole := fold(handle)
	all := append([]string{whole}, append(Words(handle), Words(name)...)...)
	seen, out := map[string]bool{"": true}, all[:0]
	for _, w := range all {
		if !seen[w] && len(out) < MaxTerms {
			seen[w] = true
			out = append(out, w)
		}
	}
	return out
}

// cut shortens a word to MaxTerm, between two characters.
func cut(word string) string {
	if len(word) <= MaxTerm {
		return word
	}
	end := MaxTerm
	for end > 0 && !utf8.RuneStart(word[end]) {
		end--
	}
	return word[:end]
}
