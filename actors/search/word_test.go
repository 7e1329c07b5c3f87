package search

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"parley/persistence"
)

func wordsOf(text string) (list []string) {
	words(fold(text), func(w word) bool {
		t := w.text
		if w.joined {
			t = "+" + t
		}
		list = append(list, t)
		return true
	})
	return list
}

func TestWords(t *testing.T) {
	for text, want := range map[string]string{
		"":                        "",
		" .,;!? ":                 "",
		"Hello, World!":           "hello world",
		"foo_bar re-index 3.14":   "foo_bar re index 3 14",
		"ÜBER Straße ΣΊΣΥΦΟΣ":     "über straße σίσυφοσ",
		"e\u0301te\u0301":         "été",
		"ＦＵＬＬ ｗｉｄｔｈ":              "full width",
		"東京タワーへ":                  "東 +京 +タ +ワ +ー +へ",
		"東京 都":                    "東 +京 都",
		"iPhone手机x":               "iphone 手 +机 x",
		"กำลัง":                   "กํ +า +ลั +ง",
		"हिन्दी में":              "हिन्दी में",
		"done 🎉👍🏽!":               "done 🎉 +👍",
		"don\u2019t":              "don t",
		"\u0301x":                 "x",
		"a\u00a0b\u200bc":         "a b c",
		"привет, МИР":             "привет мир",
		strings.Repeat("x", 5000): strings.Repeat("x", 5000),
	} {
		got := strings.Join(wordsOf(text), " ")
		if got != want {
			t.Errorf("%.40q: got %.80q, want %.80q", text, got, want)
		}
	}
}

func TestMentions(t *testing.T) {
	for text, want := range map[string]string{
		"@ann":                        "ann",
		"hi @Ann, @BOB!":              "ann bob",
		"@ann_x @ann-b":               "ann_x ann-b",
		"mail ann@example.com":        "",
		"x-@ann _@ann":                "",
		"(@ann) é@bob @ @@cat @a":     "ann bob cat",
		"@" + strings.Repeat("a", 25): "",
		"@" + strings.Repeat("a", 24): strings.Repeat("a", 24),
		"@ann@bob":                    "ann",
		"@annß":                       "ann",
	} {
		var got []string
		Mentions(text, func(h string) bool { got = append(got, h); return true })
		if strings.Join(got, " ") != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
	n := 0
	Mentions(strings.Repeat("@ann ", 2*MaxMentions), func(string) bool { n++; return true })
	if n != MaxMentions {
		t.Errorf("%d mentions", n)
	}
	for name, want := range map[string]string{"@Ann": "ann", "a": "", "": "", "@": "", "a b": "", "é2": "", "x_-9": "x_-9"} {
		if got, ok := Handle(name); got != want || ok != (want != "") {
			t.Errorf("handle %q: %q, %v", name, got, ok)
		}
	}
}

func TestQueries(t *testing.T) {
	for _, c := range []struct {
		query, mention, content string
		want                    bool
	}{
		{"hello", "", "Hello, world", true},
		{"world hello", "", "Hello, world", true},
		{"hell", "", "Hello", false},
		{"hello there", "", "Hello", false},
		{`"hello world"`, "", "oh hello world", true},
		{`"hello world"`, "", "hello, World!", true},
		{`"hello world"`, "", "hello big world", false},
		{`"a a b"`, "", "a a a b", true},
		{`"a b a c"`, "", "a b a b a c", true},
		{`say "open ended`, "", "open ended say", true},
		{`say "open ended`, "", "open, say, ended", false},
		{`“curly quotes”`, "", "curly quotes", true},
		{`“curly quotes”`, "", "quotes curly", false},
		{"京都", "", "東京都", true},
		{"京都", "", "京の都", false},
		{"京 都", "", "京の都", true},
		{"STRASSE", "", "straße", false},
		{"Σίσυφος", "", "ΣΊΣΥΦΟΣ", true},
		{"été", "", "E\u0301TE\u0301", true},
		{"", "ann", "hi @Ann!", true},
		{"", "ann", "hi ann", false},
		{"hi", "ann", "hi @ann", true},
		{"ho", "ann", "hi @ann", false},
		{strings.Repeat("y", 100), "", "x " + strings.Repeat("Y", 100), true},
		{strings.Repeat("y", 100), "", "x " + strings.Repeat("Y", 101), false},
		{"last", "", strings.Repeat("w ", MaxWords-1) + "last", true},
		{"last", "", strings.Repeat("w ", MaxWords) + "last", false},
	} {
		q, err := Parse(c.query, c.mention)
		if err != nil {
			t.Errorf("%q: %v", c.query, err)
			continue
		}
		if got := q.Matches(c.content); got != c.want {
			t.Errorf("%.40q, mention %q, on %.60q: %v", c.query, c.mention, c.content, got)
		}
		// What matches is indexed under all that is looked up.
		terms := Terms(c.content)
		for _, term := range q.walked() {
			if !slices.Contains(terms, term) && c.want {
				t.Errorf("%.40q: %q is not among the terms of %.60q", c.query, term, c.content)
			}
		}
	}
	for query, want := range map[string]error{"": ErrNoWords, "  ": ErrNoWords, `"" ?!`: ErrNoWords, strings.Repeat("a ", MaxQuery): nil,
		strings.Repeat("a ", MaxQuery+1): ErrManyWords} {
		if _, err := Parse(query, ""); !errors.Is(err, want) {
			t.Errorf("%.20q: %v", query, err)
		}
	}
	if _, err := Parse("?!", "ann"); !errors.Is(err, ErrNoWords) {
		t.Errorf("no words beside a mention: %v", err)
	}
}

func TestOffsets(t *testing.T) {
	for _, n := range []int{0, 1, 2, 63, 64, 65, 500, BlockSize} {
		var o offsets
		for i := range n {
			o.add(i * 7 % BlockSize)
		}
		data := o.encode()
		back, err := decodeOffsets(data)
		if err != nil || back != o || o.count() != n || len(data) > mapBytes {
			t.Errorf("%d: %d bytes, %v", n, len(data), err)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"hello world", `"a b" c`, "東京都 x", "ＦＵＬＬ", "@ann e\u0301", "\xff\xfe", "\u0301", strings.Repeat("ß", 60)} {
		f.Add(s, s)
	}
	f.Fuzz(func(t *testing.T, query, content string) {
		terms := Terms(content)
		for _, term := range terms {
			key := blockKey("a", term, 1<<29)
			if term == "" || strings.Contains(term, "/") || len(key) > persistence.MaxStreamName-128 || utf8.ValidString(content) && !utf8.ValidString(term) {
				t.Fatalf("term %q", term)
			}
		}
		q, err := Parse(query, "")
		if err != nil {
			return
		}
		if q.Matches(content) {
			for _, term := range q.walked() {
				if !slices.Contains(terms, term) {
					t.Fatalf("%q is found in %q, and not under %q", query, content, term)
				}
			}
		}
		if !strings.ContainsAny(content, "\"“”„＂") {
			if self, err := Parse(content, ""); err == nil && !self.Matches(content) {
				t.Fatalf("%q does not find itself", content)
			}
		}
	})
}

func FuzzOffsets(f *testing.F) {
	f.Add([]byte{0, 1, 3, 255})
	f.Add(make([]byte, mapBytes))
	f.Fuzz(func(t *testing.T, data []byte) {
		o, err := decodeOffsets(data)
		if err != nil {
			return
		}
		if back, err := decodeOffsets(o.encode()); err != nil || back != o {
			t.Fatalf("%x comes back different, %v", data, err)
		}
	})
}
