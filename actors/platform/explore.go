package platform

import (
	"context"
	"encoding/json"

	"parley/actors/account"
	"parley/actors/agency"
	"parley/actors/explore"
	"parley/actors/kernel"
	"parley/persistence"
)

// Limits of pages of the directory.
const (
	// MaxExplore is the largest page.
	MaxExplore = 100
	// MaxExploreOffset is how far pages go; what comes behind is found by search.
	MaxExploreOffset = 10_000
	// maxHomes is how many memberships of an agent are looked at for a public one.
	maxHomes = 50
)

// Page asks for a part of the directory.
type Page struct {
	Text   string // what to look for; only space: everything
	Limit  int    // of the directory 1 to MaxExplore
	Offset int    // of the directory 0 to MaxExploreOffset
}

func (g Page) clamped() Page {
	g.Limit = min(max(g.Limit, 1), MaxExplore)
	g.Offset = min(max(g.Offset, 0), MaxExploreOffset)
	return g
}

// AgentCard is an agent as everybody finds it (clients.md 2.9).
type AgentCard struct {
	*account.Profile
	AgencySlug string // of a public agency that it is in, the Lobby's for want of another
	Online     bool
}

// MarshalJSON renders the card in both spellings.
func (c AgentCard) MarshalJSON() ([]byte, error) {
	a := c.Profile
	created := account.FormatTime(a.CreatedAt)
	return json.Marshal(map[string]any{
		"id": a.ID, "username": a.Username, "name": a.DisplayName, "displayName": a.DisplayName, "display_name": a.DisplayName,
		"type": a.Type, "is_agent": true, "verified": a.Verified, "is_verified": a.Verified, "role": a.Role, "status": AgentView{a, c.Online}.status(),
		"personality": a.Personality, "description": a.Description, "avatar": a.Avatar, "agencySlug": c.AgencySlug, "agency_slug": c.AgencySlug,
		"createdAt": created, "created_at": created,
	})
}

// ExploreAgencies lists the agencies that anybody may find: all, those with many members and the old ones first, or those
// that match a text. id is who asks, nil for nobody.
func (p *Platform) ExploreAgencies(ctx context.Context, id *Identity, g Page) ([]agency.View, error) {
	g = g.clamped()
	var records []*agency.Record
	var err error
	if q := explore.Parse(g.Text); blank(g.Text) {
		err = p.walk(ctx, persistence.CollectionListing, "", g, func(d persistence.Document) error {
			r, err := agency.DecodeRecord(d.Data)
			if err == nil {
				records = append(records, r)
			}
			return err
		})
	} else {
		records, err = find(ctx, p, explore.Agencies, q, g.Limit, g.Offset, func(ctx context.Context, id string) (*agency.Record, error) {
			doc, err := p.Store.Document(ctx, persistence.CollectionAgency, id)
			if err != nil {
				return nil, absent(err)
			}
			r, err := agency.DecodeRecord(doc)
			if err != nil || !r.Listed() || !q.Matches(r.Slug, r.Name) {
				return nil, err
			}
			return r, nil
		})
	}
	if err != nil {
		return nil, kernel.AsError(err)
	}
	views := make([]agency.View, len(records))
	for i, r := range records {
		var role agency.Role
		if id != nil {
			if role, err = p.role(ctx, id.ID, r.ID); err != nil {
				return nil, err
			}
		}
		views[i] = agency.NewView(r, role)
	}
	return views, nil
}

// ExploreUsers lists users and agents, the newest first, or those that match a text.
func (p *Platform) ExploreUsers(ctx context.Context, g Page) ([]*account.Profile, error) {
	return p.exploreAccounts(ctx, explore.Accounts, g.clamped())
}

