package e2e

import (
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"parley/e2e/client"
	"parley/transport/outbound/mail/mailtest"
)

// configured is the answer to both methods of an agent's configuration.
type configured struct {
	Config map[string]json.RawMessage `json:"config"`
}

// TestAgentOwner: configuration, adding with its invitation, transfer and deletion (decisions 14, 15, 17).
func TestAgentOwner(t *testing.T) {
	t.Parallel()
	api := common(t)
	ann, bob := user(t, api, "ann"), user(t, api, "bob")
	made := must[created](t, ann.API, http.MethodPost, "/api/agents", map[string]string{"name": fresh("bot")})
	path := "/api/agents/" + made.Agent.ID
	must[created](t, ann.API, http.MethodPost, path+"/verify", nil)
	s, err := api.Exchange(soon(t), made.AgentToken)
	if err != nil {
		t.Fatal(err)
	}
	bot := api.As(s.Token)

	room := ann.room(t, "den", true)
	must[configured](t, ann.API, http.MethodPatch, path+"/config", map[string]any{"webhook_url": "https://hook.test/x", "extToken": "sk-secret-0123-abcd", "agency_addable": false})
	must[configured](t, ann.API, http.MethodPatch, path+"/config?agencyId="+room.ID, map[string]any{"github_token": "ghp_0123456789wxyz"})
	for _, c := range []struct {
		who               client.API
		query, key, value string
	}{
		{ann.API, "", "extToken", `"sk-…abcd"`}, {bot, "", "extToken", `"sk-secret-0123-abcd"`}, {bot, "", "response_webhook_url", `"https://hook.test/x"`},
		{ann.API, "?agencyId=" + room.ID, "github_token", `"ghp…wxyz"`}, {bot, "?agencyId=" + room.ID, "github_token", `"ghp_0123456789wxyz"`},
		{bot, "", "github_token", ""}, {bot, "", "extAgentId", `"main"`},
	} {
		if got := must[configured](t, c.who, http.MethodGet, path+"/config"+c.query, nil); string(got.Config[c.key]) != c.value {
			t.Errorf("%s%s is %s, want %s", c.key, c.query, got.Config[c.key], c.value)
		}
	}
	refused(t, bob.API, http.MethodGet, path+"/config", nil, 403)
	refused(t, bot, http.MethodPatch, path+"/config", map[string]any{"a": "b"}, 403)
	refused(t, ann.API, http.MethodPatch, path+"/config", map[string]any{"wallet_approval_mode": 7}, 400)

	for _, dial := range []dialer{client.DialPlain, client.DialSocketIO} {
		room := bob.room(t, "reef", true)
		refused(t, bob.API, http.MethodPost, "/api/agencies/"+room.ID+"/agents", map[string]string{"agentId": made.Agent.ID}, 403)
		must[configured](t, ann.API, http.MethodPatch, path+"/config", map[string]any{"agency_addable": true})
		live := opened(t, dial, api.Base, s.Token)
		must[json.RawMessage](t, bob.API, http.MethodPost, "/api/agencies/"+room.ID+"/agents", map[string]string{"username": made.Agent.Username})
		invited := event[struct {
			AgencyID string        `json:"agencyId"`
			Agency   client.Agency `json:"agency"`
		}](t, live, "agency-invited")
		if invited.AgencyID != room.ID || invited.Agency.Slug != room.Slug {
			t.Fatalf("invited to %+v", invited)
		}
		joined(t, live, room)
		must[configured](t, ann.API, http.MethodPatch, path+"/config", map[string]any{"agency_addable": nil})
	}
	here := must[created](t, ann.API, http.MethodPost, "/api/agencies/"+room.ID+"/agents", map[string]string{"name": fresh("pup")})
	if here.AgentToken == "" || here.Agent.Verified {
		t.Fatalf("made %+v", here)
	}

	live := opened(t, client.DialPlain, api.Base, s.Token)
	refused(t, bob.API, http.MethodPost, path+"/transfer", map[string]string{"newOwnerId": bob.ID}, 403)
	refused(t, ann.API, http.MethodPost, path+"/transfer", map[string]string{"newOwnerId": ann.ID}, 400)
	refused(t, ann.API, http.MethodPost, path+"/transfer", map[string]string{"newOwnerUsername": "none"}, 404)
	moved := must[struct {
		OK              bool
		Agent, NewOwner client.Profile
	}](t, ann.API, http.MethodPost, path+"/transfer", map[string]string{"newOwnerUsername": bob.Username})
	if !moved.OK || moved.Agent.ID != made.Agent.ID || moved.NewOwner.ID != bob.ID {
		t.Fatalf("transferred %+v", moved)
	}
	joined(t, live, must[client.Agency](t, bot, http.MethodGet, "/api/agencies/lookup/lobby", nil)) // it is still connected
	refused(t, ann.API, http.MethodDelete, path, nil, 403)
	must[json.RawMessage](t, bob.API, http.MethodDelete, path, nil)
	wantClose(t, live, 4401)
	refused(t, bob.API, http.MethodGet, path+"/config", nil, 404)
}

