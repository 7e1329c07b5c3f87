package search

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// MaxWords is the number of words of a message that can be found: those behind are not looked at. It bounds what one
// message costs in the index. A post of 16,000 characters of prose has about 2,700 words.
const MaxWords = 3000

// fold makes texts equal that differ only in case or in the way their characters are encoded: NFKC and simple folding.
func fold(text string) string {
	ascii, upper := true, false
	for i := range len(text) {
		c := text[i]
		ascii = ascii && c < utf8.RuneSelf
		upper = upper || 'A' <= c && c <= 'Z'
	}
	if ascii {
		if upper {
			return strings.ToLower(text)
		}
		return text
	}
	return strings.Map(foldRune, norm.NFKC.String(text))
}

// foldRune goes over upper case, so that letters with two lower-case forms (sigma, the long s) become one.
func foldRune(r rune) rune {
	if r < utf8.RuneSelf {
		if 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		return r
	}
	return unicode.ToLower(unicode.ToUpper(r))
}

// class says what a character is to words.
type class uint8

const (
	between class = iota // separates words
	inside               // is part of a word
	mark                 // belongs to what is before it
	alone                // is a word by itself: scripts without spaces, and symbols such as emoji
)

// spaceless are the scripts that put no spaces between words.
var spaceless = []*unicode.RangeTable{unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar}

// kanaMark is the sound mark of Hiragana and Katakana, which belongs to no script.
const kanaMark = 'ー'

func classOf(r rune) class {
	if r < utf8.RuneSelf {
		if 'a' <= r && r <= 'z' || '0' <= r && r <= '9' || r == '_' {
			return inside
		}
		return between
	}
	switch {
	case unicode.Is(unicode.M, r):
		return mark
	case r == kanaMark, unicode.Is(unicode.So, r):
		return alone
	case unicode.IsLetter(r), unicode.IsDigit(r):
		if r >= 0x0E00 && unicode.In(r, spaceless...) { // none of them begins before Thai
			return alone
		}
		return inside
	}
	return between
}

// word is one of a text. Joined ones follow the one before with nothing between, both being single characters of a
// script without spaces.
type word struct {
	text   string
	joined bool
}

// words calls yield with the words of a folded text in their order, until it returns false.
func words(folded string, yield func(word) bool) {
	start, single, joined := -1, false, false // of the word that is being read
	end := -1                                 // of the last single character
	flush := func(at int) bool {
		if start < 0 {
			return true
		}
		w := word{folded[start:at], joined}
		if start = -1; single {
			end = at
		}
		return yield(w)
	}
	for i := 0; i < len(folded); {
		r, size := rune(folded[i]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRuneInString(folded[i:])
		}
		switch c := classOf(r); {
		case c == mark && start < 0, c == between:
			if !flush(i) {
				return
			}
		case c == mark:
		case c == alone:
			if !flush(i) {
				return
			}
			start, single, joined = i, true, end == i
		case start < 0 || single:
			if !flush(i) {
				return
			}
			start, single, joined = i, false, false
		}
		i += size
	}
	flush(len(folded))
}

// firstWords is words for the part of a message that counts.
func firstWords(folded string, yield func(word) bool) {
	n := 0
	words(folded, func(w word) bool {
		n++
		return n <= MaxWords && yield(w)
	})
}
