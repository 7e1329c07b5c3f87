package account

import (
	"encoding/json"
	"time"

	"parley/actors/kernel"
	"parley/persistence"
)

// PAT is a personal access token without its raw value.
type PAT struct {
	ID        string
	Name      string
	Prefix    string
	Hash      string
	CreatedAt int64 // ms, like all below
	ExpiresAt int64 // 0: never
	UsedAt    int64 // 0: never; to about a minute
}

// MarshalJSON renders the token for clients, in both spellings (clients.md 2.1), without its hash.
func (p PAT) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]any{
		"id": p.ID, "name": p.Name, "tokenPrefix": p.Prefix, "token_prefix": p.Prefix, "scopes": []string{"all"},
		"expiresAt": FormatTime(p.ExpiresAt), "expires_at": FormatTime(p.ExpiresAt),
		"lastUsedAt": FormatTime(p.UsedAt), "last_used_at": FormatTime(p.UsedAt),
		"createdAt": FormatTime(p.CreatedAt), "created_at": FormatTime(p.CreatedAt),
	})
}

// patTerms are the accepted lifetimes: rest.md has 1y, existing clients send 365d.
var patTerms = map[string]time.Duration{"": 0, "never": 0, "30d": 30 * 24 * time.Hour, "90d": 90 * 24 * time.Hour,
	"1y": 365 * 24 * time.Hour, "365d": 365 * 24 * time.Hour}

// CreatePAT makes a personal access token. It answers with a *PAT. Only users have them; at most MaxPATs.
type CreatePAT struct {
	ID        string
	Name      string
	ExpiresIn string // 30d, 90d, 1y, 365d, never or empty
	Hash      string
	Prefix    string
}

// ListPATs answers with []PAT, oldest first, without expired ones.
type ListPATs struct{}

// RevokePAT deletes a token. It answers with kernel.Done; CodeNotFound if the account has no such token.
type RevokePAT struct{ ID string }

// UsePAT notes that a token was used. Nobody waits for it.
type UsePAT struct {
	ID string
	At int64
}

func (a *Account) createPAT(t *kernel.Turn, c CreatePAT) {
	term, ok := patTerms[c.ExpiresIn]
	name, err := CheckText("name", c.Name, MaxPATName)
	switch {
	case a.s.Type != User:
		t.Fail(kernel.Forbidden("only users can create personal access tokens"))
		return
	case err != nil:
		t.Fail(err)
		return
	case name == "":
		t.Fail(kernel.Invalid("name is required"))
		return
	case !ok:
		t.Fail(kernel.Invalid("expiresIn must be 30d, 90d, 1y or never"))
		return
	}
	now := t.Now()
	var change kernel.Change
	live := 0
	for _, p := range a.s.PATs {
		if p.ExpiresAt != 0 && p.ExpiresAt <= now.UnixMilli() {
			change.Events = append(change.Events, event(patRevoked, idOnly{p.ID}))
			change.Claims = append(change.Claims, releasePAT(t.ID(), p)...)
			continue
		}
		live++
	}
	if live >= MaxPATs {
		t.Fail(kernel.Invalid("you already have %d personal access tokens; revoke one first", MaxPATs))
		return
	}
	p := PAT{ID: c.ID, Name: name, Prefix: c.Prefix, Hash: c.Hash, CreatedAt: now.UnixMilli()}
	if term > 0 {
		p.ExpiresAt = now.Add(term).UnixMilli()
	}
	change.Events = append(change.Events, event(patCreated, storedPAT(p)))
	change.Claims = append(change.Claims, tokenClaim(t.ID(), c.Hash, Credential{Kind: PATCredential, ID: c.ID}, p.ExpiresAt),
		persistence.ClaimOp{Index: persistence.ClaimPAT, Key: c.ID, Owner: t.ID(), Expires: p.ExpiresAt})
	t.Commit(change, func() { t.Reply(&p) }, nil)
}

func releasePAT(account string, p storedPAT) []persistence.ClaimOp {
	return []persistence.ClaimOp{releaseToken(account, p.Hash),
		{Index: persistence.ClaimPAT, Key: p.ID, Owner: account, Release: true}}
}

func (a *Account) listPATs(t *kernel.Turn) {
	now := t.Now().UnixMilli()
	pats := make([]PAT, 0, len(a.s.PATs))
	for _, p := range a.s.PATs {
		if p.ExpiresAt == 0 || p.ExpiresAt > now {
			pats = append(pats, PAT(p))
		}
	}
	t.AfterCommits(func() { t.Reply(pats) })
}

func (a *Account) revokePAT(t *kernel.Turn, c RevokePAT) {
	i := a.s.pat(c.ID)
	if i < 0 {
		t.Fail(kernel.NotFound("there is no such token"))
		return
	}
	t.Commit(kernel.Change{
		Events: []persistence.Event{event(patRevoked, idOnly{c.ID})},
		Claims: releasePAT(t.ID(), a.s.PATs[i]),
	}, func() {
		a.ports.Revoker.Revoke(t.ID(), c.ID)
		t.Reply(kernel.Done{})
	}, nil)
}

func (a *Account) usePAT(t *kernel.Turn, c UsePAT) {
	if a.s.pat(c.ID) < 0 {
		t.Reply(kernel.Done{})
		return
	}
	t.Commit(kernel.Change{Events: []persistence.Event{event(patUsed, patUse(c))}}, func() { t.Reply(kernel.Done{}) }, nil)
}
