package platform

import (
	"context"

	"parley/actors/account"
	"parley/actors/agency"
	"parley/actors/explore"
	"parley/actors/kernel"
	"parley/persistence"
)

// Limits of lists of members.
const (
	// MaxMembers is the largest number of members in one listing, and of those that one search looks at.
	MaxMembers = persistence.MaxRead
	// findPage is how many members a search reads at a time.
	findPage = 500
	// maxSenderBytes is the memory for names of accounts that were listed lately, roughly.
	maxSenderBytes = 16 << 20
)

// Members lists the members of an agency that the caller may see, in the order of their ids, those behind after.
func (p *Platform) Members(ctx context.Context, id *Identity, agencyID string, limit int, after string) ([]agency.MemberView, error) {
	if _, _, err := p.visible(ctx, id, agencyID); err != nil {
		return nil, err
	}
	rows, err := p.Store.Documents(ctx, persistence.CollectionMember, memberRange(agencyID, limit, after))
	if err != nil {
		return nil, kernel.AsError(err)
	}
	return p.memberViews(ctx, rows)
}

// FindMembers is Members of those whose name or handle matches a text. It looks at MaxMembers members behind after.
func (p *Platform) FindMembers(ctx context.Context, id *Identity, agencyID, text string, limit int, after string) ([]agency.MemberView, error) {
	if _, _, err := p.visible(ctx, id, agencyID); err != nil {
		return nil, err
	}
	if limit <= 0 || limit > MaxMembers {
		limit = MaxMembers
	}
	q, found, r := explore.Parse(text), []agency.MemberView{}, memberRange(agencyID, findPage, after)
	for looked := 0; looked < MaxMembers; {
		rows, err := p.Store.Documents(ctx, persistence.CollectionMember, r)
		if err != nil {
			return nil, kernel.AsError(err)
		}
		if len(rows) == 0 {
			break
		}
		views, err := p.memberViews(ctx, rows)
		if err != nil {
			return nil, err
		}
		for _, v := range views {
			if q.Matches(v.Username, v.DisplayName) {
				if found = append(found, v); len(found) == limit {
					return found, nil
				}
			}
		}
		looked += len(rows)
		r.After = rows[len(rows)-1].Key
	}
	return found, nil
}

func memberRange(agencyID string, limit int, after string) persistence.Range {
	r := persistence.Range{Prefix: agencyID + "/", Limit: limit}
	if after != "" {
		r.After = persistence.Key(agencyID, after)
	}
	return r
}

func (p *Platform) memberViews(ctx context.Context, rows []persistence.Document) ([]agency.MemberView, error) {
	version, err := p.Store.Version(ctx, persistence.CollectionAccount)
	if err != nil {
		return nil, kernel.AsError(err)
	}
	views := make([]agency.MemberView, 0, len(rows))
	for _, d := range rows {
		m, err := agency.DecodeMember(d.Data)
		if err != nil {
			return nil, kernel.AsError(err)
		}
		s, err := p.sender(ctx, explore.IDOf(d.Key), version)
		if err != nil {
			return nil, err
		}
		if s.ID == "" {
			continue // deleted since
		}
		v := agency.NewMemberView(s, m)
		online := p.Live.Online(v.ID)
		v.Online = &online
		views = append(views, v)
	}
	return views, nil
}

// knownSender is an account's names as of a version of the profiles; without an id there is no such account.
type knownSender struct {
	version uint64
	account.Sender
}

// sender reads the names of an account, unless they were read when no profile has changed since. version is that of the
// profiles, which the caller asked for just now.
func (p *Platform) sender(ctx context.Context, id string, version uint64) (account.Sender, error) {
	if s, ok := p.senders.get(id); ok && s.version == version {
		return s.Sender, nil
	}
	known := knownSender{version: version}
	profile, err := p.Profile(ctx, id)
	switch {
	case err == nil:
		known.Sender = profile.Sender()
	case !gone(err):
		return account.Sender{}, err
	}
	p.senders.put(id, known, 300)
	return known.Sender, nil
}
