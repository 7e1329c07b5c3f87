package account_test

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"

	"parley/actors/account"
)

func TestTokensHaveTheirForm(t *testing.T) {
	for _, c := range []struct {
		make   func() string
		prefix string
		size   int
		kind   account.CredentialKind
	}{
		{account.NewSessionToken, "", 64, account.SessionCredential},
		{account.NewPATToken, "cru_", 52, account.PATCredential},
		{account.NewAgentToken, "sk_", 51, account.AgentCredential},
	} {
		a, b := c.make(), c.make()
		if a == b || len(a) != c.size || !strings.HasPrefix(a, c.prefix) || account.KindOfToken(a) != c.kind {
			t.Errorf("%q, %q: want %d bytes with %q", a, b, c.size, c.prefix)
		}
	}
}

func TestSealing(t *testing.T) {
	key := bytes.Repeat([]byte{1}, 32)
	s, err := account.NewSealer(key)
	if err != nil {
		t.Fatal(err)
	}
	other, _ := account.NewSealer(bytes.Repeat([]byte{2}, 32))
	for _, secret := range []string{"", "x", strings.Repeat("long", 1000)} {
		a, b := s.Seal("p", secret), s.Seal("p", secret)
		if bytes.Equal(a, b) || secret != "" && len(secret) > 3 && bytes.Contains(a, []byte(secret)) {
			t.Errorf("seals of %q tell of it", secret)
		}
		if got, err := s.Open("p", a); err != nil || got != secret {
			t.Errorf("opened %q, %v", got, err)
		}
		if _, err := s.Open("q", a); err == nil {
			t.Error("opened for another purpose")
		}
		if _, err := other.Open("p", a); err == nil {
			t.Error("opened with another key")
		}
		for i := range a {
			bad := bytes.Clone(a)
			bad[i] ^= 1
			if _, err := s.Open("p", bad); err == nil {
				t.Fatalf("opened with byte %d changed", i)
			}
			if i > 40 {
				break
			}
		}
		if _, err := s.Open("p", a[:5]); err == nil {
			t.Error("opened a piece")
		}
	}
	for _, size := range []int{0, 16, 24, 31, 33} {
		if _, err := account.NewSealer(make([]byte, size)); err == nil {
			t.Errorf("took a key of %d bytes", size)
		}
	}
}

func TestPasswords(t *testing.T) {
	for password, good := range map[string]bool{"1234567": false, "12345678": true, "éééééééé": true, strings.Repeat("x", 1024): true,
		strings.Repeat("é", 1024): true, strings.Repeat("x", 1025): false, "": false} {
		if err := account.CheckPassword("password", password); (err == nil) != good {
			t.Errorf("%d characters: %v", len(password), err)
		}
	}
	h, ctx := account.NewHasher(), context.Background()
	hash, err := h.Hash(ctx, "correct horse")
	if err != nil || strings.Contains(hash, "correct") || !strings.HasPrefix(hash, "$argon2id$") {
		t.Fatal(hash, err)
	}
	for _, c := range []struct {
		password, hash string
		right          bool
	}{
		{"correct horse", hash, true}, {"correct horsf", hash, false}, {"", hash, false}, {"correct horse", "", false},
		{strings.Repeat("x", 5000), hash, false}, {"", "", false},
	} {
		if right, err := h.Verify(ctx, c.password, c.hash); right != c.right || err != nil {
			t.Errorf("%.20q against %.10q: %t, %v", c.password, c.hash, right, err)
		}
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	refused := 0
	for range 50 { // a free slot may be taken although the caller has gone
		if _, err := h.Hash(ended, "x"); err != nil {
			refused++
		}
		if refused > 0 {
			break
		}
	}
	if refused == 0 {
		t.Error("hashes for callers that have gone")
	}
}

func TestProfileJSON(t *testing.T) {
	p := account.Profile{ID: "1", Username: "bot", DisplayName: "Bot", Type: account.Agent, CreatedAt: 1_767_225_600_123, Verified: true}
	back, err := account.DecodeProfile(p.Encode())
	if err != nil || *back != p {
		t.Errorf("%+v became %+v, %v", p, back, err)
	}
	var m map[string]any
	data, _ := json.Marshal(p)
	if err := json.Unmarshal(data, &m); err != nil {
		t.Fatal(err)
	}
	for field, want := range map[string]any{"displayName": "Bot", "display_name": "Bot", "created_at": "2026-01-01T00:00:00.123Z",
		"createdAt": "2026-01-01T00:00:00.123Z", "is_agent": true, "verified": true, "is_verified": true, "avatar": nil, "username": "bot"} {
		if got, ok := m[field]; !ok || got != want {
			t.Errorf("%s is %v, want %v", field, got, want)
		}
	}
	for _, secret := range []string{"ownerId", "OwnerID", "Deleted", "HasToken"} {
		if _, ok := m[secret]; ok {
			t.Errorf("the public profile shows %s", secret)
		}
	}
	user, _ := json.Marshal(account.Profile{Type: account.User})
	if bytes.Contains(user, []byte("verified")) {
		t.Errorf("a user has %s", user)
	}
}

func FuzzDecodeProfile(f *testing.F) {
	f.Add([]byte(`{"id":"1","u":"ann","t":"user","c":1}`))
	f.Fuzz(func(t *testing.T, doc []byte) {
		p, err := account.DecodeProfile(doc)
		if err != nil {
			return
		}
		if again, err := account.DecodeProfile(p.Encode()); err != nil || again.ID != p.ID {
			t.Errorf("%s: %+v, %v", doc, again, err)
		}
	})
}
