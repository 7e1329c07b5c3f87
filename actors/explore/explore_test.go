package explore

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"parley/persistence"
)

func TestWords(t *testing.T) {
	for text, want := range map[string]string{
		"": "", " -_!": "", "Ann": "ann", "Ann's Reef": "ann s reef", "my-bot_x1": "my bot x1", "ÄRGER Straße": "ärger straße",
		"ΣΟΦΟΣ σοφος": "σοφοσ σοφοσ", "\u212aelvin": "kelvin", "हिन्दी बात": "हिन्दी बात", "a/b\x00c": "a b c", "日本語 chat": "日本語 chat", "x😀y": "x y",
		"CAFE\u0301": "caf\u00e9", "\ufb01re \uff21nn": "fire ann",
	} {
		if got := strings.Join(Words(text), " "); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestMatches(t *testing.T) {
	for _, c := range []struct {
		q, handle, name string
		want            bool
	}{
		{"ann", "ann", "Somebody", true}, {"AN", "Ann_x", "", true}, {"@ann", "ann", "", true}, {" ann ", "ann", "", true},
		{"nn", "ann", "Ann", false}, {"x", "Ann_x", "", true}, {"ann_x", "Ann_x", "", true}, {"ann-x", "ann_x", "", true},
		{"bob ann", "ann", "The Bob", true}, {"bob ann", "ann", "The Bo", false}, {"reef ree re r", "ann-s-reef", "", true},
		{"", "ann", "Ann", false}, {"!", "ann", "!", false}, {"_", "_x", "", false},
		{"cafe\u0301", "caf", "Caf\u00e9 Reef", true}, {"CAF\u00c9", "caf", "Cafe\u0301", true}, {"\uff41nn", "ann", "", true},
		{strings.Repeat("w", 100), "x", strings.Repeat("w", 100), true}, {strings.Repeat("w", 100) + "x", "x", strings.Repeat("w", 100) + "y", false},
	} {
		q := Parse(c.q)
		if got := q.Matches(c.handle, c.name); got != c.want {
			t.Errorf("%.20q in %q, %.20q: %v", c.q, c.handle, c.name, got)
		}
		if !c.want {
			continue
		}
		// what matches is found at one of the places that are looked at
		e := &Entry{ID: "id", Handle: c.handle, Name: c.name, Kinds: []Kind{Agents}}
		if !slices.ContainsFunc(Change(nil, e), func(op persistence.DocumentOp) bool {
			return slices.ContainsFunc(q.Prefixes(Agents), func(p string) bool { return strings.HasPrefix(op.Key, p) })
		}) {
			t.Errorf("%.20q does not lead to %q, %.20q", c.q, c.handle, c.name)
		}
	}
}

func TestPrefixes(t *testing.T) {
	for text, want := range map[string]string{
		"ann": "agent/ann", "@Ann": "agent/ann", "my-bot": "agent/my-bot agent/bot", "an old friend": "agent/friend", "!": "", "a/b": "agent/a",
	} {
		q := Parse(text)
		got := q.Prefixes(Agents)
		if text == "my-bot" { // either word is as good
			got[1] = strings.Replace(got[1], "agent/my", "agent/bot", 1)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// A change of an entry leaves exactly what the new one has, and says nothing twice.
func TestChange(t *testing.T) {
	entry := func(name string, data string) *Entry {
		return &Entry{ID: "i", Handle: "h-1", Name: name, Kinds: []Kind{Accounts, Agents},
			Place: []persistence.DocumentOp{{Collection: "list", Key: "k" + data, Data: []byte(data)}}}
	}
	steps := []*Entry{nil, entry("One Two", "1"), entry("Two Three", "1"), entry("Two Three", "2"), entry("Two", ""), nil}
	have := map[string]string{}
	for i := 1; i < len(steps); i++ {
		seen := map[string]bool{}
		for _, op := range Change(steps[i-1], steps[i]) {
			at := op.Collection + "|" + op.Key
			if seen[at] {
				t.Errorf("step %d changes %s twice", i, at)
			}
			seen[at] = true
			if had, there := have[at]; op.Data == nil && !there || op.Data != nil && there && had == string(op.Data) {
				t.Errorf("step %d changes nothing at %s", i, at)
			}
			if op.Data == nil {
				delete(have, at)
			} else {
				have[at] = string(op.Data)
			}
		}
		fresh := map[string]string{}
		for _, op := range Change(nil, steps[i]) {
			fresh[op.Collection+"|"+op.Key] = string(op.Data)
		}
		if fmt.Sprint(have) != fmt.Sprint(fresh) {
			t.Errorf("after step %d there is %v, want %v", i, have, fresh)
		}
	}
}

func TestLongNamesFit(t *testing.T) {
	for _, name := range []string{strings.Repeat("ä", 300), strings.Repeat("a b1 ", 300), strings.Repeat("日本", 200), strings.Repeat("\xff", 300)} {
		e := &Entry{ID: strings.Repeat("i", 36), Handle: strings.Repeat("s-", 32), Name: name, Kinds: []Kind{Agencies}}
		ops := Change(nil, e)
		if len(ops) == 0 || len(ops) > MaxTerms {
			t.Errorf("%d terms", len(ops))
		}
		for _, op := range ops {
			if len(op.Key) > persistence.MaxStreamName || utf8.ValidString(name) && !utf8.ValidString(op.Key) {
				t.Errorf("key %q", op.Key)
			}
		}
	}
}

func TestOrder(t *testing.T) {
	keys := []string{BySize(1<<62, 9, "a"), BySize(200, 5, "z"), BySize(129, 6, "a"), BySize(127, 1, "a"), BySize(1, 1, "a"), BySize(1, 2, "a"), BySize(0, 0, "a"), BySize(-1, 1, "a")}
	if !slices.IsSorted(keys) {
		t.Errorf("%q", keys)
	}
	keys = []string{ByAge(Agents, 1<<60, "b"), ByAge(Agents, 3, "a"), ByAge(Agents, 2, "a"), ByAge(Agents, 2, "b"), ByAge(Agents, 0, "a")}
	if !slices.IsSorted(keys) {
		t.Errorf("%q", keys)
	}
	if IDOf(keys[0]) != "b" {
		t.Error(IDOf(keys[0]))
	}
}

func FuzzQuery(f *testing.F) {
	for _, s := range []string{"", "ann", "@my-bot", "two words", "\xff/\x00", "ΣΣ ſ", strings.Repeat("x ", 200)} {
		f.Add(s, s)
	}
	f.Fuzz(func(t *testing.T, text, name string) {
		q := Parse(text)
		for _, p := range q.Prefixes(Agencies) {
			if len(p) > MaxTerm+len(Agencies)+1 || !strings.HasPrefix(p, string(Agencies)+"/") || strings.Count(p, "/") != 1 {
				t.Fatalf("%q looks at %q", text, p)
			}
		}
		if q.Empty() != (len(q.Prefixes(Agencies)) == 0) {
			t.Fatalf("%q is empty: %v", text, q.Empty())
		}
		q.Matches(text, name)
		if all := Words(name); len(all) > 0 {
			w := Parse(all[0])
			if !w.Matches("handle", name) {
				t.Fatalf("%q is not found by its first word", name)
			}
		}
	})
}
