package platform

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/google/uuid"

	"parley/actors/account"
	"parley/actors/kernel"
	"parley/persistence"
)

// forgetAgain is how long after an account's end it is looked once more at what it left behind. By then every request
// that was let in before the end is over, also those of other servers.
const forgetAgain = 2 * time.Minute

// freshLogin is how recent a login must be to delete an account without its password (decision 9).
const freshLogin = 10 * time.Minute

// RegisterUser makes a user, opens its first session and puts it into the Lobby.
func (p *Platform) RegisterUser(ctx context.Context, username, password, displayName string) (string, *account.Profile, error) {
	if err := account.CheckUsername(username); err != nil {
		return "", nil, err
	}
	if err := account.CheckPassword("password", password); err != nil {
		return "", nil, err
	}
	if err := p.nameIsFree(ctx, username); err != nil {
		return "", nil, err
	}
	hash, err := p.Hasher.Hash(ctx, password)
	if err != nil {
		return "", nil, kernel.AsError(err)
	}
	id, token := uuid.NewString(), account.NewSessionToken()
	join := joinLobby(id)
	profile, err := p.askProfile(ctx, account.Ref(id), account.RegisterUser{
		Username: username, DisplayName: displayName, PasswordHash: hash, Session: newSession(token),
		Outbox: []persistence.OutboxOp{join.promise()},
	})
	if err != nil {
		return "", nil, kernel.AsError(err)
	}
	_ = p.carryOut(ctx, join) // postponed when it fails
	return token, profile, nil
}

// nameIsFree spares the hashing for a name that is taken; the claim decides.
func (p *Platform) nameIsFree(ctx context.Context, username string) error {
	_, err := p.Store.Claim(ctx, persistence.ClaimUsername, strings.ToLower(username))
	switch {
	case err == nil:
		return kernel.Fail(kernel.CodeTaken, "the name %q is taken", username)
	case errors.Is(err, persistence.ErrNotFound):
		return nil
	default:
		return kernel.AsError(err)
	}
}

func newSession(token string) account.NewSession {
	return account.NewSession{ID: uuid.NewString(), Hash: persistence.HashToken(token)}
}

// Login opens a session. An unknown name and a wrong password get the same answer in the same time (decision 7).
func (p *Platform) Login(ctx context.Context, username, password string) (string, *account.Profile, error) {
	wrong := unauthorized("wrong username or password")
	id, hash, err := p.credentials(ctx, username)
	if err != nil {
		return "", nil, err
	}
	right, err := p.Hasher.Verify(ctx, password, hash)
	if err != nil {
		return "", nil, kernel.AsError(err)
	}
	if !right {
		return "", nil, wrong
	}
	token := account.NewSessionToken()
	profile, err := p.askProfile(ctx, account.Ref(id), account.OpenSession{
		NewSession: newSession(token), PasswordHash: hash})
	if gone(err) { // deleted meanwhile
		return "", nil, wrong
	}
	if err != nil {
		return "", nil, kernel.AsError(err)
	}
	return token, profile, nil
}

// credentials finds an account's password hash by its name; both are empty for an unknown one.
func (p *Platform) credentials(ctx context.Context, username string) (id, hash string, err error) {
	claim, err := p.Store.Claim(ctx, persistence.ClaimUsername, strings.ToLower(username))
	if errors.Is(err, persistence.ErrNotFound) || errors.Is(err, persistence.ErrTooLarge) {
		return "", "", nil
	}
	if err != nil {
		return "", "", kernel.AsError(err)
	}
	hash, err = kernel.Ask[string](ctx, p.Directory, account.Ref(claim.Owner), account.Credentials{})
	if err != nil {
		if e := kernel.AsError(err); e.Code != kernel.CodeNotFound {
			return "", "", e
		}
		return "", "", nil
	}
	return claim.Owner, hash, nil
}

// ExchangeAgentToken opens a session for an agent; CodeForbidden while it is not verified.
func (p *Platform) ExchangeAgentToken(ctx context.Context, agentToken string) (string, *account.Profile, error) {
	id, hash, err := p.agentByToken(ctx, agentToken)
	if err != nil {
		return "", nil, err
	}
	token := account.NewSessionToken()
	profile, err := p.askProfile(ctx, account.Ref(id), account.OpenSession{
		NewSession: newSession(token), TokenHash: hash})
	if gone(err) { // deleted meanwhile
		return "", nil, unauthorized("invalid agent token")
	}
	if err != nil {
		return "", nil, kernel.AsError(err)
	}
	return token, profile, nil
}

// Logout ends the session. A PAT has no session to end: revoking it is an act of its own.
func (p *Platform) Logout(ctx context.Context, id *Identity) error {
	if id.PAT {
		return nil
	}
	return own(p.tell(ctx, account.Ref(id.ID), account.CloseSession{ID: id.Session}))
}

