package e2e

import (
	"bytes"
	"encoding/json"
	"image"
	"image/jpeg"
	"image/png"
	"io"
	"net/http"
	"strings"
	"testing"

	"parley/e2e/client"
)

// human is what GET /api/users/:username shows.
type human struct {
	ID          string  `json:"id"`
	Username    string  `json:"username"`
	DisplayName string  `json:"displayName"`
	Name2       string  `json:"display_name"`
	Type        string  `json:"type"`
	Role        string  `json:"role"`
	Description string  `json:"description"`
	Avatar      *string `json:"avatar"`
	Banner      *string `json:"banner"`
	Created     string  `json:"created_at"`
	Followers   int     `json:"followers"`
	Following   int     `json:"following"`
	IsFollowing bool    `json:"isFollowing"`
}

func seen(t *testing.T, by client.API, name string) human {
	t.Helper()
	return must[human](t, by, http.MethodGet, "/api/users/"+name, nil)
}

func TestPeople(t *testing.T) {
	t.Parallel()
	api := common(t)
	ann, bob := user(t, api, "ann"), user(t, api, "bob")
	agent, err := api.RegisterAgent(soon(t), strings.ReplaceAll(fresh("bot"), "-", ""), "helps")
	if err != nil {
		t.Fatal(err)
	}
	if h := seen(t, api, strings.ToUpper(ann.Username)); h.ID != ann.ID || h.Username != ann.Username || h.Name2 != h.DisplayName ||
		h.Type != "user" || h.Role != "user" || h.Created == "" {
		t.Fatalf("%+v", h)
	}
	if h := seen(t, api.As("stale"), "@"+agent.Agent.Username); h.ID != agent.Agent.ID || h.Type != "agent" || h.Description != "helps" {
		t.Fatalf("%+v", h)
	}
	if h := seen(t, api, ann.ID); h.ID != ann.ID {
		t.Fatalf("by id: %+v", h)
	}
	refused(t, ann.API, http.MethodGet, "/api/users/nobody-"+fresh(""), nil, 404)

	type answer struct {
		OK        bool `json:"ok"`
		Following bool `json:"following"`
		Followers int  `json:"followers"`
	}
	follow := "/api/users/" + bob.Username + "/follow"
	for range 2 {
		if a := must[answer](t, ann.API, http.MethodPost, follow, nil); !a.OK || !a.Following || a.Followers != 1 {
			t.Fatalf("%+v", a)
		}
	}
	exchanged, err := api.Exchange(soon(t), agent.Agent.Token)
	if err != nil {
		t.Fatal(err)
	}
	if a := must[answer](t, api.As(exchanged.Token), http.MethodPost, follow, nil); a.Followers != 2 {
		t.Fatalf("%+v", a)
	}
	refused(t, bob.API, http.MethodPost, follow, nil, 400)
	refused(t, api, http.MethodPost, follow, nil, 401)
	if h := seen(t, ann.API, bob.Username); !h.IsFollowing || h.Followers != 2 {
		t.Fatalf("%+v", h)
	}
	first := must[[]human](t, api, http.MethodGet, "/api/users/"+bob.Username+"/followers?limit=1", nil)
	rest := must[[]human](t, api, http.MethodGet, "/api/users/"+bob.Username+"/followers?after="+first[0].ID, nil)
	if len(first) != 1 || len(rest) != 1 || first[0].ID == rest[0].ID {
		t.Fatalf("%+v, %+v", first, rest)
	}
	if list := must[[]human](t, api, http.MethodGet, "/api/users/"+ann.Username+"/following", nil); len(list) != 1 || list[0].ID != bob.ID {
		t.Fatalf("%+v", list)
	}
	if a := must[answer](t, api.As(exchanged.Token), http.MethodDelete, follow, nil); a.Following || a.Followers != 1 {
		t.Fatalf("%+v", a)
	}

	must[json.RawMessage](t, ann.API, http.MethodDelete, "/api/auth/account", map[string]string{"password": password})
	eventually(t, "ending the follows of a deleted account", func() bool { return seen(t, api, bob.Username).Followers == 0 })
	refused(t, api, http.MethodGet, "/api/users/"+ann.Username, nil, 404)
	refused(t, bob.API, http.MethodPost, "/api/users/"+ann.Username+"/follow", nil, 404)
}

