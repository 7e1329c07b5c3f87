package platform

import (
	"context"
	"errors"
	"net/mail"
	"strings"
	"time"

	"github.com/google/uuid"

	"parley/actors/account"
	"parley/actors/kernel"
	"parley/persistence"
)

// Limits of an e-mail address in bytes (RFC 5321, 4.5.3.1).
const (
	maxEmail     = 254
	maxEmailUser = 64
)

// ClaimPage is what the page behind a claim link shows of an agent.
type ClaimPage struct {
	Agent   *account.Profile
	Claimed bool
}

// ClaimPage returns the agent that a claim code is of, or CodeNotFound.
func (p *Platform) ClaimPage(ctx context.Context, code string) (*ClaimPage, error) {
	agent, err := p.coded(ctx, code)
	if err != nil {
		return nil, err
	}
	return &ClaimPage{Agent: agent, Claimed: agent.OwnerID != ""}, nil
}

// coded finds an agent by its claim code.
func (p *Platform) coded(ctx context.Context, code string) (*account.Profile, error) {
	unknown := kernel.NotFound("there is no agent with this claim code")
	claim, err := p.Store.Claim(ctx, persistence.ClaimCode, strings.ToLower(strings.TrimSpace(code)))
	if errors.Is(err, persistence.ErrNotFound) || errors.Is(err, persistence.ErrTooLarge) {
		return nil, unknown
	}
	if err != nil {
		return nil, kernel.AsError(err)
	}
	agent, err := p.Profile(ctx, claim.Owner)
	if gone(err) {
		return nil, unknown
	}
	return agent, err
}

// ClaimAgent mails a link to an address; who follows it makes the caller the owner of the agent with the code (decision
// 16). It returns when the link expires. CodeNotFound: no such code; CodeTaken: claimed already; CodeLimited: too many
// claims of the caller's are pending.
func (p *Platform) ClaimAgent(ctx context.Context, id *Identity, code, email string) (time.Time, error) {
	if id.Type != account.User {
		return time.Time{}, kernel.Forbidden("only users can claim agents")
	}
	if err := checkEmail(email); err != nil {
		return time.Time{}, err
	}
	agent, err := p.coded(ctx, code)
	if err != nil {
		return time.Time{}, err
	}
	if agent.OwnerID != "" {
		return time.Time{}, kernel.Fail(kernel.CodeTaken, "this agent has been claimed already")
	}
	if p.Mailer == nil {
		return time.Time{}, kernel.Fail(kernel.CodeUnavailable, "this server sends no mail, so that agents can't be claimed")
	}
	request, expires := uuid.NewString(), p.Now().Add(account.ClaimLife).Truncate(time.Millisecond)
	write := errand{Kind: errandMail, Who: account.Sender{ID: id.ID}, Request: request}
	unask := errand{Kind: errandUnask, Who: account.Sender{ID: id.ID}, Request: request, Due: expires.UnixMilli()}
	err = p.tell(ctx, account.Ref(id.ID), account.RequestClaim{ID: request, Agent: agent.ID, Expires: expires,
		Letter: account.ClaimLetter{Email: email, Token: account.NewVerifyToken()},
		Outbox: []persistence.OutboxOp{write.promise(), unask.promise()}})
	if err != nil {
		return time.Time{}, own(err)
	}
	p.wakeCourier()
	return expires, nil
}

// checkEmail admits a bare address of ASCII that fits into a header and a command of SMTP.
func checkEmail(email string) error {
	bad := kernel.Invalid("email must be an e-mail address such as ann@example.org")
	if len(email) > maxEmail {
		return bad
	}
	for _, c := range []byte(email) {
		if c <= ' ' || c > '~' || c == '"' || c == '(' || c == '\\' || c == '<' || c == '>' || c == ',' || c == ';' {
			return bad
		}
	}
	a, err := mail.ParseAddress(email)
	if err != nil || a.Name != "" || a.Address != email || strings.LastIndexByte(email, '@') > maxEmailUser {
		return bad
	}
	return nil
}

// VerifyClaim follows the link of a claim's mail: the agent is its claimant's from now on. Following it again changes
// nothing. CodeNotFound: no such link; CodeGone: expired; CodeTaken: somebody else was first.
func (p *Platform) VerifyClaim(ctx context.Context, token string) (*account.Profile, error) {
	unknown := kernel.NotFound("this link is not known")
	if token == "" || len(token) > maxToken {
		return nil, unknown
	}
	claim, err := p.Store.Claim(ctx, persistence.ClaimVerify, persistence.HashToken(token))
	if errors.Is(err, persistence.ErrNotFound) {
		return nil, unknown
	}
	if err != nil {
		return nil, kernel.AsError(err)
	}
	ticket, err := account.ReadClaimTicket(claim.Data)
	if err != nil {
		return nil, kernel.AsError(err)
	}
	if _, err := p.Profile(ctx, claim.Owner); err != nil {
		if gone(err) {
			return nil, unknown
		}
		return nil, err
	}
	if _, err := p.agent(ctx, ticket.Agent); err != nil {
		return nil, err
	}
	adopt := errand{Kind: errandAdopt, Who: account.Sender{ID: ticket.Agent}, Owner: claim.Owner, Request: ticket.Request}
	claimed, err := kernel.Ask[*account.Claimed](ctx, p.Directory, account.Ref(ticket.Agent), account.ClaimAgent{By: claim.Owner,
		Request: ticket.Request, Expired: p.Now().UnixMilli() >= ticket.Expires, Outbox: []persistence.OutboxOp{adopt.promise()}})
	if err != nil {
		if kernel.AsError(err).Code == kernel.CodeTaken {
			_ = p.settleClaim(ctx, claim.Owner, ticket.Request) // else it ends when its time is over
		}
		return nil, noAgent(err)
	}
	if !claimed.Again {
		_ = p.carryOut(ctx, adopt) // postponed when it fails
	}
	return p.face(claimed.Profile), nil
}

// settleClaim ends a request and the errands that belong to it.
func (p *Platform) settleClaim(ctx context.Context, user, request string) error {
	var entries []string
	for _, kind := range []string{errandMail, errandUnask} {
		entries = append(entries, errand{Kind: kind, Who: account.Sender{ID: user}, Request: request}.entry())
	}
	err := p.tell(ctx, account.Ref(user), account.SettleClaim{ID: request, Entries: entries})
	if !gone(err) {
		return err
	}
	for _, entry := range entries { // the account is gone, and the request with it
		if err := p.tell(ctx, account.Ref(user), account.Fulfil{Entry: entry}); err != nil {
			return err
		}
	}
	return nil
}
