package account

import (
	"encoding/json"

	"parley/actors/kernel"
	"parley/persistence"
)

// RegisterAgent makes an agent. It answers with a *Profile; CodeTaken if the handle is taken. Without an owner the agent
// registered itself: it is verified and waits to be claimed (decision 12); with one it starts unverified (decision 13).
type RegisterAgent struct {
	Handle      string
	DisplayName string
	Description string
	Role        string
	Personality string
	OwnerID     string
	Token       string // the agent token; only its hash stays, and for owned agents a sealed copy for a while
	ClaimCode   string // of an agent without an owner
	Verified    bool   // by its owner, at once (decision 18)
	Config      map[string]json.RawMessage
	Outbox      []persistence.OutboxOp
}

// Creates implements kernel.Creator.
func (RegisterAgent) Creates() {}

func (a *Account) registerAgent(t *kernel.Turn, c RegisterAgent) {
	s, err := a.newAgent(t, c)
	if err != nil {
		t.Fail(err)
		return
	}
	change := kernel.Change{Claims: []persistence.ClaimOp{tokenClaim(t.ID(), s.TokenHash, Credential{Kind: AgentCredential}, 0)}}
	if c.OwnerID == "" {
		change.Claims = append(change.Claims, persistence.ClaimOp{Index: persistence.ClaimCode, Key: c.ClaimCode, Owner: t.ID()})
		change.Counters = append(change.Counters, persistence.CounterOp{Name: persistence.CountUnclaimed, Delta: 1})
	} else {
		change.Documents = append(change.Documents, persistence.DocumentOp{Collection: persistence.CollectionOwned,
			Key: persistence.Key(c.OwnerID, t.ID()), Data: []byte{}})
	}
	a.register(t, *s, change, persistence.CounterOp{Name: persistence.CountAgents, Delta: 1}, c.Outbox)
}

// Check applies the rules that names and texts must keep. Whoever means to make an agent applies them first: an actor that
// is woken to create something and refuses leaves its name in the store.
func (c RegisterAgent) Check() error {
	if err := CheckUsername(c.Handle); err != nil {
		return err
	}
	return c.describe(&state{})
}

func (c RegisterAgent) describe(s *state) error {
	for _, f := range []struct {
		field, text string
		limit       int
		to          *string
	}{
		{"name", c.DisplayName, MaxDisplayName, &s.DisplayName},
		{"description", c.Description, MaxDescription, &s.Description},
		{"role", c.Role, MaxRole, &s.Role},
		{"personality", c.Personality, MaxPersonality, &s.Personality},
	} {
		v, err := CheckText(f.field, f.text, f.limit)
		if err == nil && f.field == "name" {
			v, err = CheckDisplayName(f.field, v)
		}
		if err != nil {
			return err
		}
		*f.to = v
	}
	return nil
}

func (a *Account) newAgent(t *kernel.Turn, c RegisterAgent) (*state, error) {
	if a.s.ID != "" {
		return nil, kernel.Fail(kernel.CodeTaken, "this account exists already")
	}
	if err := c.Check(); err != nil {
		return nil, err
	}
	s := &state{stored: stored{ID: t.ID(), Username: c.Handle, Type: Agent, OwnerID: c.OwnerID, HasToken: true,
		Verified: c.OwnerID == "" || c.Verified, CreatedAt: t.Now().UnixMilli()},
		TokenHash: persistence.HashToken(c.Token), ClaimCode: c.ClaimCode}
	if err := c.describe(s); err != nil {
		return nil, err
	}
	if s.DisplayName == "" {
		s.DisplayName = s.Username
	}
	if c.OwnerID != "" {
		s.SealedToken = a.ports.Sealer.Seal(tokenPurpose(t.ID()), c.Token)
	}
	if c.OwnerID != "" && c.Verified {
		s.VerifiedAt = s.CreatedAt
	}
	body, err := a.planConfig(t, &s.stored, "", c.Config)
	if err != nil {
		return nil, err
	}
	if !body.empty() {
		s.Config = body.apply(nil)
	}
	return s, nil
}

// tokenPurpose and configPurpose bind a sealed secret to its place, so that one cannot be passed off as another.
func tokenPurpose(id string) string { return "agent-token/" + id }
func configPurpose(id, agency, key string) string {
	return "agent-config/" + id + "/" + agency + "/" + key
}

// Verify lets the owner admit an agent. It answers with *Verified.
type Verify struct{ By string }

// Verified is the answer to Verify.
type Verified struct {
	Profile *Profile
	Token   string // the agent token as long as it is kept, else empty (decision 10)
}

func (a *Account) verify(t *kernel.Turn, c Verify) {
	if err := a.ownedBy(c.By); err != nil {
		t.Fail(err)
		return
	}
	now := t.Now().UnixMilli()
	token := a.keptToken(t, now)
	if a.s.VerifiedAt != 0 {
		p := a.profile()
		t.AfterCommits(func() { t.Reply(&Verified{p, token}) })
		return
	}
	p := a.profile()
	p.Verified = true
	t.Commit(kernel.Change{
		Events:    []persistence.Event{event(verified, verification{now})},
		Documents: []persistence.DocumentOp{{Collection: persistence.CollectionAccount, Key: t.ID(), Data: p.Encode()}},
	}, func() { t.Reply(&Verified{p, token}) }, nil)
}

