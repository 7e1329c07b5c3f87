package command

import (
	"encoding/json"
	"strings"
	"unicode"
)

// MaxFlags is the number of flags of one command; words that look like more of them are ordinary words.
const MaxFlags = 256

// Invocation is a command as it was typed (clients.md 5.1).
type Invocation struct {
	Name   string // in lower case, without the slash; empty for a slash alone
	Target string // the hook that /name@slug asks for, in lower case; empty for none
	Args
}

// Shown is the name with its slash, shortened.
func (i Invocation) Shown() string { return cut("/" + i.Name) }

// Parse takes a command apart. It accepts every text, in time and space in proportion to its length, which the caller
// bounds.
func Parse(content string) Invocation {
	content = strings.TrimSpace(content)
	name, raw := content, ""
	if end := strings.IndexFunc(content, unicode.IsSpace); end >= 0 {
		name, raw = content[:end], strings.TrimSpace(content[end:])
	}
	name, target, _ := strings.Cut(strings.ToLower(strings.TrimPrefix(name, "/")), "@")
	return Invocation{Name: name, Target: target, Args: ParseArgs(raw)}
}

// Args are what follows the name of a command. Words are split at white space; double quotes group and are removed, one
// that is never closed reaches to the end. A word that begins with -- is a flag, unless it was quoted.
type Args struct {
	raw   string
	words []word
}

type word struct {
	text       string
	start, end int // in raw, quotes included
	flag       bool
}

// name is that of a flag, and the value that is part of the same word.
func (w *word) name() (name, value string, joined bool) { return strings.Cut(w.text[2:], "=") }

// ParseArgs takes the arguments of a command apart.
func ParseArgs(raw string) Args {
	a := Args{raw: raw}
	begin, quoted, flags := -1, false, 0
	add := func(end int) {
		text := raw[begin:end]
		w := word{text: strings.ReplaceAll(text, `"`, ""), start: begin, end: end}
		if w.flag = flags < MaxFlags && len(w.text) > 2 && strings.HasPrefix(text, "--") && w.text[2] != '='; w.flag {
			flags++
		}
		a.words = append(a.words, w)
		begin = -1
	}
	for at, r := range raw {
		switch {
		case !quoted && unicode.IsSpace(r):
			if begin >= 0 {
				add(at)
			}
			continue
		case r == '"':
			quoted = !quoted
		}
		if begin < 0 {
			begin = at
		}
	}
	if begin >= 0 {
		add(len(raw))
	}
	return a
}

// Raw is the text as it was typed (rawArgs).
func (a Args) Raw() string { return a.raw }

// Len is the number of words, flags among them.
func (a Args) Len() int { return len(a.words) }

// Word is the n-th word from 0, without its quotes; empty when there is none.
func (a Args) Word(n int) string {
	if n >= len(a.words) {
		return ""
	}
	return a.words[n].text
}

// Rest is the text behind the first n words as it was typed, without quotes.
func (a Args) Rest(n int) string {
	return strings.TrimSpace(strings.ReplaceAll(a.After(n).raw, `"`, ""))
}

// After is what follows the first n words.
func (a Args) After(n int) Args {
	switch {
	case n == 0:
		return a
	case n >= len(a.words):
		return Args{}
	}
	return ParseArgs(strings.TrimSpace(a.raw[a.words[n-1].end:]))
}

// Flag is the value of a flag: a text, or with Bare none.
type Flag struct {
	Value string
	Bare  bool
}

// MarshalJSON renders a string, or true (clients.md 5.3).
func (f Flag) MarshalJSON() ([]byte, error) {
	if f.Bare {
		return []byte("true"), nil
	}
	return json.Marshal(f.Value)
}

// value is that of the n-th word, which is a flag, and the number of words that it takes.
func (a Args) value(n int) (Flag, int) {
	if _, v, joined := a.words[n].name(); joined {
		return Flag{Value: v}, 1
	}
	if n+1 < len(a.words) && !a.words[n+1].flag {
		return Flag{Value: a.words[n+1].text}, 2
	}
	return Flag{Bare: true}, 1
}

// Positional are the words that are no flags and no values of flags. It is never nil.
func (a Args) Positional() []string {
	list := []string{}
	for n := 0; n < len(a.words); {
		if a.words[n].flag {
			_, taken := a.value(n)
			n += taken
			continue
		}
		list = append(list, a.words[n].text)
		n++
	}
	return list
}

// Flags are the flags by name: --key value, --key=value, or a bare --key. Of a name that comes twice the last one counts.
// It is never nil.
func (a Args) Flags() map[string]Flag {
	flags := map[string]Flag{}
	for n := 0; n < len(a.words); n++ {
		if !a.words[n].flag {
			continue
		}
		name, _, _ := a.words[n].name()
		v, taken := a.value(n)
		flags[name] = v
		n += taken - 1
	}
	return flags
}

// Take cuts the first flag of a name out, together with its value.
func (a Args) Take(name string) (Flag, bool, Args) { return a.take(name, false) }

// TakeBare cuts the first flag of a name out, which has no value: the word behind it stays.
func (a Args) TakeBare(name string) (bool, Args) {
	_, found, rest := a.take(name, true)
	return found, rest
}

func (a Args) take(name string, bare bool) (Flag, bool, Args) {
	for n := range a.words {
		if !a.words[n].flag {
			continue
		}
		if own, _, _ := a.words[n].name(); own != name {
			continue
		}
		v, taken := Flag{Bare: true}, 1
		if !bare {
			v, taken = a.value(n)
		}
		rest := a.raw[:a.words[n].start] + a.raw[a.words[n+taken-1].end:]
		return v, true, ParseArgs(strings.TrimSpace(rest))
	}
	return Flag{}, false, a
}
