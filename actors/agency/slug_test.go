package agency_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"parley/actors/agency"
)

func TestSlugOf(t *testing.T) {
	for name, want := range map[string]string{
		"Ann's Reef": "ann-s-reef", "Lobby": "lobby", "  a  b  ": "a-b", "--x--": "x", "a___b": "a-b", "Ünï": "n", "机": "agency", "": "agency",
		"C++ & Go!": "c-go", "UPPER": "upper", strings.Repeat("ab ", 40): strings.Repeat("ab-", 21) + "a", "1.2.3": "1-2-3",
		"0ABC1234-0000 8000-8000-000000000001": "agency-0abc1234-0000-8000-8000-000000000001", "0abc12340000800080000000000000ff": "agency-0abc12340000800080000000000000ff",
	} {
		if got := agency.SlugOf(name); got != want {
			t.Errorf("%q became %q, want %q", name, got, want)
		}
	}
}

var slugForm = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

func FuzzSlugOf(f *testing.F) {
	f.Add("Ann's Reef")
	f.Add(strings.Repeat("x", 63) + " y")
	f.Fuzz(func(t *testing.T, name string) {
		slug := agency.SlugOf(name)
		if !slugForm.MatchString(slug) || len(slug) > agency.MaxSlug {
			t.Errorf("%q became %q", name, slug)
		}
		if again := agency.SlugOf(slug); again != slug {
			t.Errorf("%q became %q and then %q", name, slug, again)
		}
	})
}

func TestMessageIDs(t *testing.T) {
	seen := map[string]bool{}
	for range 10_000 {
		seq, at := rand.Uint64N(1<<40), rand.Int64N(1<<47)
		id := agency.NewMessageID(at, seq)
		if got, ok := agency.SeqOfMessageID(id); !ok || got != seq {
			t.Fatalf("%s carries %d (%t), want %d", id, got, ok, seq)
		}
		if seen[id] {
			t.Fatal("an id came twice")
		}
		seen[id] = true
	}
	if a, b := agency.NewMessageID(1, 1), agency.NewMessageID(1, 1); a == b {
		t.Error("ids can be guessed")
	}
	if a, b := agency.NewMessageID(1000, 9), agency.NewMessageID(1001, 1); a >= b {
		t.Error("ids do not sort by time")
	}
	for _, bad := range []string{"", "x", agency.LobbyID + "0", "00000000-0000-4000-8000-000000000001", "{" + agency.LobbyID + "}",
		"urn:uuid:" + agency.LobbyID, strings.ReplaceAll(agency.LobbyID, "-", "")} {
		if _, ok := agency.SeqOfMessageID(bad); ok {
			t.Errorf("%q passes for the id of a message", bad)
		}
	}
}

func FuzzSeqOfMessageID(f *testing.F) {
	f.Add(agency.NewMessageID(1, 1))
	f.Fuzz(func(t *testing.T, id string) {
		if seq, ok := agency.SeqOfMessageID(id); ok && seq >= 1<<40 {
			t.Errorf("%s carries %d", id, seq)
		}
	})
}

func FuzzDecodeMessage(f *testing.F) {
	f.Add([]byte(`{"id":"1","seq":3,"metadata":{"a":1},"content":"x"}`))
	f.Fuzz(func(t *testing.T, doc []byte) {
		m, err := agency.DecodeMessage(doc)
		if err != nil {
			return
		}
		if _, err := json.Marshal(m); err != nil {
			t.Errorf("%s does not encode again: %v", doc, err)
		}
	})
}

func FuzzDecodeRecord(f *testing.F) {
	f.Add([]byte(`{"id":"1","name":"x","slug":"x","kind":"room"}`))
	f.Fuzz(func(t *testing.T, doc []byte) {
		r, err := agency.DecodeRecord(doc)
		if err != nil {
			return
		}
		if again, err := agency.DecodeRecord(r.Encode()); err != nil || fmt.Sprint(again.ID, again.Name) != fmt.Sprint(r.ID, r.Name) {
			t.Errorf("%s: %+v, %v", doc, again, err)
		}
	})
}

func FuzzDecodeMember(f *testing.F) {
	f.Add([]byte(`{"r":"owner","j":5}`))
	f.Fuzz(func(t *testing.T, doc []byte) {
		m, err := agency.DecodeMember(doc)
		if err != nil {
			return
		}
		if again, err := agency.DecodeMember(m.Encode()); err != nil || again.JoinedAt != m.JoinedAt {
			t.Errorf("%s: %+v, %v", doc, again, err)
		}
		if r := m.Role.Rank(); r < 0 || r > 4 {
			t.Errorf("rank %d", r)
		}
	})
}
