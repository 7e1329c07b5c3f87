package rest

import (
	"fmt"
	"mime"
	"net/http"
	"strconv"

	"parley/actors/account"
	"parley/actors/kernel"
	"parley/actors/upload"
	"parley/transport/rest/openapi"
)

// maxServed is how many pictures are sent at once; the next ones wait. Each is in memory while its client reads it.
const maxServed = 128

func (a *API) bindUploads(t *table) {
	about := fmt.Sprintf("A JPG or PNG of at most %d bytes, in the part file; avatar and image are taken too. It becomes part of your profile, and takes the place of the one before.", upload.MaxBytes)
	errs := []answer{
		fails(http.StatusRequestEntityTooLarge, fmt.Sprintf("The file is larger than %d bytes.", upload.MaxBytes)),
		fails(http.StatusUnsupportedMediaType, "The body is not multipart/form-data, or the file is no JPG or PNG that can be read."),
	}
	t.add(http.MethodPost, "/api/uploads/avatar", Required, a.uploadTo(account.AvatarField)).limit(BudgetUpload).takes(a.readFile).doc(op{
		Tag: tagProfile, Summary: "Upload your avatar", About: about, Upload: "file", Answers: ok(uploadedSchema), Errors: errs,
	})
	t.add(http.MethodPost, "/api/uploads/banner", Required, a.uploadTo(account.BannerField)).limit(BudgetUpload).takes(a.readFile).doc(op{
		Tag: tagProfile, Summary: "Upload your banner", About: about, Upload: "file",
		Answers: ok(uploadedSchema.With(has("banner_url", urlSchema, "The same."))), Errors: errs,
	})
	t.add(http.MethodGet, "/uploads/{file}", Public, a.picture).doc(op{
		Tag: tagProfile, Summary: "An uploaded picture", About: "It never changes and may be kept for good.",
		Answers: []answer{
			{Status: http.StatusOK, Type: "image/*", Schema: openapi.Text(0, 0).Format("binary"), About: "The picture."},
			{Status: http.StatusNotModified, About: "You have it."},
		},
	})
}

// uploadedSchema is an uploaded without what a banner alone has.
var uploadedSchema = openapi.Object(
	has("ok", openapi.Bool(), "Always true."), has("url", urlSchema, "Where the picture is."), has("avatar_url", urlSchema, "The same."),
).Named("Uploaded", "Where an uploaded picture is.")

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
	etag := `"` + p.ID + `"`
	h.Set("ETag", etag)
	if hasVersion(c.r.Header.Values("If-None-Match"), etag) {
		h.Del("Content-Type")
		c.w.WriteHeader(http.StatusNotModified)
		return nil
	}
	h.Set("Content-Length", strconv.Itoa(len(p.Data)))
	c.w.WriteHeader(http.StatusOK)
	_, _ = c.w.Write(p.Data) // nothing is left to tell a client that has gone
	return nil
}
