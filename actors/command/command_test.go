package command_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"parley/actors/command"
)

func TestCommands(t *testing.T) {
	for content, name := range map[string]string{
		"/help": "/help", "  /Roll 2d6": "/roll", "/a\tb": "/a", "/a\nb": "/a", "/": "/", "//": "//", "/ x": "/", "\u00a0/x": "/x",
		"hello": "", "": "", "x /help": "", " ": "",
	} {
		if command.Is(content) != (name != "") {
			t.Errorf("%q is taken for a command: %t", content, command.Is(content))
		}
		if name != "" && command.Name(content) != name {
			t.Errorf("%q has the name %q, want %q", content, command.Name(content), name)
		}
	}
	r := command.Unknown("/frob x")
	if r.OK || r.Command != "/frob" || !strings.Contains(r.Content, "/frob") || !r.Ephemeral || r.Type != "system" {
		t.Errorf("%+v", r)
	}
}

func FuzzUnknown(f *testing.F) {
	f.Add("/help me")
	f.Add("/" + strings.Repeat("é", 100))
	f.Fuzz(func(t *testing.T, content string) {
		if !command.Is(content) {
			return
		}
		r := command.Unknown(content)
		if len(r.Command) > 60 || r.Content == "" {
			t.Errorf("%q: %+v", content, r)
		}
		if utf8.ValidString(content) && !utf8.ValidString(r.Command) {
			t.Errorf("%q became %q", content, r.Command)
		}
		if _, err := json.Marshal(r); err != nil {
			t.Error(err)
		}
	})
}