// picture draws a PNG or JPG.
func picture(t *testing.T, jpg bool, side int) []byte {
	t.Helper()
	var b bytes.Buffer
	m := image.NewGray(image.Rect(0, 0, side, side))
	encode := png.Encode
	if jpg {
		encode = func(w io.Writer, m image.Image) error { return jpeg.Encode(w, m, nil) }
	}
	if err := encode(&b, m); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// got fetches an address, with headers, and reads its body.
func got(t *testing.T, at string, header ...string) (*http.Response, []byte) {
	t.Helper()
	r, err := http.NewRequestWithContext(soon(t), http.MethodGet, at, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }() // only read
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, body
}

// TestUploadedPictures: pictures of a profile survive a kill, and go when they are replaced and when the account ends
// (decision 43).
func TestUploadedPictures(t *testing.T) {
	t.Parallel()
	server := own(t)
	api := client.API{Base: server.URL()}
	ann := user(t, api, "ann")
	type uploaded struct {
		OK     bool   `json:"ok"`
		URL    string `json:"url"`
		Avatar string `json:"avatar_url"`
		Banner string `json:"banner_url"`
	}
	upload := func(a client.API, to, part string, data []byte) uploaded {
		t.Helper()
		var u uploaded
		if err := a.Upload(soon(t), "/api/uploads/"+to, part, data, &u); err != nil {
			t.Fatal(err)
		}
		return u
	}
	old := upload(ann.API, "avatar", "file", picture(t, false, 8))
	data := picture(t, true, 300)
	avatar, banner := upload(ann.API, "avatar", "image", data), upload(ann.API, "banner", "file", picture(t, false, 9))
	if !avatar.OK || avatar.URL != avatar.Avatar || !strings.HasPrefix(avatar.URL, api.Base+"/uploads/") || banner.Banner != banner.URL {
		t.Fatalf("%+v, %+v", avatar, banner)
	}
	if err := server.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := server.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	at := func(u string) string { // after a restart the server has another port
		_, file, _ := strings.Cut(u, "/uploads/")
		return server.URL() + "/uploads/" + file
	}
	api.Base, ann.API.Base = server.URL(), server.URL()
	if h := seen(t, api, ann.Username); h.Avatar == nil || at(*h.Avatar) != at(avatar.URL) || h.Banner == nil || at(*h.Banner) != at(banner.URL) {
		t.Fatalf("%+v", h)
	}
	res, body := got(t, at(avatar.URL))
	if res.StatusCode != 200 || !bytes.Equal(body, data) || res.Header.Get("Content-Type") != "image/jpeg" ||
		res.Header.Get("X-Content-Type-Options") != "nosniff" || !strings.Contains(res.Header.Get("Cache-Control"), "immutable") {
		t.Fatalf("%s %v", res.Status, res.Header)
	}
	if res, _ := got(t, at(avatar.URL), "If-None-Match", res.Header.Get("Etag")); res.StatusCode != 304 {
		t.Fatal(res.Status)
	}
	if res, _ := got(t, at(old.URL)); res.StatusCode != 404 {
		t.Fatal("the replaced one:", res.Status)
	}
	wantStatus(t, ann.API.Upload(soon(t), "/api/uploads/avatar", "file", []byte("<svg/>"), nil), 415)
	wantStatus(t, ann.API.Upload(soon(t), "/api/uploads/avatar", "file", make([]byte, 3<<20), nil), 413)
	wantStatus(t, ann.API.Upload(soon(t), "/api/uploads/avatar", "other", data, nil), 400)
	wantStatus(t, api.Upload(soon(t), "/api/uploads/avatar", "file", data, nil), 401)
	refused(t, ann.API, http.MethodPost, "/api/uploads/banner", map[string]string{"file": "x"}, 415)

	must[json.RawMessage](t, ann.API, http.MethodPatch, "/api/auth/me", map[string]string{"banner": ""})
	if res, _ := got(t, at(banner.URL)); res.StatusCode != 404 {
		t.Fatal("the cleared one:", res.Status)
	}
	must[json.RawMessage](t, ann.API, http.MethodDelete, "/api/auth/account", map[string]string{"password": password})
	if res, _ := got(t, at(avatar.URL)); res.StatusCode != 404 {
		t.Fatal("that of a deleted account:", res.Status)
	}
}
