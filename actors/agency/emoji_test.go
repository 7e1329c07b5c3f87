package agency_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"parley/actors/actortest"
	"parley/actors/agency"
	"parley/actors/kernel"
)

func TestCheckEmoji(t *testing.T) {
	for _, s := range []string{"👍", "❤", "❤️", "👍🏽", "👨‍👩‍👧‍👦", "🏴󠁧󠁢󠁥󠁮󠁧󠁿", "🇩🇪", "1️⃣", "#⃣", "*️⃣", "©", "™️", "‼️", "〰️", "↔️", "☎︎", "🫠", "🏳️‍🌈",
		"\U0001fadf", "🎉🎉", ":tada:", ":+1:", ":Space_Cat-2:", ":" + strings.Repeat("a", agency.MaxEmoji-2) + ":"} {
		if err := agency.CheckEmoji(s); err != nil {
			t.Errorf("%q: %v", s, err)
		}
	}
	for _, s := range []string{"", " ", "a", "1", "12", "1️", "#", ":", "::", ":a", "a:", ":a b:", ":a/b:", ":ä:", ":a:b:", "👍/👍", "👍 ", "👍a", "a👍",
		"\u200d", "👍\u200d", "\u200d👍", "\ufe0f", "👍\x00", "👍\n", "\xff", "👍\xff", "<", "+", "|", "👍1", "\U000e0061", "\u20e3",
		":" + strings.Repeat("a", agency.MaxEmoji-1) + ":", strings.Repeat("👍", 17)} {
		actortest.Wants(t, "emoji "+s, agency.CheckEmoji(s), kernel.CodeInvalid)
	}
}

func FuzzCheckEmoji(f *testing.F) {
	for _, s := range []string{"👍", ":tada:", "1️⃣", "👨‍👩‍👧‍👦", "a/b", "\x00", "👍\u200d"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if agency.CheckEmoji(s) != nil {
			return
		}
		if !utf8.ValidString(s) || len(s) == 0 || len(s) > agency.MaxEmoji || strings.ContainsAny(s, "/\" \\<>&") || strings.ContainsFunc(s, unicode.IsControl) {
			t.Fatalf("%q is admitted", s)
		}
	})
}
