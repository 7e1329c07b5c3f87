package account

import (
	"net/url"

	"parley/actors/kernel"
	"parley/actors/upload"
	"parley/persistence"
)

// ProfileUpdate changes the public fields (rest.md, User; decision 43). nil leaves a field as it is, an empty text clears
// it, and a display name that is cleared becomes the username. It answers with a *Profile.
type ProfileUpdate struct {
	DisplayName, Avatar, Banner, Description, Theme, Font *string
	// PublicURL is the service's own address. An uploaded picture's address below it is given back unchanged by clients
	// that send a whole profile: the picture stays.
	PublicURL string
}

func (a *Account) updateProfile(t *kernel.Turn, u ProfileUpdate) {
	next := a.s.stored
	if err := u.apply(&next); err != nil {
		t.Fail(err)
		return
	}
	a.commitProfile(t, next)
}

// commitProfile commits changed public fields. The uploaded pictures that the profile showed and shows no more go with
// the same batch.
func (a *Account) commitProfile(t *kernel.Turn, next stored, more ...persistence.DocumentOp) {
	p, old := Profile(next), a.s.DisplayName
	documents := append(more, dropped(&a.s.stored, &next)...)
	t.Commit(kernel.Change{
		Events:    []persistence.Event{event(profileUpdated, next)},
		Documents: append(documents, profileDocuments(t.ID(), a.profile(), &p)...),
	}, func() {
		if p.DisplayName != old {
			a.ports.Revoker.Renamed(p.Sender())
		}
		t.Reply(&p)
	}, nil)
}

func (u *ProfileUpdate) apply(s *stored) error {
	texts := []struct {
		field string
		from  *string
		check func(field, text string) (string, error)
		set   func(string)
	}{
		{"displayName", u.DisplayName, CheckDisplayName, func(v string) { s.DisplayName = v }},
		{"description", u.Description, atMost(MaxDescription), func(v string) { s.Description = v }},
		{"avatar", u.Avatar, u.linkOr(s.Avatar), func(v string) { s.Avatar = optional(v) }},
		{"banner", u.Banner, u.linkOr(s.Banner), func(v string) { s.Banner = optional(v) }},
		{"theme", u.Theme, atMost(MaxStyle), func(v string) { s.Theme = optional(v) }},
		{"font", u.Font, atMost(MaxStyle), func(v string) { s.Font = optional(v) }},
	}
	for _, f := range texts {
		if f.from == nil {
			continue
		}
		v, err := f.check(f.field, *f.from)
		if err != nil {
			return err
		}
		f.set(v)
	}
	if s.DisplayName == "" {
		s.DisplayName = s.Username
	}
	return nil
}

func atMost(limit int) func(field, text string) (string, error) {
	return func(field, text string) (string, error) { return CheckText(field, text, limit) }
}

// linkOr checks a link to a picture anywhere; the address of the uploaded one that is there now leaves it there.
func (u *ProfileUpdate) linkOr(now *string) func(field, text string) (string, error) {
	return func(field, text string) (string, error) {
		link, err := CheckText(field, text, MaxURL)
		switch {
		case err != nil || link == "":
			return link, err
		case upload.IsLink(now) && link == *upload.Absolute(u.PublicURL, now):
			return *now, nil
		}
		return link, CheckLink(field, link)
	}
}

func optional(v string) *string {
	if v == "" {
		return nil
	}
	return &v
}

// CheckLink refuses what is not an absolute http or https address without credentials.
func CheckLink(field, link string) error {
	u, err := url.Parse(link)
	if err != nil || u.Host == "" || u.User != nil || u.Scheme != "http" && u.Scheme != "https" {
		return kernel.Invalid("%s must be an http or https address", field)
	}
	return nil
}

// PictureField is a field of the profile that takes an uploaded picture.
type PictureField string

// Fields that take pictures (decision 43).
const (
	AvatarField PictureField = "avatar"
	BannerField PictureField = "banner"
)

// SetPicture shows an uploaded picture in the profile, in the place of the earlier one. It answers with a *Profile.
type SetPicture struct {
	Field   PictureField
	Picture *upload.Picture
}

func (a *Account) setPicture(t *kernel.Turn, c SetPicture) {
	next, link := a.s.stored, c.Picture.Link()
	if c.Field == BannerField {
		next.Banner = &link
	} else {
		next.Avatar = &link
	}
	a.commitProfile(t, next, c.Picture.Put())
}

// dropped deletes the uploaded pictures that a profile gives up.
func dropped(was, next *stored) []persistence.DocumentOp {
	var ops []persistence.DocumentOp
	for _, link := range [][2]*string{{was.Avatar, next.Avatar}, {was.Banner, next.Banner}} {
		if link[0] != nil && (link[1] == nil || *link[0] != *link[1]) {
			ops = append(ops, upload.Remove(link[0])...)
		}
	}
	return ops
}