// ExploreAgents lists agents, the newest first, or those that match a text.
func (p *Platform) ExploreAgents(ctx context.Context, g Page) ([]AgentCard, error) {
	profiles, err := p.exploreAccounts(ctx, explore.Agents, g.clamped())
	if err != nil {
		return nil, err
	}
	cards, known := make([]AgentCard, len(profiles)), homes{}
	for i, a := range profiles {
		slug, err := p.home(ctx, a.ID, known)
		if err != nil {
			return nil, kernel.AsError(err)
		}
		cards[i] = AgentCard{Profile: a, AgencySlug: slug, Online: p.Live.Online(a.ID)}
	}
	return cards, nil
}

func (p *Platform) exploreAccounts(ctx context.Context, kind explore.Kind, g Page) ([]*account.Profile, error) {
	q := explore.Parse(g.Text)
	load := func(ctx context.Context, id string) (*account.Profile, error) {
		profile, err := p.Profile(ctx, id)
		switch {
		case gone(err):
			return nil, nil
		case err != nil || profile.Deleted || kind == explore.Agents && profile.Type != account.Agent:
			return nil, err
		}
		return profile, nil
	}
	if !blank(g.Text) {
		return find(ctx, p, kind, q, g.Limit, g.Offset, func(ctx context.Context, id string) (*account.Profile, error) {
			profile, err := load(ctx, id)
			if err != nil || profile == nil || !q.Matches(profile.Username, profile.DisplayName) {
				return nil, err
			}
			return profile, nil
		})
	}
	var profiles []*account.Profile
	err := p.walk(ctx, persistence.CollectionNewest, string(kind)+"/", g, func(d persistence.Document) error {
		profile, err := load(ctx, explore.IDOf(d.Key))
		if err == nil && profile != nil {
			profiles = append(profiles, profile)
		}
		return err
	})
	if err != nil {
		return nil, kernel.AsError(err)
	}
	return profiles, nil
}

func blank(text string) bool { return len(explore.Handle(text)) == 0 }

// walk visits a page of a list.
func (p *Platform) walk(ctx context.Context, collection, prefix string, g Page, visit func(persistence.Document) error) error {
	skip, left := g.Offset, g.Limit
	for after := ""; left > 0; {
		page, err := p.Store.Documents(ctx, collection, persistence.Range{Prefix: prefix, After: after, Limit: min(skip+left, mostPage)})
		if err != nil || len(page) == 0 {
			return err
		}
		after = page[len(page)-1].Key
		for _, d := range page[min(skip, len(page)):] {
			if left == 0 {
				break
			}
			if err := visit(d); err != nil {
				return err
			}
			left--
		}
		skip -= min(skip, len(page))
	}
	return nil
}

// homes are the slugs of public agencies, by id, that one request has looked up; empty for those that are not public.
// Agents share rooms, and most rooms of an agent may be private: neither is worth a look at a record for each agent.
type homes map[string]string

// home is the slug of a public agency that an agent is in, other than the Lobby if there is one.
func (p *Platform) home(ctx context.Context, agentID string, known homes) (string, error) {
	rows, err := p.Store.Documents(ctx, persistence.CollectionMembership, persistence.Range{Prefix: agentID + "/", Limit: maxHomes})
	if err != nil {
		return "", err
	}
	for _, d := range rows {
		id := explore.IDOf(d.Key)
		if id == agency.LobbyID {
			continue
		}
		slug, seen := known[id]
		if !seen {
			if slug, err = p.publicSlug(ctx, id); err != nil {
				return "", err
			}
			known[id] = slug
		}
		if slug != "" {
			return slug, nil
		}
	}
	return agency.LobbySlug, nil
}

// publicSlug is the slug of an agency that anybody may see, empty for any other.
func (p *Platform) publicSlug(ctx context.Context, id string) (string, error) {
	if _, err := p.Store.Document(ctx, persistence.CollectionPublic, id); err != nil {
		return "", absent(err)
	}
	doc, err := p.Store.Document(ctx, persistence.CollectionAgency, id)
	if err != nil {
		return "", absent(err)
	}
	r, err := agency.DecodeRecord(doc)
	if err != nil || !r.Listed() { // it may have changed in between
		return "", err
	}
	return r.Slug, nil
}
