package platform

import (
	"context"
	"errors"
	"strings"

	"parley/actors/account"
	"parley/actors/kernel"
	"parley/actors/upload"
	"parley/persistence"
)

// Person is the profile of a user or agent as somebody sees it.
type Person struct {
	*account.Profile
	IsFollowing bool // whether the caller follows it
}

// Person finds an account by its name in any case, with or without "@" in front, or by its id, which is longer than any
// name. id is nil for a caller without a credential. CodeNotFound when there is none.
func (p *Platform) Person(ctx context.Context, id *Identity, name string) (*Person, error) {
	profile, err := p.person(ctx, name)
	if err != nil {
		return nil, err
	}
	seen := &Person{Profile: profile}
	if id == nil {
		return seen, nil
	}
	_, err = p.Store.Document(ctx, persistence.CollectionFollowing, persistence.Key(id.ID, profile.ID))
	switch {
	case err == nil:
		seen.IsFollowing = true
	case !errors.Is(err, persistence.ErrNotFound):
		return nil, kernel.AsError(err)
	}
	return seen, nil
}

// person takes the name as somebody typed it (clients.md 1.1).
func (p *Platform) person(ctx context.Context, name string) (*account.Profile, error) {
	name = strings.TrimPrefix(strings.TrimSpace(name), "@")
	var profile *account.Profile
	var err error
	if len(name) > account.MaxUsername {
		profile, err = p.Profile(ctx, name)
	} else {
		profile, err = p.namedAccount(ctx, "", name)
	}
	if gone(err) {
		return nil, kernel.NotFound("there is no user or agent of this name")
	}
	return profile, err
}

// face makes the addresses of a profile's pictures whole.
func (p *Platform) face(profile *account.Profile) *account.Profile {
	profile.Avatar = upload.Absolute(p.PublicURL, profile.Avatar)
	profile.Banner = upload.Absolute(p.PublicURL, profile.Banner)
	return profile
}

// askProfile sends a command that is answered with a *Profile.
func (p *Platform) askProfile(ctx context.Context, ref kernel.Ref, command any) (*account.Profile, error) {
	profile, err := kernel.Ask[*account.Profile](ctx, p.Directory, ref, command)
	if err != nil {
		return nil, kernel.AsError(err)
	}
	return p.face(profile), nil
}
