package command_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"parley/actors/command"
)

func TestCommands(t *testing.T) {
	for content, name := range map[string]string{
		"/help": "/help", "  /Roll 2d6": "/roll", "/a\tb": "/a", "/a\nb": "/a", "/": "/", "//": "//", "/ x": "/", "\u00a0/x": "/x",
		"/a\u00a0b": "/a", "/balance@Dice x": "/balance", "/me@": "/me", "/" + strings.Repeat("é", 30): "/" + strings.Repeat("é", 19) + "…",
		"hello": "", "": "", "x /help": "", " ": "",
	} {
		if command.Is(content) != (name != "") {
			t.Errorf("%q is taken for a command: %t", content, command.Is(content))
		}
		if got := command.Parse(content).Shown(); name != "" && got != name {
			t.Errorf("%q has the name %q, want %q", content, got, name)
		}
	}
	r := command.Unknown("/frob x")
	if r.OK || r.Command != "/frob" || r.Content != "Unknown command /frob." || !r.Ephemeral || r.Type != "system" {
		t.Errorf("%+v", r)
	}
	if r := command.Unknown("/roll@dice 2d6"); r.OK || r.Command != "/roll" || !strings.Contains(r.Content, "@dice") {
		t.Errorf("%+v", r)
	}
}

// TestParse holds the contract of arguments (clients.md 5.1).
func TestParse(t *testing.T) {
	for _, c := range []struct {
		content, name, target, raw string
		positional                 []string
		flags                      string
	}{
		{"/x", "x", "", "", []string{}, `{}`},
		{"/x hello --flag value", "x", "", "hello --flag value", []string{"hello"}, `{"flag":"value"}`},
		{"  /X   a \t b\n c  ", "x", "", "a \t b\n c", []string{"a", "b", "c"}, `{}`},
		{"/x --a --b 1 --c", "x", "", "--a --b 1 --c", []string{}, `{"a":true,"b":"1","c":true}`},
		{"/x --a=1 --b= c --d=x=y", "x", "", "--a=1 --b= c --d=x=y", []string{"c"}, `{"a":"1","b":"","d":"x=y"}`},
		{"/x --a 1 --a 2", "x", "", "--a 1 --a 2", []string{}, `{"a":"2"}`},
		{`/x --persona "two words" "and more"`, "x", "", `--persona "two words" "and more"`, []string{"and more"}, `{"persona":"two words"}`},
		{`/x "--a" -b --  --=c - ""`, "x", "", `"--a" -b --  --=c - ""`, []string{"--a", "-b", "--", "--=c", "-", ""}, `{}`},
		{`/x {"a": "b c"}`, "x", "", `{"a": "b c"}`, []string{"{a:", "b c}"}, `{}`},
		{`/x a"b c"d "open end`, "x", "", `a"b c"d "open end`, []string{"ab cd", "open end"}, `{}`},
		{"/Balance@Dice_1 x", "balance", "dice_1", "x", []string{"x"}, `{}`},
		{"/@x y", "", "x", "y", []string{"y"}, `{}`},
		{`/"a b"`, `"a`, "", `b"`, []string{"b"}, `{}`},
		{"/ÄRGER ünder", "ärger", "", "ünder", []string{"ünder"}, `{}`},
	} {
		i := command.Parse(c.content)
		flags, err := json.Marshal(i.Flags())
		if err != nil || i.Name != c.name || i.Target != c.target || i.Raw() != c.raw || !reflect.DeepEqual(i.Positional(), c.positional) || string(flags) != c.flags {
			t.Errorf("%q is %q @%q %q %q %s %v", c.content, i.Name, i.Target, i.Raw(), i.Positional(), flags, err)
		}
	}
}

func TestArgs(t *testing.T) {
	a := command.ParseArgs(`one "two words"  --f v three  --g four`)
	if a.Len() != 7 || a.Word(1) != "two words" || a.Word(7) != "" || a.Rest(0) != "one two words  --f v three  --g four" ||
		a.Rest(1) != "two words  --f v three  --g four" || a.Rest(4) != "three  --g four" || a.Rest(7) != "" || a.Rest(9) != "" || a.After(1).Word(0) != "two words" {
		t.Errorf("%q %q %q", a.Rest(0), a.Rest(1), a.Rest(4))
	}
	f, found, rest := a.Take("f")
	if f.Value != "v" || f.Bare || !found || rest.Raw() != `one "two words"   three  --g four` {
		t.Errorf("%+v %q", f, rest.Raw())
	}
	if bare, rest := a.TakeBare("g"); !bare || rest.Raw() != `one "two words"  --f v three   four` {
		t.Errorf("%q", rest.Raw())
	}
	if f, found, rest := a.Take("none"); found || f.Value != "" || rest.Len() != a.Len() {
		t.Error("a flag that is not there was taken")
	}
	if f, _, rest := command.ParseArgs("x --f").Take("f"); !f.Bare || rest.Raw() != "x" {
		t.Errorf("%+v %q", f, rest.Raw())
	}
	if f, _, rest := command.ParseArgs("--f=1 x").Take("f"); f.Value != "1" || rest.Raw() != "x" {
		t.Errorf("%+v %q", f, rest.Raw())
	}
	many := command.ParseArgs(strings.Repeat("--a x ", 10_000))
	if len(many.Flags()) != 1 || len(many.Positional()) != 2*(10_000-command.MaxFlags) {
		t.Errorf("%d flags, %d words", len(many.Flags()), len(many.Positional()))
	}
}

