package e2e

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/uuid"

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
		{URL: "/asyncapi.json", Status: 200, Want: []string{`"asyncapi":"3.0.0"`, `"host":"` + base.Host + `"`, `"pathname":"/ws"`, `"send-message"`},
			WantHeader: map[string]string{"ETag": `"`, "Cache-Control": "public", "Content-Type": "application/json"}, Header: map[string]string{"Origin": "https://elsewhere.example"}},
		{Method: "HEAD", URL: "/asyncapi.json", Status: 200, WantHeader: map[string]string{"ETag": `"`}},
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

// TestEveryEvent carries out what no other test does over a connection whose frames are held against the description.
// Whether all operations and events were seen is checked when all tests have run.
func TestEveryEvent(t *testing.T) {
	t.Parallel()
	api := common(t)
	ann := user(t, api, "ann")
	g := ann.room(t, "work", false)
	listener := ann.plain(t)
	joined(t, listener, g)
	_, token := agentIn(t, api, ann, g)
	for i, dial := range []func(context.Context, string, string) (*client.Socket, error){client.DialPlain, client.DialSocketIO} {
		s, err := dial(soon(t), api.Base, token)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Close)
		id := uuid.NewString()
		for _, e := range []struct {
			name string
			data map[string]any
		}{
			{"agent-run-start", map[string]any{"agencyId": g.ID}},
			{"agent-run-status", map[string]any{"status": "reading"}},
			{"agent-run-complete", map[string]any{"summary": "done", "transcript": []any{map[string]any{"ts": 1, "type": "own"}}}},
		} {
			e.data["runId"] = id
			var ack client.Ack
			if err := s.Call(soon(t), e.name, e.data, &ack); err != nil || !ack.OK {
				t.Errorf("%d: %s is answered with %+v, %v", i, e.name, ack, err)
			}
		}
		if err := listener.WaitEvent(soon(t), "agent-run-complete", nil); err != nil {
			t.Error(err)
		}
	}
}
