package agency

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"parley/actors/kernel"
)

// MaxEmoji is the length of a reaction's emoji in bytes. The longest ones in use, families and flags with tags, have 35.
const MaxEmoji = 64

// Runes that have a meaning inside of emoji sequences only.
const (
	joiner       = '\u200d' // joins emoji to one
	textStyle    = '\ufe0e'
	emojiStyle   = '\ufe0f'
	keycap       = '\u20e3'
	firstTag     = '\U000e0020'
	lastTag      = '\U000e007f'
	firstPicture = '\U0001f000' // the blocks of pictographs, with those that are still to come
	lastPicture  = '\U0001faff'
	latinEnd     = '\u00a9' // what is a symbol below is none here; the copyright sign is the first
)

// CheckEmoji admits what a reaction can be: a sequence of emoji, or a :shortcode: of letters, digits, _, + and -.
func CheckEmoji(s string) error {
	switch {
	case s == "":
		return kernel.Invalid("emoji is required")
	case len(s) > MaxEmoji:
		return kernel.Invalid("emoji must be at most %d bytes", MaxEmoji)
	case !utf8.ValidString(s):
		return kernel.Invalid("emoji must be valid UTF-8")
	case !isShortcode(s) && !isPictures(s):
		return kernel.Invalid("emoji must be an emoji or a :shortcode:")
	}
	return nil
}

func isShortcode(s string) bool {
	name, opened := strings.CutPrefix(s, ":")
	name, closed := strings.CutSuffix(name, ":")
	if !opened || !closed || name == "" {
		return false
	}
	for _, c := range name {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && !strings.ContainsRune("_+-", c) {
			return false
		}
	}
	return true
}

// isPictures reports whether a text is made of emoji alone, whatever their number.
func isPictures(s string) bool {
	runes, open := []rune(s), false // open: there is an emoji that a modifier can follow
	for i := 0; i < len(runes); i++ {
		switch c := runes[i]; {
		case isPicture(c):
			open = true
		case !open && (c >= '0' && c <= '9' || c == '#' || c == '*'):
			if i+1 < len(runes) && runes[i+1] == emojiStyle {
				i++
			}
			if i++; i >= len(runes) || runes[i] != keycap {
				return false
			}
		case !open:
			return false
		case c == joiner:
			open = false // one must follow
			if i+1 == len(runes) || !isPicture(runes[i+1]) {
				return false
			}
		case c == textStyle || c == emojiStyle || c == keycap || c >= firstTag && c <= lastTag:
		default:
			return false
		}
	}
	return true
}

func isPicture(c rune) bool {
	switch c {
	case '‼', '⁉', '〰': // emoji that Unicode counts as punctuation
		return true
	}
	return c >= firstPicture && c <= lastPicture || c >= latinEnd && unicode.In(c, unicode.So, unicode.Sm)
}