// TestTable holds what clients and the help rely on.
func TestTable(t *testing.T) {
	all := command.Builtins()
	if !slices.IsSortedFunc(all, func(a, b command.Builtin) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error("the table is not sorted")
	}
	for _, b := range all {
		if command.Find(b.Name) == nil || command.Find(b.Name).Name != b.Name || len(b.Forms) == 0 {
			t.Errorf("/%s is not found, or has no form", b.Name)
		}
		if b.Description == "" || strings.ContainsAny(b.Description, "\n—") || strings.Trim(b.Name, "abcdefghijklmnopqrstuvwxyz") != "" {
			t.Errorf("/%s is described %q", b.Name, b.Description)
		}
		seen := map[string]bool{}
		for i := range b.Forms {
			f := &b.Forms[i]
			got, rest := b.Form(command.ParseArgs(strings.ToUpper(f.Sub) + " x y"))
			if got != f || seen[f.Sub] || f.Description == "" || f.Who == "" || strings.ContainsAny(f.Description+f.Args, "\n—") || rest.Rest(0) != "x y" {
				t.Errorf("%s: %+v", b.Usage(f), f)
			}
			seen[f.Sub] = true
		}
	}
	// Names that hooks of existing clients use (clients.md 5.2).
	for _, name := range []string{"balance", "getshells", "dice", "dicebet", "accept", "cancel", "checkin", "standup", "price", "tip", "", "zzz"} {
		if command.Find(name) != nil {
			t.Errorf("/%s is taken", name)
		}
	}
	if f, _ := command.Find("agent").Form(command.ParseArgs("frobnicate x")); f != nil {
		t.Error("an unknown form was found")
	}
	if n := len(command.Search("  DICE ")); n != 1 {
		t.Errorf("%d commands about dice", n)
	}
	if command.Search("no such thing") == nil || len(command.Search("/")) != len(all) || len(command.Search("")) != len(all) {
		t.Error("a search")
	}
}

func TestView(t *testing.T) {
	got, err := json.Marshal(command.Views([]command.Builtin{*command.Find("get")}))
	want := `[{"name":"get","command":"/get","description":"show a note of this agency","type":"builtin","source":"builtin","usage":"/get \u003ckey\u003e",` +
		`"forms":[{"usage":"/get \u003ckey\u003e","description":"show a note exactly as it was saved","who":"every member","ephemeral":false}]}]`
	if err != nil || string(got) != want {
		t.Errorf("%s %v", got, err)
	}
}

// TestDocumentation: docs/commands.md lists the table, no more and no less.
func TestDocumentation(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "commands.md"))
	if err != nil {
		t.Fatal(err)
	}
	var rows []string
	for _, b := range command.Builtins() {
		for i := range b.Forms {
			f := &b.Forms[i]
			shown := "the room"
			if f.Private {
				shown = "you alone"
			}
			rows = append(rows, "| `"+b.Usage(f)+"` | "+f.Description+" | "+f.Who+" | "+shown+" |")
		}
	}
	var have []string
	for line := range strings.SplitSeq(string(page), "\n") {
		if strings.HasPrefix(line, "| `/") {
			have = append(have, line)
		}
	}
	if !slices.Equal(have, rows) {
		t.Errorf("the table of docs/commands.md is stale; it should be\n%s", strings.Join(rows, "\n"))
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"/help me", "/" + strings.Repeat("é", 100), `/x "a b" --c d --e`, `/x@y --"`, "/x \xff\"", strings.Repeat(`"`, 200), "/ --a --a=b --=", "/x \u2003y"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, content string) {
		i := command.Parse(content)
		if strings.ContainsAny(i.Name, " \t\n\"@") && !strings.Contains(i.Name, `"`) {
			t.Errorf("%q has the name %q", content, i.Name)
		}
		words := 0
		for _, p := range i.Positional() {
			if strings.Contains(p, `"`) {
				t.Errorf("%q has the word %q", content, p)
			}
			words++
		}
		if n := len(i.Flags()); n > command.MaxFlags || words+n > i.Len() {
			t.Errorf("%q has %d words and %d flags of %d", content, words, n, i.Len())
		}
		for name, flag := range i.Flags() {
			got, found, rest := i.Take(name)
			if !found || rest.Len() >= i.Len() || got.Bare && got.Value != "" || flag.Bare && flag.Value != "" {
				t.Errorf("%q: --%s is %+v", content, name, got)
			}
		}
		for n := range i.Len() + 1 {
			if n > 8 {
				break
			}
			if i.Word(n) != i.After(n).Word(0) {
				t.Errorf("%q: word %d is %q, and %q", content, n, i.Word(n), i.After(n).Word(0))
			}
		}
		r := command.Unknown(content)
		if len(r.Command) > 60 || r.Content == "" || utf8.ValidString(content) && !utf8.ValidString(r.Content) {
			t.Errorf("%q: %+v", content, r)
		}
		if _, err := json.Marshal(r); err != nil {
			t.Error(err)
		}
	})
}
