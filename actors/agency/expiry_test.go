package agency_test

import (
	"strings"
	"testing"
	"time"

	"parley/actors/agency"
	"parley/actors/kernel"
)

var expiryNow = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func TestParseExpiry(t *testing.T) {
	for s, want := range map[string]time.Duration{"30s": 30 * time.Second, "30m": 30 * time.Minute, "24h": 24 * time.Hour, "7d": 7 * 24 * time.Hour,
		" 007d ": 7 * 24 * time.Hour, "2026-01-01T00:00:00.001Z": time.Millisecond, "2026-01-01T02:00:00+01:00": time.Hour, "3650d": 3650 * 24 * time.Hour} {
		if got, err := agency.ParseExpiry(s, expiryNow); err != nil || got != expiryNow.Add(want).UnixMilli() {
			t.Errorf("%q: %s, %v", s, time.UnixMilli(got).UTC(), err)
		}
	}
	for _, s := range []string{"", " ", "never"} {
		if got, err := agency.ParseExpiry(s, expiryNow); err != nil || got != 0 {
			t.Errorf("%q: %d, %v", s, got, err)
		}
	}
	for s, part := range map[string]string{"0s": "future", "000d": "future", "2026-01-01T00:00:00Z": "future", "1999-01-01T00:00:00Z": "future",
		"3651d": "ahead", "999999999d": "ahead", "99999999999999999999s": "ahead", "9999-12-31T23:59:59Z": "ahead",
		"d": "duration", "-5m": "duration", "5": "duration", "5 m": "duration", "1h30m": "duration", "5y": "duration", "5M": "duration", "tomorrow": "duration", "+5m": "duration", "٣m": "duration"} {
		_, err := agency.ParseExpiry(s, expiryNow)
		if e := kernel.AsError(err); e == nil || e.Code != kernel.CodeInvalid || !strings.Contains(e.Message, part) {
			t.Errorf("%q: %v", s, err)
		}
	}
}

func FuzzParseExpiry(f *testing.F) {
	for _, s := range []string{"30s", "7d", "never", "2026-01-01T02:00:00+01:00", "9999999999h", "\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		end, err := agency.ParseExpiry(s, expiryNow)
		if err == nil && end != 0 && (end <= expiryNow.UnixMilli() || end > expiryNow.Add(3650*24*time.Hour).UnixMilli()) {
			t.Errorf("%q ends at %d", s, end)
		}
	})
}

func FuzzParseInviteCode(f *testing.F) {
	f.Add(agency.NewInviteCode())
	f.Add(" 0123456789ABCDEF\n")
	f.Add("../../x")
	f.Fuzz(func(t *testing.T, s string) {
		code, ok := agency.ParseInviteCode(s)
		if !ok {
			return
		}
		if again, ok := agency.ParseInviteCode(code); !ok || again != code || len(code) != 16 || strings.ContainsAny(code, "/\x00 \n") {
			t.Errorf("%q gives %q, then %q", s, code, again)
		}
	})
}

func TestInviteCodes(t *testing.T) {
	seen := map[string]bool{}
	for range 1000 {
		c := agency.NewInviteCode()
		if back, ok := agency.ParseInviteCode(" " + strings.ToUpper(c) + "\n"); !ok || back != c || seen[c] {
			t.Fatalf("%q: %q, %v, seen %v", c, back, ok, seen[c])
		}
		seen[c] = true
	}
	for _, s := range []string{"", "abc", strings.Repeat("a", 15), strings.Repeat("a", 17), strings.Repeat("a", 8) + "\n" + strings.Repeat("a", 8), strings.Repeat("i", 16)} {
		if c, ok := agency.ParseInviteCode(s); ok {
			t.Errorf("%q is %q", s, c)
		}
	}
}
