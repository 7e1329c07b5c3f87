package platform

import (
	"context"
	"strings"

	"parley/actors/agency"
	"parley/actors/kernel"
	"parley/persistence"
)

// MaxBans is the largest number of bans in one listing.
const MaxBans = 1000

// Ban keeps an account that ranks below the caller, member or not, out of an agency. expires is a duration (30s, 30m,
// 24h, 7d) or a time; empty: for ever.
func (p *Platform) Ban(ctx context.Context, id *Identity, agencyID, accountID, reason, expires string) (*agency.BanView, error) {
	who, err := p.target(ctx, id, agencyID, accountID)
	if err != nil {
		return nil, err
	}
	b, err := kernel.Ask[agency.BanRecord](ctx, p.Directory, agency.Ref(agencyID), agency.Ban{By: id.Sender, Target: who,
		Reason: reason, Expires: expires})
	if err != nil {
		return nil, kernel.AsError(err)
	}
	v := agency.NewBanView(who, b)
	return &v, nil
}

// Unban ends a ban; moderators may. CodeNotFound when there is none.
func (p *Platform) Unban(ctx context.Context, id *Identity, agencyID, accountID string) error {
	who, err := p.target(ctx, id, agencyID, accountID)
	if err != nil {
		return err
	}
	return p.tell(ctx, agency.Ref(agencyID), agency.Unban{By: id.Sender, Target: who})
}

// Bans lists the bans of an agency that hold, in the order of the accounts' ids, those behind after; moderators may.
// limit 0 means MaxBans.
func (p *Platform) Bans(ctx context.Context, id *Identity, agencyID string, limit int, after string) ([]agency.BanView, error) {
	r, role, err := p.membership(ctx, id, agencyID)
	if err != nil {
		return nil, err
	}
	if err := agency.MaySeeBans(r, role); err != nil {
		return nil, err
	}
	if limit <= 0 || limit > MaxBans {
		limit = MaxBans
	}
	rows := persistence.Range{Prefix: agencyID + "/", Limit: limit}
	if after != "" {
		rows.After = persistence.Key(agencyID, after)
	}
	views, seen := []agency.BanView{}, present{}
	for len(views) < limit {
		page, err := p.Store.Documents(ctx, persistence.CollectionBan, rows)
		if err != nil {
			return nil, kernel.AsError(err)
		}
		if len(page) == 0 {
			break
		}
		found, err := p.banViews(ctx, agencyID, page, seen)
		if err != nil {
			return nil, err
		}
		views = append(views, found...)
		rows.After = page[len(page)-1].Key
	}
	return views[:min(limit, len(views))], nil
}

// banViews joins bans with their accounts. Those that have run out and those of deleted accounts are left out.
func (p *Platform) banViews(ctx context.Context, agencyID string, rows []persistence.Document, seen present) ([]agency.BanView, error) {
	var views []agency.BanView
	for _, d := range rows {
		b, err := agency.DecodeBan(d.Data)
		if err != nil {
			return nil, kernel.AsError(err)
		}
		if !b.Holds(p.Now()) {
			continue
		}
		profile, err := p.Profile(ctx, strings.TrimPrefix(d.Key, agencyID+"/"))
		if gone(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if err := p.nameActor(ctx, &b.By, seen); err != nil {
			return nil, err
		}
		views = append(views, agency.NewBanView(profile.Sender(), b))
	}
	return views, nil
}
