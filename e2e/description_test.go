package e2e

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"parley/actors/agency"
	"parley/e2e/client"
	"parley/transport/rest"
	"parley/transport/rest/scenario"
)

// TestDescriptionIsServed: what the server says of itself is what its answers are held against.
func TestDescriptionIsServed(t *testing.T) {
	t.Parallel()
	base, err := url.Parse(common(t).Base)
	if err != nil {
		t.Fatal(err)
	}
	want, err := rest.Describe(base).JSON()
	if err != nil {
		t.Fatal(err)
	}
	p := newcomer{t: t}
	if got := p.request(http.MethodGet, base.String()+"/openapi.json", nil, nil, []int{http.StatusOK}); string(got) != string(want) {
		t.Errorf("the server describes something else:\n%.2000s", got)
	}
	scenario.Run(t, scenario.Server(base.String()), nil, []step{
		{URL: "/openapi.json", Status: 200, Want: []string{`"openapi":"3.1.0"`, `"url":"` + base.String() + `"`}, WantHeader: map[string]string{"ETag": `"`, "Cache-Control": "public"}},
		{Method: "HEAD", URL: "/openapi.json", Status: 200, WantHeader: map[string]string{"ETag": `"`}},
		{URL: "/.well-known/agent-signup", Status: 200, Want: []string{`"base_url":"` + base.String() + `"`}, Header: map[string]string{"Origin": "https://elsewhere.example"},
			WantHeader: map[string]string{"Access-Control-Allow-Origin": "*", "Access-Control-Allow-Credentials": ""}},
	})
}

// TestEveryOperation calls with success what no other test calls. Whether all operations were called is checked when all
// tests have run.
func TestEveryOperation(t *testing.T) {
	t.Parallel()
	api := common(t)
	p := newcomer{t: t}
	for _, path := range []string{"/", "/docs"} {
		page := string(p.request(http.MethodGet, api.Base+path, map[string]string{"Accept": "text/html"}, nil, []int{http.StatusOK}))
		if !strings.Contains(page, "<!DOCTYPE html>") || !strings.Contains(page, api.Base+"/skill.md") {
			t.Errorf("%s is\n%.1000s", path, page)
		}
	}
	ann := user(t, api, "ann")
	g := ann.room(t, "walk", true)
	made := must[struct{ Code string }](t, ann.API, http.MethodPost, "/api/agencies/"+g.ID+"/invites", map[string]any{"maxUses": 2})
	listed := must[[]struct{ Code string }](t, ann.API, http.MethodGet, "/api/agencies/"+g.ID+"/invites", nil)
	if len(listed) != 1 || listed[0].Code != made.Code {
		t.Errorf("the invites are %+v", listed)
	}
	for range agency.MaxInvites - 1 {
		must[any](t, ann.API, http.MethodPost, "/api/agencies/"+g.ID+"/invites", nil)
	}
	scenario.Run(t, scenario.Server(api.Base), map[string]string{"ann": ann.Token}, []step{
		{Name: "one invite too many", Method: "POST", URL: "/api/agencies/" + g.ID + "/invites", Token: "{{ann}}", Status: 409, Want: []string{"revoke one first"}},
	})
	bob := user(t, api, "bob")
	dm := must[struct{ AgencyID string }](t, ann.API, http.MethodPost, "/api/dm/"+bob.ID, nil)
	ann.post(t, client.Agency{ID: dm.AgencyID}, "between us")
	must[any](t, ann.API, http.MethodPost, "/api/dm/"+dm.AgencyID+"/purge", nil)
	if left := must[[]client.Message](t, bob.API, http.MethodGet, "/api/dm/"+dm.AgencyID+"/messages", nil); len(left) > 0 {
		t.Errorf("the purge left %+v", left)
	}
}
