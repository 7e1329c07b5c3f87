package platform

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"parley/actors/account"
	"parley/actors/agency"
	"parley/actors/kernel"
	"parley/persistence"
)

// Limits of listings.
const (
	// MaxAgencies is the largest number of agencies in one listing.
	MaxAgencies = persistence.MaxRead
	// slugTries is how many numbered slugs are tried before a random one.
	slugTries = 20
)

func noAgency() error { return kernel.NotFound("there is no such agency") }

// record returns an agency's record, or CodeNotFound.
func (p *Platform) record(ctx context.Context, id string) (*agency.Record, error) {
	if strings.Contains(id, "/") {
		return nil, noAgency()
	}
	doc, err := p.Store.Document(ctx, persistence.CollectionAgency, id)
	if errors.Is(err, persistence.ErrNotFound) {
		return nil, noAgency()
	}
	if err != nil {
		return nil, kernel.AsError(err)
	}
	r, err := agency.DecodeRecord(doc)
	if err != nil {
		return nil, kernel.AsError(err)
	}
	return r, nil
}

// role returns the caller's role in an agency, empty for an outsider.
func (p *Platform) role(ctx context.Context, accountID, agencyID string) (agency.Role, error) {
	doc, err := p.Store.Document(ctx, persistence.CollectionMember, persistence.Key(agencyID, accountID))
	if errors.Is(err, persistence.ErrNotFound) {
		return "", nil
	}
	if err != nil {
		return "", kernel.AsError(err)
	}
	m, err := agency.DecodeMember(doc)
	if err != nil {
		return "", kernel.AsError(err)
	}
	return m.Role, nil
}

// visible returns an agency that the caller may see, with its role there.
func (p *Platform) visible(ctx context.Context, id *Identity, agencyID string) (*agency.Record, agency.Role, error) {
	r, err := p.record(ctx, agencyID)
	if err != nil {
		return nil, "", err
	}
	role, err := p.role(ctx, id.ID, agencyID)
	if err != nil {
		return nil, "", err
	}
	if r.Private && role == "" {
		return nil, "", noAgency()
	}
	return r, role, nil
}

// membership is visible for members only: CodeForbidden for others.
func (p *Platform) membership(ctx context.Context, id *Identity, agencyID string) (*agency.Record, agency.Role, error) {
	r, role, err := p.visible(ctx, id, agencyID)
	if err == nil && role == "" {
		err = kernel.Forbidden("you are not a member of this agency; join it first")
	}
	return r, role, err
}

// Agency returns an agency that the caller may see.
func (p *Platform) Agency(ctx context.Context, id *Identity, agencyID string) (*agency.View, error) {
	r, role, err := p.visible(ctx, id, agencyID)
	if err != nil {
		return nil, err
	}
	v := agency.ViewFor(r, role, id.ID)
	return &v, nil
}

// AgencyBySlug is Agency by slug, in any case.
func (p *Platform) AgencyBySlug(ctx context.Context, id *Identity, slug string) (*agency.View, error) {
	claim, err := p.Store.Claim(ctx, persistence.ClaimSlug, strings.ToLower(slug))
	if errors.Is(err, persistence.ErrNotFound) || errors.Is(err, persistence.ErrTooLarge) {
		return nil, noAgency()
	}
	if err != nil {
		return nil, kernel.AsError(err)
	}
	return p.Agency(ctx, id, claim.Owner)
}

// CreateAgency makes an agency that the caller owns.
func (p *Platform) CreateAgency(ctx context.Context, id *Identity, n agency.NewAgency) (*agency.View, error) {
	name, err := agency.CheckName(n.Name)
	if err != nil {
		return nil, err
	}
	n.Name = name
	if n.Slug != "" && !agency.HasSlug(n.Slug) {
		return nil, kernel.Invalid("slug must contain letters or digits (a-z, 0-9)")
	}
	if err := n.Check(); err != nil {
		return nil, err
	}
	r, err := p.foundFree(ctx, uuid.NewString(), n, id.Sender, "")
	if err != nil {
		return nil, kernel.AsError(err)
	}
	v := agency.NewView(r, agency.Owner)
	return &v, nil
}

// foundFree founds an agency under the first free slug that its name gives. An explicit slug is taken or refused.
func (p *Platform) foundFree(ctx context.Context, id string, n agency.NewAgency, owner account.Sender, done string) (*agency.Record, error) {
	explicit := n.Slug != ""
	base := agency.SlugOf(n.Name)
	if explicit {
		base = agency.SlugOf(n.Slug)
	}
	for try := 1; ; try++ {
		n.Slug = base
		switch {
		case try > slugTries:
			n.Slug = base + "-" + uuid.NewString()[:8]
		case try > 1:
			n.Slug = base + "-" + strconv.Itoa(try)
		}
		if _, err := p.Store.Claim(ctx, persistence.ClaimSlug, n.Slug); err == nil { // else the claim decides
			if explicit {
				return nil, agency.ErrSlugTaken(n.Slug)
			}
			if try <= slugTries {
				continue
			}
		}
		r, err := kernel.Ask[*agency.Record](ctx, p.Directory, agency.Ref(id), agency.Found{NewAgency: n, Kind: agency.Room, Owner: owner, Done: done})
		if err == nil || explicit || try > slugTries || kernel.AsError(err).Code != kernel.CodeTaken {
			return r, err
		}
	}
}

// UpdateAgency changes name, charter or privacy.
func (p *Platform) UpdateAgency(ctx context.Context, id *Identity, agencyID string, u agency.Update) (*agency.View, error) {
	u.By = id.Sender
	r, err := kernel.Ask[*agency.Record](ctx, p.Directory, agency.Ref(agencyID), u)
	if err != nil {
		return nil, kernel.AsError(err)
	}
	role, err := p.role(ctx, id.ID, agencyID)
	if err != nil {
		return nil, err
	}
	v := agency.NewView(r, role)
	return &v, nil
}

// DeleteAgency deletes an agency with its members and messages; its owner may.
func (p *Platform) DeleteAgency(ctx context.Context, id *Identity, agencyID string) error {
	if err := p.tell(ctx, agency.Ref(agencyID), agency.Dissolve{By: id.Sender}); err != nil {
		return err
	}
	_ = p.carryOut(ctx, errand{Kind: errandPurge, Agency: agencyID}) // goes on by itself if it fails
	return nil
}

// Join makes the caller a member of a public agency; a member stays one.
func (p *Platform) Join(ctx context.Context, id *Identity, agencyID string) (*agency.View, error) {
	e, err := kernel.Ask[*agency.Entered](ctx, p.Directory, agency.Ref(agencyID), agency.Enter{Who: id.Sender})
	if err != nil {
		return nil, kernel.AsError(err)
	}
	v := agency.ViewFor(&e.Record, e.Role, id.ID)
	return &v, nil
}

// Leave ends the caller's membership.
func (p *Platform) Leave(ctx context.Context, id *Identity, agencyID string) error {
	return p.tell(ctx, agency.Ref(agencyID), agency.Leave{Who: id.Sender})
}
