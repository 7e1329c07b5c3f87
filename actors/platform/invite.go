package platform

import (
	"context"
	"errors"

	"parley/actors/agency"
	"parley/actors/kernel"
	"parley/persistence"
)

// CreateInvite makes an invite; admins and owners may. maxUses nil means no limit, expires is as in Ban.
func (p *Platform) CreateInvite(ctx context.Context, id *Identity, agencyID string, maxUses *int64, expires string) (*agency.InviteView, error) {
	v, err := kernel.Ask[agency.InviteView](ctx, p.Directory, agency.Ref(agencyID), agency.CreateInvite{By: id.Sender,
		Code: agency.NewInviteCode(), MaxUses: maxUses, Expires: expires})
	if err != nil {
		return nil, kernel.AsError(err)
	}
	return &v, nil
}

// Invites lists an agency's invites, the newest first, with those that were spent lately; admins and owners may.
func (p *Platform) Invites(ctx context.Context, id *Identity, agencyID string) ([]agency.InviteView, error) {
	views, err := kernel.Ask[[]agency.InviteView](ctx, p.Directory, agency.Ref(agencyID), agency.ListInvites{By: id.Sender})
	if err != nil {
		return nil, kernel.AsError(err)
	}
	seen := present{}
	for i := range views {
		if err := p.nameActor(ctx, &views[i].CreatedBy, seen); err != nil {
			return nil, err
		}
	}
	return views, nil
}

// RevokeInvite makes a code worthless; admins and owners may.
func (p *Platform) RevokeInvite(ctx context.Context, id *Identity, agencyID, code string) error {
	code, _ = agency.ParseInviteCode(code)
	return p.tell(ctx, agency.Ref(agencyID), agency.RevokeInvite{By: id.Sender, Code: code})
}

// RedeemInvite makes the caller a member by a code: CodeNotFound for an unknown one, CodeGone for one that is used up or
// has expired, CodeForbidden for the banned. A member stays one and uses nothing up.
func (p *Platform) RedeemInvite(ctx context.Context, id *Identity, code string) (*agency.View, error) {
	unknown := kernel.NotFound("there is no such invite")
	code, ok := agency.ParseInviteCode(code)
	if !ok {
		return nil, unknown
	}
	claim, err := p.Store.Claim(ctx, persistence.ClaimInvite, code)
	if errors.Is(err, persistence.ErrNotFound) {
		return nil, unknown
	}
	if err != nil {
		return nil, kernel.AsError(err)
	}
	e, err := kernel.Ask[*agency.Entered](ctx, p.Directory, agency.Ref(claim.Owner), agency.Redeem{Who: id.Sender, Code: code})
	if gone(err) {
		return nil, unknown // also when the agency has ended meanwhile
	}
	if err != nil {
		return nil, kernel.AsError(err)
	}
	v := agency.NewView(&e.Record, e.Role)
	return &v, nil
}
