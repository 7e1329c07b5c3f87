package account_test

import (
	"strings"
	"testing"

	"parley/actors/account"
	"parley/actors/actortest"
	"parley/actors/kernel"
)

func TestCheckUsername(t *testing.T) {
	for name, good := range map[string]bool{
		"ab": true, "Ann_B-1": true, strings.Repeat("x", 24): true, "0-": true, "__": true, "systems": true,
		"": false, "a": false, strings.Repeat("x", 25): false, "ann b": false, "ann.b": false, "änn": false, "ann\n": false, "a\x00b": false,
		"@ann": false, "аnn": false, // with a Cyrillic а
		"system": false, "Hook": false, "ADMIN": false, "everyone": false, "hEre": false, "channel": false, "me": false, "Api": false, "Deleted": false,
	} {
		err := account.CheckUsername(name)
		if (err == nil) != good {
			t.Errorf("%q: %v", name, err)
		}
		if err != nil {
			actortest.Wants(t, name, err, kernel.CodeInvalid)
		}
	}
}

func TestHandleOf(t *testing.T) {
	for _, c := range []struct {
		name        string
		plain, kept string // empty: refused
	}{
		{"Bot", "bot", "bot"},
		{"My Agent", "myagent", "my-agent"},
		{" Data_Cruncher-9000 ", "datacruncher9000", "data_cruncher-9000"},
		{"Ünïcode Bot", "ncodebot", "ncode-bot"},
		{"a", "", ""},
		{"!!", "", ""},
		{"机器人", "", ""},
		{"", "", ""},
		{"a!b", "ab", "ab"},
		{"-_", "", "-_"},
		{"Admin", "", ""},
		{"a d m i n", "", "a-d-m-i-n"},
		{"s!y!s!t!e!m", "", ""},
		{strings.Repeat("Ab", 20), strings.Repeat("ab", 12), strings.Repeat("ab", 12)},
		{"tab\tbed", "tabbed", "tab-bed"},
	} {
		for keep, want := range map[bool]string{false: c.plain, true: c.kept} {
			got, err := account.HandleOf(c.name, keep)
			if got != want && (err == nil || want != "") || (err == nil) != (want != "") {
				t.Errorf("%q, keep %t: %q, %v, want %q", c.name, keep, got, err, want)
			}
		}
	}
}

func FuzzHandleOf(f *testing.F) {
	f.Add("My Agent", true)
	f.Add("Ⅷ K", false)
	f.Fuzz(func(t *testing.T, name string, keep bool) {
		handle, err := account.HandleOf(name, keep)
		if err != nil {
			return
		}
		if err := account.CheckUsername(handle); err != nil || strings.ToLower(handle) != handle {
			t.Errorf("%q became %q: %v", name, handle, err)
		}
		if again, err := account.HandleOf(handle, keep); err != nil || again != handle {
			t.Errorf("%q is not the handle of itself but %q, %v", handle, again, err)
		}
	})
}

func TestCheckText(t *testing.T) {
	for _, c := range []struct {
		in, out string
		good    bool
	}{
		{"  x ", "x", true}, {"a\nb\tc", "a\nb\tc", true}, {"éé", "éé", true}, {"ééé", "", false}, {"a\x00", "", false}, {"a\x1b", "", false},
		{"a\u0085b", "", false}, {"", "", true},
	} {
		limit := 5
		if strings.HasPrefix(c.in, "é") {
			limit = 2
		}
		if got, err := account.CheckText("field", c.in, limit); got != c.out || (err == nil) != c.good {
			t.Errorf("%q: %q, %v", c.in, got, err)
		}
	}
	for link, good := range map[string]bool{"https://x.test/a.png": true, "http://x": true, "ftp://x": false, "//x": false, "x": false,
		"https://u:p@x": false, "javascript:alert(1)": false, "https://": false, "http://[": false} {
		if err := account.CheckLink("avatar", link); (err == nil) != good {
			t.Errorf("%q: %v", link, err)
		}
	}
}
