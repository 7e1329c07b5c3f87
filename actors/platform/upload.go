package platform

import (
	"context"
	"errors"

	"parley/actors/account"
	"parley/actors/kernel"
	"parley/actors/upload"
	"parley/persistence"
)

// SetPicture checks a picture and shows it as the caller's avatar or banner, in the place of the earlier one. It returns
// the picture's address. For its errors see upload.Checker.
func (p *Platform) SetPicture(ctx context.Context, id *Identity, field account.PictureField, data []byte) (string, error) {
	picture, err := p.pictures.Check(ctx, data)
	if err != nil {
		return "", err
	}
	if err := p.setPicture(ctx, id.ID, field, picture); err != nil {
		return "", own(err)
	}
	link := picture.Link()
	return *upload.Absolute(p.PublicURL, &link), nil
}

func (p *Platform) setPicture(ctx context.Context, id string, field account.PictureField, picture *upload.Picture) error {
	_, err := p.askProfile(ctx, account.Ref(id), account.SetPicture{Field: field, Picture: picture})
	return err
}

// Picture returns an uploaded picture by the name of its file, or CodeNotFound.
func (p *Platform) Picture(ctx context.Context, file string) (*upload.Picture, error) {
	none := kernel.NotFound("there is no such picture")
	id, format, ok := upload.Parse(file)
	if !ok {
		return nil, none
	}
	data, err := p.Store.Document(ctx, persistence.CollectionUpload, id)
	switch {
	case errors.Is(err, persistence.ErrNotFound):
		return nil, none
	case err != nil:
		return nil, kernel.AsError(err)
	case upload.Sniff(data) != format:
		return nil, none
	}
	return &upload.Picture{ID: id, Format: format, Data: data}, nil
}
