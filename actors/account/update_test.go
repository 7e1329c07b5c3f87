package account_test

import (
	"context"
	"strings"
	"testing"

	"parley/actors/account"
	"parley/actors/actortest"
	"parley/actors/kernel"
)

func TestCheckDisplayName(t *testing.T) {
	for name, good := range map[string]bool{
		"": true, "  ": true, "Ann": true, "Ann A. (home)": true, "Ä": true, "李": true, "שלום": true, "😀": true, "👩‍💻": true, "!": true, "x\u200b": true,
		"\u200b": false, "\u200b \u200d": false, "\u2060\ufeff": false, "\u00ad": false, "\u034f": false, "\u3164": false, "\uffa0": false,
		"\u2800": false, "\u115f\u1160": false, "\u0301": false, "\U000e0041": false, "\ufe0f": false,
		"a\nb": false, "a\tb": false, "a\u2028b": false, "a\x07": false, "ann\u202egnp": false, "\u2066ann\u2069": false, "\u200fann": true,
		strings.Repeat("x", account.MaxDisplayName): true, strings.Repeat("x", account.MaxDisplayName+1): false,
	} {
		if _, err := account.CheckDisplayName("displayName", name); (err == nil) != good {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// TestProfileFields changes each field of a user and of an agent to what it may be, and to what it may not.
func TestProfileFields(t *testing.T) {
	w := actortest.New(t)
	ctx := context.Background()
	user := w.User("Ann")
	robot, err := kernel.Ask[*account.Profile](ctx, w.Local, account.Ref("robot"), account.RegisterAgent{Handle: "robot", Token: account.NewAgentToken(),
		ClaimCode: account.NewClaimCode(), Role: "helper"})
	if err != nil {
		t.Fatal(err)
	}
	x := func(n int) string { return strings.Repeat("ä", n) }
	text := func(p *string) string {
		if p == nil {
			return ""
		}
		return *p
	}
	fields := map[string]struct {
		set     func(*account.ProfileUpdate, *string)
		get     func(*account.Profile) string
		cleared string // empty: nothing; "name": the username
		good    []string
		bad     []string
	}{
		"displayName": {func(u *account.ProfileUpdate, v *string) { u.DisplayName = v }, func(p *account.Profile) string { return p.DisplayName }, "name",
			[]string{"A", x(account.MaxDisplayName)}, []string{x(account.MaxDisplayName + 1), "\u200b", "a\nb"}},
		"description": {func(u *account.ProfileUpdate, v *string) { u.Description = v }, func(p *account.Profile) string { return p.Description }, "",
			[]string{"two\nlines", x(account.MaxDescription)}, []string{x(account.MaxDescription + 1), "\x00"}},
		"avatar": {func(u *account.ProfileUpdate, v *string) { u.Avatar = v }, func(p *account.Profile) string { return text(p.Avatar) }, "",
			[]string{"https://x.test/a.png", "http://x.test/?" + strings.Repeat("q", account.MaxURL-15)},
			[]string{"https://x.test/" + strings.Repeat("q", account.MaxURL), "javascript:alert(1)", "data:image/png;base64,AA", "//x.test/a", "/uploads/a.png", "https://u:p@x.test/", "file:///etc/passwd"}},
		"banner": {func(u *account.ProfileUpdate, v *string) { u.Banner = v }, func(p *account.Profile) string { return text(p.Banner) }, "",
			[]string{"https://x.test/b.png"}, []string{"x", "javascript:1"}},
		"theme": {func(u *account.ProfileUpdate, v *string) { u.Theme = v }, func(p *account.Profile) string { return text(p.Theme) }, "",
			[]string{"dark", x(account.MaxStyle)}, []string{x(account.MaxStyle + 1), "a\x1b"}},
		"font": {func(u *account.ProfileUpdate, v *string) { u.Font = v }, func(p *account.Profile) string { return text(p.Font) }, "",
			[]string{"Inter", x(account.MaxStyle)}, []string{x(account.MaxStyle + 1), "a\x7f"}},
	}
	for _, who := range []*account.Profile{{ID: user.ID, Username: "Ann"}, robot} {
		for name, f := range fields {
			change := func(v *string) (*account.Profile, error) {
				var u account.ProfileUpdate
				f.set(&u, v)
				return kernel.Ask[*account.Profile](ctx, w.Local, account.Ref(who.ID), u)
			}
			last := ""
			for _, v := range f.good {
				p, err := change(&v)
				if last = v; err != nil || f.get(p) != v {
					t.Errorf("%s of %s is %.20q: %v", name, who.Username, v, err)
				}
			}
			for _, v := range f.bad {
				_, err := change(&v)
				actortest.Wants(t, name+" "+v[:min(len(v), 20)], err, kernel.CodeInvalid)
				if err != nil && !strings.Contains(err.Error(), name) {
					t.Errorf("%s is not named: %v", name, err)
				}
			}
			if p, err := change(nil); err != nil || f.get(p) != last {
				t.Errorf("%s left alone: %v", name, err)
			}
			want := f.cleared
			if want == "name" {
				want = who.Username
			}
			empty := " "
			if p, err := change(&empty); err != nil || f.get(p) != want {
				t.Errorf("%s cleared: %v", name, err)
			}
		}
	}
}

// The role of a profile is a word for every reader (clients.md 2.9).
func TestRoleOfAProfile(t *testing.T) {
	for want, p := range map[string]account.Profile{
		`"role":"user"`:   {Type: account.User},
		`"role":"agent"`:  {Type: account.Agent},
		`"role":"helper"`: {Type: account.Agent, Role: "helper"},
	} {
		b, err := p.MarshalJSON()
		if err != nil || !strings.Contains(string(b), want) || !strings.Contains(string(b), `"followers":0,"following":0`) {
			t.Errorf("%s, %v, want %s", b, err, want)
		}
	}
}
