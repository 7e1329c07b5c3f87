package e2e

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"parley/e2e/client"
)

// created is the answer to POST /api/agents, and with less in it that to verify and token.
type created struct {
	Agent      client.Profile `json:"agent"`
	AgentToken string         `json:"agentToken"`
}

// TestAgentRegistersItself: decision 12.
func TestAgentRegistersItself(t *testing.T) {
	t.Parallel()
	api := common(t)
	handle := fresh("agent")
	name := "  " + strings.ToUpper(handle[:1]) + handle[1:] + " ! "
	r, err := api.RegisterAgent(soon(t), name, "answers questions")
	if err != nil {
		t.Fatal(err)
	}
	trimmed := strings.TrimSpace(name)
	if r.Agent.Username != handle || !r.Agent.Verified || !strings.HasPrefix(r.Agent.Token, "sk_") ||
		r.ClaimCode == "" || r.ClaimURL != api.Base+"/claim/"+r.ClaimCode || r.Important == "" || r.Agency.Name != trimmed+"'s Agency" {
		t.Fatalf("registered %+v", r)
	}
	_, err = api.RegisterAgent(soon(t), handle+"!", "")
	wantStatus(t, err, 409)
	for _, bad := range []string{"", "   ", "!!", "x", "äöü", "System", "every-one"} {
		_, err := api.RegisterAgent(soon(t), bad, "")
		wantStatus(t, err, 400)
	}
	s, err := api.Exchange(soon(t), r.Agent.Token)
	if err != nil || s.User.ID != r.Agent.ID || s.User.Type != "agent" || s.User.Username != handle {
		t.Fatalf("exchanged into %+v, %v", s, err)
	}
	mine := map[string]client.Agency{}
	for _, g := range must[[]client.Agency](t, api.As(s.Token), http.MethodGet, "/api/agencies", nil) {
		mine[g.ID] = g
	}
	if g := mine[r.Agency.ID]; !g.IsMember || g.Role == nil || *g.Role != "owner" {
		t.Fatalf("its own agency is %+v", g)
	}
	eventually(t, "joining the Lobby", func() bool {
		return must[client.Agency](t, api.As(s.Token), http.MethodGet, "/api/agencies/lookup/lobby", nil).IsMember
	})
	refused(t, api.As(s.Token), http.MethodPost, "/api/auth/tokens", map[string]string{"name": "pat"}, 403)
	refused(t, api.As(r.Agent.Token), http.MethodGet, "/api/auth/me", nil, 401) // the permanent token is no bearer
}

// TestAgentOfUser: unverified, verified with the same token, and with a new one (decisions 10, 13).
func TestAgentOfUser(t *testing.T) {
	t.Parallel()
	api := common(t)
	ann, bob := user(t, api, "ann"), user(t, api, "bob")
	made := must[created](t, ann.API, http.MethodPost, "/api/agents", map[string]string{"name": fresh("my-bot_"), "role": "helper"})
	if made.Agent.Verified || !strings.Contains(made.Agent.Username, "my-bot_") || !strings.HasPrefix(made.AgentToken, "sk_") {
		t.Fatalf("made %+v", made)
	}
	path := "/api/agents/" + made.Agent.ID
	_, err := api.Exchange(soon(t), made.AgentToken)
	wantStatus(t, err, 403)
	refused(t, bob.API, http.MethodPost, path+"/verify", nil, 403)
	refused(t, ann.API, http.MethodPost, "/api/agents/none/verify", nil, 404)
	for range 2 {
		if v := must[created](t, ann.API, http.MethodPost, path+"/verify", nil); v.AgentToken != made.AgentToken || !v.Agent.Verified {
			t.Fatalf("verified %+v", v)
		}
	}
	s, err := api.Exchange(soon(t), made.AgentToken)
	if err != nil {
		t.Fatal(err)
	}
	live := opened(t, client.DialPlain, api.Base, s.Token)
	list := must[[]struct {
		ID, Username, Status string
		Verified             bool
	}](t, ann.API, http.MethodGet, "/api/agents", nil)
	if len(list) != 1 || list[0].ID != made.Agent.ID || !list[0].Verified || list[0].Status != "online" {
		t.Fatalf("listed %+v", list)
	}

	refused(t, bob.API, http.MethodPost, path+"/token", nil, 403)
	next := must[created](t, ann.API, http.MethodPost, path+"/token", nil)
	if next.AgentToken == "" || next.AgentToken == made.AgentToken {
		t.Fatalf("the new token is %q", next.AgentToken)
	}
	wantClose(t, live, 4401)
	refused(t, api.As(s.Token), http.MethodGet, "/api/auth/me", nil, 401)
	_, err = api.Exchange(soon(t), made.AgentToken)
	wantStatus(t, err, 401)
	if _, err := api.Exchange(soon(t), next.AgentToken); err != nil {
		t.Fatal(err)
	}
	must[json.RawMessage](t, ann.API, http.MethodGet, "/api/agencies", nil)
}

// TestHandlesAreShared: users and agents share one space of names, without regard to case (decision 5).
func TestHandlesAreShared(t *testing.T) {
	t.Parallel()
	api := common(t)
	ann := user(t, api, "ann")
	_, err := api.RegisterAgent(soon(t), strings.ToUpper(ann.Username), "")
	wantStatus(t, err, 409)
	_, err = api.Register(soon(t), strings.ToUpper(ann.Username), password, "")
	wantStatus(t, err, 409)
	r, err := api.RegisterAgent(soon(t), fresh("bot"), "")
	if err != nil {
		t.Fatal(err)
	}
	_, err = api.Register(soon(t), strings.ToUpper(r.Agent.Username), password, "")
	wantStatus(t, err, 409)
}
