package agency

import (
	"bytes"
	"encoding/json"
	"testing"
)

// A row is byte for byte what encoding a View gives.
func TestRowIsAView(t *testing.T) {
	charter := `<b>"isMember":true,"is_member":true,"role":"owner" & ` + "\n\u2028é"
	odd := `,"isMember":false,"is_member":false,"role":null`
	for _, r := range []Record{
		{ID: "a", Name: "Reef", Slug: "reef", Kind: Room, MemberCount: 3, CreatedAt: 1},
		{ID: LobbyID, Name: "Lobby", Slug: "lobby", Charter: &charter, Kind: Lobby, MemberCount: 1 << 40},
		{ID: "p", Name: odd, Slug: odd, Charter: &odd, Private: true, Kind: Room, CreatedAt: 1_700_000_000_000},
		{ID: odd, Name: `\`, Slug: `"`, Kind: "dm", Private: true},
	} {
		row, err := NewRow(r.Encode())
		if err != nil {
			t.Fatal(err)
		}
		for _, role := range []Role{"", Owner, Admin, Moderator, Member, AgentRole} {
			var b bytes.Buffer
			e := json.NewEncoder(&b)
			e.SetEscapeHTML(false)
			if err := e.Encode(NewView(&r, role)); err != nil {
				t.Fatal(err)
			}
			want, got := bytes.TrimSpace(b.Bytes()), row.Append([]byte("x"), role)[1:]
			if !bytes.Equal(got, want) || row.Size(role) != len(want) {
				t.Errorf("as %q:\n%s (%d)\n%s", role, got, row.Size(role), want)
			}
		}
		if row.Listed != r.Listed() || row.Shown != (r.Kind != "dm") || !row.Of(r.Encode()) || row.Of(nil) {
			t.Errorf("%+v of %+v", row, r)
		}
	}
	if _, err := NewRow([]byte("{")); err == nil {
		t.Error("a damaged record is a row")
	}
}

// The directory has what anybody may see, and nothing of any other kind.
func TestListed(t *testing.T) {
	for _, c := range []struct {
		r    Record
		want bool
	}{
		{Record{ID: "a", Kind: Room}, true}, {Record{ID: "a", Kind: Lobby}, true}, {Record{ID: "a", Kind: Room, Private: true}, false},
		{Record{ID: "a", Kind: "dm"}, false}, {Record{ID: "a", Kind: "dm", Private: true}, false}, {Record{}, false},
	} {
		if c.r.Listed() != c.want || (EntryOf(&c.r) != nil) != c.want {
			t.Errorf("%+v", c.r)
		}
	}
	if EntryOf(nil) != nil {
		t.Error("nothing has a place")
	}
}

// The quick way of reading a membership is the slow one, whatever it gets.
func FuzzQuickMember(f *testing.F) {
	for _, m := range []MemberRecord{{}, {Role: Member, JoinedAt: 1_700_000_000_000}, {Role: AgentRole}, {Role: "other", JoinedAt: -1}, {Role: Owner, JoinedAt: 1 << 62}} {
		f.Add(m.Encode())
	}
	for _, s := range []string{"", "{}", `{"r":"member","j":01}`, `{"r":"member","j":}`, `{"r":"member","j":1}x`, `{"r":"member","j":1,"r":"owner"}`, `{"j":1,"r":"owner"}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		quick, ok := quickMember(doc)
		var slow MemberRecord
		if err := json.Unmarshal(doc, &slow); ok && (err != nil || quick != slow) {
			t.Fatalf("%q: %+v, %+v, %v", doc, quick, slow, err)
		}
		if m, err := DecodeMember(doc); err == nil && m != slow {
			t.Fatalf("%q: %+v, %+v", doc, m, slow)
		}
	})
}
