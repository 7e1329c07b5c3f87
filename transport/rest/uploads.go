package rest

import (
	"bytes"
	"mime"
	"net/http"
	"time"

	"parley/actors/account"
	"parley/actors/kernel"
)

// maxServed is how many pictures are sent at once; the next ones wait. Each is in memory while its client reads it.
const maxServed = 128

func (a *API) bindUploads(t *table) {
	t.add(http.MethodPost, "/api/uploads/avatar", Required, a.uploadTo(account.AvatarField)).limit(BudgetUpload).takes(a.readFile)
	t.add(http.MethodPost, "/api/uploads/banner", Required, a.uploadTo(account.BannerField)).limit(BudgetUpload).takes(a.readFile)
	t.add(http.MethodGet, "/uploads/{file}", Public, a.picture)
}

// uploaded is the answer to an upload (decision 43); BannerURL is in that of a banner alone.
type uploaded struct {
	OK        bool   `json:"ok"`
	URL       string `json:"url"`
	AvatarURL string `json:"avatar_url"`
	BannerURL string `json:"banner_url,omitempty"`
}

// uploadTo shows the file as a picture of the caller's profile.
func (a *API) uploadTo(field account.PictureField) func(*call) error {
	return func(c *call) error {
		at, err := a.o.Service.SetPicture(c.ctx(), c.id, field, c.file)
		if err != nil {
			return err
		}
		answer := uploaded{OK: true, URL: at, AvatarURL: at}
		if field == account.BannerField {
			answer.BannerURL = at
		}
		return c.answer(http.StatusOK, answer)
	}
}

// picture sends an uploaded picture. Its bytes are a stranger's: the headers keep browsers from taking them for anything
// else, whatever is hidden in them. An address always means the same picture, so it may be kept for good.
func (a *API) picture(c *call) error {
	select {
	case a.served <- struct{}{}:
		defer func() { <-a.served }()
	case <-c.ctx().Done():
		return kernel.ErrOverloaded
	}
	p, err := a.o.Service.Picture(c.ctx(), c.param("file"))
	if err != nil {
		return err
	}
	h := c.w.Header()
	h.Set("Content-Type", p.Format.MediaType())
	h.Set("Content-Disposition", mime.FormatMediaType("inline", map[string]string{"filename": p.File()}))
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	h.Set("Cross-Origin-Resource-Policy", "cross-origin")
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	h.Set("ETag", `"`+p.ID+`"`)
	http.ServeContent(c.w, c.r, "", time.Time{}, bytes.NewReader(p.Data))
	return nil
}
