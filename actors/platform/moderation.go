package platform

import (
	"context"
	"errors"
	"strings"

	"parley/actors/account"
	"parley/actors/agency"
	"parley/actors/kernel"
	"parley/persistence"
)

// target returns the account on which the caller wants to act in an agency that it may see.
func (p *Platform) target(ctx context.Context, id *Identity, agencyID, accountID string) (account.Sender, error) {
	if _, _, err := p.visible(ctx, id, agencyID); err != nil {
		return account.Sender{}, err
	}
	profile, err := p.Profile(ctx, accountID)
	if err != nil {
		return account.Sender{}, err
	}
	return profile.Sender(), nil
}

// SetRole promotes or demotes a member (decision 19): CodeForbidden outside the rules of rank, CodeTaken when the last
// owner would step down.
func (p *Platform) SetRole(ctx context.Context, id *Identity, agencyID, accountID, role string) (*agency.MemberView, error) {
	next, err := agency.ParseRole(role)
	if err != nil {
		return nil, err
	}
	who, err := p.target(ctx, id, agencyID, accountID)
	if err != nil {
		return nil, err
	}
	m, err := kernel.Ask[agency.MemberRecord](ctx, p.Directory, agency.Ref(agencyID), agency.SetRole{By: id.Sender, Target: who, Role: next})
	if err != nil {
		return nil, kernel.AsError(err)
	}
	v := agency.NewMemberView(who, m)
	online := p.Live.Online(who.ID)
	v.Online = &online
	return &v, nil
}

// Kick ends the membership of an account that ranks below the caller. It may come back.
func (p *Platform) Kick(ctx context.Context, id *Identity, agencyID, accountID, reason string) error {
	who, err := p.target(ctx, id, agencyID, accountID)
	if err != nil {
		return err
	}
	return p.tell(ctx, agency.Ref(agencyID), agency.Kick{By: id.Sender, Target: who, Reason: reason})
}

// TransferAgency makes a member the owner and the caller an admin (decision 41). The id wins over the name.
func (p *Platform) TransferAgency(ctx context.Context, id *Identity, agencyID, newOwnerID, newOwnerName string) (*agency.View, *account.Profile, error) {
	if _, _, err := p.visible(ctx, id, agencyID); err != nil {
		return nil, nil, err
	}
	owner, err := p.namedAccount(ctx, newOwnerID, newOwnerName)
	if err != nil {
		return nil, nil, err
	}
	r, err := kernel.Ask[*agency.Record](ctx, p.Directory, agency.Ref(agencyID), agency.Transfer{By: id.Sender, To: owner.Sender()})
	if err != nil {
		return nil, nil, kernel.AsError(err)
	}
	v := agency.NewView(r, agency.Admin)
	return &v, owner, nil
}

// namedAccount finds an account by its id, or without one by its name in any case.
func (p *Platform) namedAccount(ctx context.Context, accountID, username string) (*account.Profile, error) {
	if accountID == "" {
		claim, err := p.Store.Claim(ctx, persistence.ClaimUsername, strings.ToLower(username))
		if errors.Is(err, persistence.ErrNotFound) || errors.Is(err, persistence.ErrTooLarge) {
			return nil, kernel.NotFound("there is no such account")
		}
		if err != nil {
			return nil, kernel.AsError(err)
		}
		accountID = claim.Owner
	}
	return p.Profile(ctx, accountID)
}