// ShowToken asks for an agent's token without verifying the agent; its owner may. It answers with a string, empty when the
// token is kept no more (decision 10).
type ShowToken struct{ By string }

func (a *Account) showToken(t *kernel.Turn, c ShowToken) {
	if err := a.ownedBy(c.By); err != nil {
		t.Fail(err)
		return
	}
	token := a.keptToken(t, t.Now().UnixMilli())
	t.AfterCommits(func() { t.Reply(token) })
}

func (a *Account) keptToken(t *kernel.Turn, now int64) string {
	if a.s.SealedToken == nil || a.s.VerifiedAt != 0 && now > a.s.VerifiedAt+SealedTokenFor.Milliseconds() {
		return ""
	}
	token, err := a.ports.Sealer.Open(tokenPurpose(t.ID()), a.s.SealedToken)
	if err != nil {
		t.System().Log.Error("agent token can't be unsealed", "agent", t.ID(), "error", err)
		return ""
	}
	return token
}

// ReplaceToken gives the agent a new token; the old one and its sessions are dead at once (decision 10). It answers with
// kernel.Done.
type ReplaceToken struct {
	By   string
	Hash string
}

func (a *Account) replaceToken(t *kernel.Turn, c ReplaceToken) {
	if err := a.ownedBy(c.By); err != nil {
		t.Fail(err)
		return
	}
	change, _ := a.endSessions(t.ID())
	change.Events = append(change.Events, event(tokenReplaced, newToken{c.Hash}))
	change.Claims = append(change.Claims, releaseToken(t.ID(), a.s.TokenHash),
		tokenClaim(t.ID(), c.Hash, Credential{Kind: AgentCredential}, 0))
	t.Commit(change, func() {
		a.ports.Revoker.RevokeAll(t.ID())
		t.Reply(kernel.Done{})
	}, nil)
}

// ownedBy admits an agent's owner. To others the agent is known (it is public), so they are refused, not misled.
func (a *Account) ownedBy(account string) error {
	switch {
	case a.s.Type != Agent:
		return kernel.NotFound("there is no such agent")
	case a.s.OwnerID == "" || a.s.OwnerID != account:
		return kernel.Forbidden("only the agent's owner can do this")
	}
	return nil
}

// Delete ends an account (decision 9). It answers with kernel.Done. Its outbox carries what follows from it elsewhere.
type Delete struct {
	// PasswordHash, if not empty, is what the given password was checked against.
	PasswordHash string
	// By, if not empty, must be the agent's owner.
	By     string
	Outbox []persistence.OutboxOp
}

func (a *Account) delete(t *kernel.Turn, c Delete) {
	if c.PasswordHash != "" && !same(c.PasswordHash, a.s.PasswordHash) {
		t.Fail(kernel.Forbidden("the password is wrong"))
		return
	}
	if c.By != "" {
		if err := a.ownedBy(c.By); err != nil {
			t.Fail(err)
			return
		}
	}
	change, _ := a.endSessions(t.ID())
	change.Events = []persistence.Event{event(deleted, struct{}{})}
	username := usernameClaim(&a.s)
	username.Release = true
	change.Claims = append(change.Claims, username)
	if a.s.Wallet != "" {
		change.Claims = append(change.Claims, releaseWallet(t.ID(), a.s.Wallet))
	}
	for _, p := range a.s.PATs {
		change.Claims = append(change.Claims, releasePAT(t.ID(), p)...)
	}
	change.Documents = append(dropped(&a.s.stored, &stored{}), profileDocuments(t.ID(), a.profile(), nil)...)
	if a.s.Type == Agent {
		a.deleteAgent(t, &change)
	} else {
		change.Counters = append(change.Counters, persistence.CounterOp{Name: persistence.CountUsers, Delta: -1})
		a.endClaims(t.ID(), &change)
	}
	change.Outbox, change.Final = c.Outbox, true
	t.Commit(change, func() {
		a.ports.Revoker.RevokeAll(t.ID())
		t.Reply(kernel.Done{})
	}, nil)
}

func (a *Account) deleteAgent(t *kernel.Turn, change *kernel.Change) {
	change.Claims = append(change.Claims, releaseToken(t.ID(), a.s.TokenHash))
	change.Counters = append(change.Counters, persistence.CounterOp{Name: persistence.CountAgents, Delta: -1})
	if a.s.ClaimCode != "" {
		change.Claims = append(change.Claims, persistence.ClaimOp{Index: persistence.ClaimCode, Key: a.s.ClaimCode, Owner: t.ID(), Release: true})
	}
	if a.s.OwnerID == "" {
		change.Counters = append(change.Counters, persistence.CounterOp{Name: persistence.CountUnclaimed, Delta: -1})
		return
	}
	change.Documents = append(change.Documents, persistence.DocumentOp{Collection: persistence.CollectionOwned,
		Key: persistence.Key(a.s.OwnerID, t.ID())})
}
