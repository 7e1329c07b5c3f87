package e2e

import (
	"net/http"
	"strings"
	"testing"
)

// started is what a hosted agent starts with.
type started struct {
	Soul   string            `json:"soul_md"`
	Config string            `json:"config_yaml"`
	Skills map[string]string `json:"skills"`
}

// TestBootstrap: the permanent token as bearer, here and nowhere else (decision 25).
func TestBootstrap(t *testing.T) {
	t.Parallel()
	api := common(t)
	ann := user(t, api, "ann")
	made := must[created](t, ann.API, http.MethodPost, "/api/agents", map[string]string{"name": fresh("bot"), "personality": "patient"})
	const at = "/api/agents/self/bootstrap"
	refused(t, api.As(made.AgentToken), http.MethodGet, at, nil, 403)
	must[created](t, ann.API, http.MethodPost, "/api/agents/"+made.Agent.ID+"/verify", nil)
	b := must[started](t, api.As(made.AgentToken), http.MethodGet, at, nil)
	if !strings.Contains(b.Soul, "patient") || !strings.Contains(b.Config, "base_url: "+api.Base) || b.Skills == nil {
		t.Errorf("%+v", b)
	}
	must[configured](t, ann.API, http.MethodPatch, "/api/agents/"+made.Agent.ID+"/config",
		map[string]any{"soul_md": "# Me", "config_yaml": "a: 1\n", "skills": map[string]string{"dice": "# Dice"}})
	if b := must[started](t, api.As(made.AgentToken), http.MethodGet, at, nil); b.Soul != "# Me" || b.Config != "a: 1\n" || b.Skills["dice"] != "# Dice" {
		t.Errorf("%+v", b)
	}
	s, err := api.Exchange(soon(t), made.AgentToken)
	if err != nil {
		t.Fatal(err)
	}
	for _, token := range []string{s.Token, ann.Token, "", "sk_none"} {
		refused(t, api.As(token), http.MethodGet, at, nil, 401)
	}
}