// UpdateProfile changes the public fields.
func (p *Platform) UpdateProfile(ctx context.Context, id *Identity, u account.ProfileUpdate) (*account.Profile, error) {
	u.PublicURL = p.PublicURL
	profile, err := p.askProfile(ctx, account.Ref(id.ID), u)
	return profile, own(err)
}

// ChangePassword ends every session of the user; PATs stay (decision 8).
func (p *Platform) ChangePassword(ctx context.Context, id *Identity, current, next string) error {
	if id.Type != account.User {
		return kernel.Forbidden("agents have no password")
	}
	if err := account.CheckPassword("newPassword", next); err != nil {
		return err
	}
	old, err := p.checkPassword(ctx, id, current)
	if err != nil {
		return err
	}
	hash, err := p.Hasher.Hash(ctx, next)
	if err != nil {
		return kernel.AsError(err)
	}
	return own(p.tell(ctx, account.Ref(id.ID), account.ChangePassword{Current: old, Next: hash}))
}

// checkPassword returns the hash that the password matches; CodeForbidden when it does not.
func (p *Platform) checkPassword(ctx context.Context, id *Identity, password string) (string, error) {
	hash, err := kernel.Ask[string](ctx, p.Directory, account.Ref(id.ID), account.Credentials{})
	if err != nil {
		return "", own(err)
	}
	right, err := p.Hasher.Verify(ctx, password, hash)
	if err != nil {
		return "", kernel.AsError(err)
	}
	if !right {
		return "", kernel.Forbidden("the password is wrong")
	}
	return hash, nil
}

// DeleteAccount deletes the caller's account and all that follows from it (decision 9). Without a password only a fresh
// login may.
func (p *Platform) DeleteAccount(ctx context.Context, id *Identity, password *string) error {
	command := account.Delete{}
	switch {
	case password != nil:
		hash, err := p.checkPassword(ctx, id, *password)
		if err != nil {
			return err
		}
		command.PasswordHash = hash
	case id.PAT || id.LoggedInAt.IsZero() || p.Now().Sub(id.LoggedInAt) > freshLogin:
		return kernel.Forbidden("give the password, or log in again and delete the account within %d minutes", int(freshLogin.Minutes()))
	}
	return own(p.deleteAccount(ctx, id.Sender, command))
}

func (p *Platform) deleteAccount(ctx context.Context, who account.Sender, command account.Delete) error {
	forget := errand{Kind: errandForget, Who: who}
	again := errand{Kind: errandForgetAgain, Who: who, Due: p.Now().Add(forgetAgain).UnixMilli()}
	command.Outbox = []persistence.OutboxOp{forget.promise(), again.promise()}
	if err := p.tell(ctx, account.Ref(who.ID), command); err != nil {
		return err
	}
	_ = p.carryOut(ctx, forget) // postponed when it fails
	return nil
}

// CreatePAT makes a personal access token and returns its raw value, which is shown this once.
func (p *Platform) CreatePAT(ctx context.Context, id *Identity, name, expiresIn string) (*account.PAT, string, error) {
	const shown = 8 // characters of the token that stay visible (rest.md, PAT)
	token := account.NewPATToken()
	pat, err := kernel.Ask[*account.PAT](ctx, p.Directory, account.Ref(id.ID), account.CreatePAT{
		ID: uuid.NewString(), Name: name, ExpiresIn: expiresIn, Hash: persistence.HashToken(token), Prefix: token[:shown] + "…"})
	if err != nil {
		return nil, "", own(err)
	}
	return pat, token, nil
}

// PATs lists the caller's tokens.
func (p *Platform) PATs(ctx context.Context, id *Identity) ([]account.PAT, error) {
	pats, err := kernel.Ask[[]account.PAT](ctx, p.Directory, account.Ref(id.ID), account.ListPATs{})
	if err != nil {
		return nil, own(err)
	}
	return pats, nil
}

// RevokePAT deletes a token: CodeForbidden for somebody else's, CodeNotFound for none (rest.md, Errors).
func (p *Platform) RevokePAT(ctx context.Context, id *Identity, patID string) error {
	err := p.tell(ctx, account.Ref(id.ID), account.RevokePAT{ID: patID})
	if kernel.AsError(err) == nil || kernel.AsError(err).Code != kernel.CodeNotFound {
		return err
	}
	owner, lookup := p.Store.Claim(ctx, persistence.ClaimPAT, patID)
	if lookup == nil && owner.Owner != id.ID {
		return kernel.Forbidden("this token belongs to somebody else")
	}
	return err
}

// tell sends a command whose answer says nothing.
func (p *Platform) tell(ctx context.Context, ref kernel.Ref, command any) error {
	if _, err := kernel.Ask[kernel.Done](ctx, p.Directory, ref, command); err != nil {
		return kernel.AsError(err)
	}
	return nil
}
