package account

import (
	"crypto/subtle"

	"parley/actors/kernel"
	"parley/persistence"
)

// NewSession is a session that begins: its id and the hash of its token.
type NewSession struct {
	ID   string
	Hash string
}

// OpenSession begins a session for who has shown a credential. It answers with a *Profile. The hash that the credential
// was checked against must still be the account's, so that a password or token changed meanwhile is not accepted.
type OpenSession struct {
	NewSession
	PasswordHash string // of a login
	TokenHash    string // of an agent's exchange
}

// CloseSession ends a session. It answers with kernel.Done, also when there is none.
type CloseSession struct{ ID string }

// Credentials asks for the password's hash. It answers with a string, empty for agents.
type Credentials struct{}

// ChangePassword replaces the password's hash and ends every session; PATs stay (decision 8).
type ChangePassword struct {
	Current string // the hash that the current password was checked against
	Next    string // the new hash
}

func (a *Account) openSession(t *kernel.Turn, c OpenSession) {
	var err error
	if c.TokenHash != "" {
		err = a.mayExchange(c.TokenHash)
	} else if !same(c.PasswordHash, a.s.PasswordHash) {
		err = kernel.Fail(kernel.CodeUnauthorized, "wrong username or password")
	}
	if err != nil {
		t.Fail(err)
		return
	}
	change, ended := a.beginSession(t, c.NewSession, c.TokenHash == "")
	p := a.profile()
	t.Commit(change, func() {
		a.ports.Revoker.Revoke(t.ID(), ended...)
		t.Reply(p)
	}, nil)
}

// beginSession adds a session and ends those that are expired or too many, whose ids it returns.
func (a *Account) beginSession(t *kernel.Turn, n NewSession, loggedIn bool) (change kernel.Change, ended []string) {
	now := t.Now()
	s := session{ID: n.ID, Hash: n.Hash, OpenedAt: now.UnixMilli(), Expires: now.Add(SessionLife).UnixMilli()}
	c := Credential{Kind: SessionCredential, ID: n.ID}
	if loggedIn {
		c.LoggedIn = s.OpenedAt
	}
	for i, old := range a.s.Sessions {
		if old.Expires <= s.OpenedAt || len(a.s.Sessions)-i >= MaxSessions {
			ended = append(ended, old.ID)
			change.Events = append(change.Events, event(sessionClosed, idOnly{old.ID}))
			change.Claims = append(change.Claims, releaseToken(t.ID(), old.Hash))
		}
	}
	change.Events = append(change.Events, event(sessionOpened, s))
	change.Claims = append(change.Claims, tokenClaim(t.ID(), n.Hash, c, s.Expires))
	return change, ended
}

func (a *Account) closeSession(t *kernel.Turn, c CloseSession) {
	i := a.s.session(c.ID)
	if i < 0 {
		t.Reply(kernel.Done{})
		return
	}
	t.Commit(kernel.Change{
		Events: []persistence.Event{event(sessionClosed, idOnly{c.ID})},
		Claims: []persistence.ClaimOp{releaseToken(t.ID(), a.s.Sessions[i].Hash)},
	}, func() {
		a.ports.Revoker.Revoke(t.ID(), c.ID)
		t.Reply(kernel.Done{})
	}, nil)
}

func (a *Account) changePassword(t *kernel.Turn, c ChangePassword) {
	if a.s.Type != User || !same(c.Current, a.s.PasswordHash) {
		t.Fail(kernel.Forbidden("the current password is wrong"))
		return
	}
	change, ids := a.endSessions(t.ID())
	change.Events = append(change.Events, event(passwordChanged, newPassword{c.Next}))
	t.Commit(change, func() {
		a.ports.Revoker.Revoke(t.ID(), ids...)
		t.Reply(kernel.Done{})
	}, nil)
}

// endSessions ends all sessions and returns their ids; PATs stay.
func (a *Account) endSessions(account string) (kernel.Change, []string) {
	var change kernel.Change
	ids := make([]string, 0, len(a.s.Sessions))
	for _, s := range a.s.Sessions {
		ids = append(ids, s.ID)
		change.Claims = append(change.Claims, releaseToken(account, s.Hash))
	}
	change.Events = append(change.Events, event(sessionsClosed, struct{}{}))
	return change, ids
}

// same compares secrets in constant time; the empty secret equals nothing.
func same(a, b string) bool {
	return a != "" && subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1
}
