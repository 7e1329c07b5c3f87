package platform

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/hashicorp/golang-lru/v2"

	"parley/actors/account"
	"parley/actors/kernel"
	"parley/persistence"
)

// maxToken is the longest token that is looked at, in bytes.
const maxToken = 256

// Identity is who a credential belongs to.
type Identity struct {
	account.Sender
	Session    string    // id of the session, or of the PAT
	PAT        bool      // by a personal access token
	LoggedInAt time.Time // zero for PATs and agents' sessions
	Expires    int64     // ms; 0: never
}

func unauthorized(format string, args ...any) error {
	return kernel.Fail(kernel.CodeUnauthorized, format, args...)
}

// own puts the errors of the caller's own account into words: one that is not there has ended while the request was under
// way, and its tokens with it.
func own(err error) error {
	if gone(err) {
		return unauthorized("this account has been deleted")
	}
	if err != nil {
		return kernel.AsError(err)
	}
	return nil
}

// Authenticate finds who a session token or PAT belongs to; CodeUnauthorized when it is unknown, expired or revoked.
// It reads two documents and wakes no actor.
func (p *Platform) Authenticate(ctx context.Context, token string) (*Identity, error) {
	if token == "" || len(token) > maxToken || account.KindOfToken(token) == account.AgentCredential {
		return nil, unauthorized("invalid token")
	}
	claim, err := p.Store.Claim(ctx, persistence.ClaimToken, persistence.HashToken(token))
	if errors.Is(err, persistence.ErrNotFound) {
		return nil, unauthorized("invalid or expired token")
	}
	if err != nil {
		return nil, kernel.AsError(err)
	}
	c, err := account.ReadCredential(claim.Data)
	if err != nil {
		return nil, kernel.AsError(err)
	}
	if c.Kind != account.KindOfToken(token) {
		return nil, unauthorized("invalid token")
	}
	profile, err := p.Profile(ctx, claim.Owner)
	if gone(err) {
		return nil, unauthorized("invalid or expired token")
	}
	if err != nil {
		return nil, err
	}
	id := &Identity{Sender: profile.Sender(), Session: c.ID, PAT: c.Kind == account.PATCredential, Expires: claim.Expires}
	if c.LoggedIn != 0 {
		id.LoggedInAt = time.UnixMilli(c.LoggedIn)
	}
	if id.PAT {
		p.noteUse(id)
	}
	return id, nil
}

// Profile returns the public face of an account, or CodeNotFound.
func (p *Platform) Profile(ctx context.Context, id string) (*account.Profile, error) {
	doc, err := p.Store.Document(ctx, persistence.CollectionAccount, id)
	if errors.Is(err, persistence.ErrNotFound) || strings.Contains(id, "/") {
		return nil, kernel.NotFound("there is no such account")
	}
	if err != nil {
		return nil, kernel.AsError(err)
	}
	profile, err := account.DecodeProfile(doc)
	if err != nil {
		return nil, kernel.AsError(err)
	}
	return p.face(profile), nil
}

// Use of PATs is noted at most once in useEvery per token, for the useTracked tokens used last.
const (
	useEvery   = time.Minute
	useTracked = 10_000
)

// lastUsed remembers when the use of a PAT was last noted, so that a busy token does not write at every request.
type lastUsed struct{ noted *lru.Cache[string, int64] }

func newLastUsed() *lastUsed {
	c, err := lru.New[string, int64](useTracked)
	if err != nil {
		panic(err) // the size is a positive constant
	}
	return &lastUsed{c}
}

func (p *Platform) noteUse(id *Identity) {
	now := p.Now().UnixMilli()
	if last, ok := p.used.noted.Get(id.Session); ok && now-last < useEvery.Milliseconds() {
		return
	}
	p.used.noted.Add(id.Session, now)
	p.Directory.Call(account.Ref(id.ID), account.UsePAT{ID: id.Session, At: now}, func(any, error) {})
}