// TestVeniceCreate: decision 18.
func TestVeniceCreate(t *testing.T) {
	t.Parallel()
	api := common(t)
	ann := user(t, api, "ann")
	made := must[created](t, ann.API, http.MethodPost, "/api/agents/venice-create", map[string]string{"name": fresh("doge"), "apiKey": "vk-0123456789-tail", "model": "m"})
	s, err := api.Exchange(soon(t), made.AgentToken)
	if err != nil || !made.Agent.Verified {
		t.Fatal(made, err)
	}
	got := must[configured](t, api.As(s.Token), http.MethodGet, "/api/agents/"+made.Agent.ID+"/config", nil)
	if string(got.Config["llm_api_key"]) != `"vk-0123456789-tail"` {
		t.Errorf("its key is %s", got.Config["llm_api_key"])
	}
	if !must[client.Agency](t, api.As(s.Token), http.MethodGet, "/api/agencies/lookup/lobby", nil).IsMember {
		t.Error("it is not in the Lobby")
	}
	refused(t, ann.API, http.MethodPost, "/api/agents/venice-create", map[string]string{"name": "x1"}, 400)
}

var claimLink = regexp.MustCompile(`http://[0-9.:]+/api/agents/claim/verify/[0-9a-f]{48}`)

// follow opens a link and returns where it redirects to.
func follow(t *testing.T, link string) *url.URL {
	t.Helper()
	c := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	r, err := http.NewRequestWithContext(soon(t), http.MethodGet, link, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.StatusCode != http.StatusFound {
		t.Fatalf("the link answers %s", res.Status)
	}
	to, err := res.Location()
	if err != nil {
		t.Fatal(err)
	}
	return to
}

// TestClaimByMail: an agent registers itself, a mail comes from a server that was down at first and lived twice, and of two
// claimants the first gets the agent (decision 16).
func TestClaimByMail(t *testing.T) {
	t.Parallel()
	mail := mailtest.Start(t, mailtest.Options{User: "robot", Password: "p@ss"})
	mail.Answer("RCPT", "451 4.7.1 come back later")
	server := own(t, "--smtp-url", "smtp://robot:p%40ss@"+mail.Address(), "--mail-from", "Parley <parley@chat.test>", "--web-url", "https://web.test/app")
	api := client.API{Base: server.URL()}
	ann, bob := user(t, api, "ann"), user(t, api, "bob")
	r, err := api.RegisterAgent(soon(t), fresh("wild"), "answers")
	if err != nil {
		t.Fatal(err)
	}
	type page struct {
		Name    string `json:"name"`
		Persona string `json:"persona"`
		Claimed bool   `json:"claimed"`
	}
	if p := must[page](t, api, http.MethodGet, "/api/agents/claim/"+r.ClaimCode, nil); p.Name != r.Agent.DisplayName || p.Persona != "answers" || p.Claimed {
		t.Fatalf("page %+v", p)
	}
	refused(t, api, http.MethodGet, "/api/agents/claim/none", nil, 404)
	claim := func(who person, address string) {
		t.Helper()
		got := must[struct{ ExpiresAt string }](t, who.API, http.MethodPost, "/api/agents/claim", map[string]string{"code": r.ClaimCode, "email": address})
		if got.ExpiresAt == "" {
			t.Fatal("no expiry")
		}
	}
	refused(t, ann.API, http.MethodPost, "/api/agents/claim", map[string]string{"code": r.ClaimCode, "email": "no address"}, 400)
	claim(ann, "ann@mail.test")
	eventually(t, "the first try", func() bool { return mail.Tries() == 1 })
	if err := server.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := server.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	links := map[string]string{}
	take := func(address string) {
		t.Helper()
		eventually(t, "the mail to "+address, func() bool {
			for _, m := range mail.Mails() {
				parsed, err := mailtest.Parse(m.Data)
				if err != nil || !m.SignedIn || m.From != "parley@chat.test" {
					t.Fatal(m, err)
				}
				links[m.To[0]] = claimLink.FindString(parsed.Text)
			}
			return links[address] != ""
		})
	}
	take("ann@mail.test")
	claim(bob, "bob@mail.test")
	take("bob@mail.test")
	for range 2 { // a double click
		if to := follow(t, links["ann@mail.test"]); to.Host != "web.test" || to.Path != "/app/claim/result" || to.Query().Get("status") != "success" {
			t.Fatalf("redirected to %s", to)
		}
	}
	for link, reason := range map[string]string{links["bob@mail.test"]: "claimed", api.Base + "/api/agents/claim/verify/none": "unknown"} {
		if to := follow(t, link).Query(); to.Get("status") != "error" || to.Get("reason") != reason {
			t.Fatalf("redirected to %s, want %s", to, reason)
		}
	}
	if list := must[[]client.Profile](t, ann.API, http.MethodGet, "/api/agents", nil); len(list) != 1 || list[0].ID != r.Agent.ID {
		t.Fatalf("her agents are %+v", list)
	}
	refused(t, bob.API, http.MethodPost, "/api/agents/claim", map[string]string{"claimCode": r.ClaimCode, "email": "bob@mail.test"}, 409)
	if !must[page](t, api, http.MethodGet, "/api/agents/claim/"+r.ClaimCode, nil).Claimed {
		t.Error("the page does not say that the agent is claimed")
	}
	if log := server.Log(); strings.Contains(log, "p@ss") || strings.Contains(log, "p%40ss") {
		t.Error("the log has the mail server's password")
	}
}

// TestMailWithoutServer: without a mail server each mail is a file.
func TestMailWithoutServer(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	server := ownIn(t, dir, exempt...)
	api := client.API{Base: server.URL()}
	ann := user(t, api, "ann")
	r, err := api.RegisterAgent(soon(t), fresh("wild"), "")
	if err != nil {
		t.Fatal(err)
	}
	claim := map[string]string{"code": r.ClaimCode, "email": "ann@mail.test"}
	for range 3 {
		must[json.RawMessage](t, ann.API, http.MethodPost, "/api/agents/claim", claim)
	}
	refused(t, ann.API, http.MethodPost, "/api/agents/claim", claim, 429)
	var files []string
	eventually(t, "three files", func() bool {
		files, _ = filepath.Glob(filepath.Join(dir, "outbox", "*.eml"))
		return len(files) == 3
	})
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := mailtest.Parse(string(text))
	if err != nil {
		t.Fatal(err)
	}
	if to := follow(t, claimLink.FindString(parsed.Text)); to.Query().Get("status") != "success" {
		t.Fatalf("redirected to %s", to)
	}
	eventually(t, "the path in the log", func() bool { return strings.Contains(server.Log(), filepath.Base(files[0])) })
}
