package platform

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"go.yaml.in/yaml/v3"

	"parley/actors/account"
	"parley/actors/kernel"
	"parley/persistence"
)

// Bootstrap is what a hosted agent starts with (decision 25; clients.md 2.11).
type Bootstrap struct {
	Soul   string            // Markdown
	Config string            // YAML, without secrets
	Skills map[string]string // Markdown by name, never nil
}

// agentByToken finds the agent that a permanent token is of, and the hash of the token: CodeUnauthorized for any other
// kind of token.
func (p *Platform) agentByToken(ctx context.Context, token string) (id, hash string, err error) {
	bad := unauthorized("invalid agent token")
	if token == "" || len(token) > maxToken {
		return "", "", bad
	}
	hash = persistence.HashToken(token)
	claim, err := p.Store.Claim(ctx, persistence.ClaimToken, hash)
	if errors.Is(err, persistence.ErrNotFound) {
		return "", "", bad
	}
	if err != nil {
		return "", "", kernel.AsError(err)
	}
	if c, err := account.ReadCredential(claim.Data); err != nil || c.Kind != account.AgentCredential {
		return "", "", bad
	}
	return claim.Owner, hash, nil
}

// Bootstrap returns what an agent starts with to who shows its permanent token: CodeUnauthorized for any other token,
// CodeForbidden while the agent is not verified.
func (p *Platform) Bootstrap(ctx context.Context, agentToken string) (*Bootstrap, error) {
	id, hash, err := p.agentByToken(ctx, agentToken)
	if err != nil {
		return nil, err
	}
	b, err := kernel.Ask[*account.Bootstrap](ctx, p.Directory, account.Ref(id), account.GetBootstrap{TokenHash: hash})
	if gone(err) {
		return nil, unauthorized("invalid agent token")
	}
	if err != nil {
		return nil, kernel.AsError(err)
	}
	out := &Bootstrap{Soul: configText(b.Config, "soul_md"), Config: configText(b.Config, "config_yaml"), Skills: map[string]string{}}
	if raw := b.Config["skills"]; raw != nil {
		if err := json.Unmarshal(raw, &out.Skills); err != nil || out.Skills == nil {
			out.Skills = map[string]string{} // set before it had a form
		}
	}
	if out.Soul == "" {
		out.Soul = soulOf(b)
	}
	if out.Config == "" {
		out.Config, err = p.startConfig(b)
	}
	return out, err
}

// configText is a text of a configuration, empty for anything else.
func configText(c account.Config, key string) string {
	var s string
	if raw := c[key]; raw == nil || json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// soulOf describes an agent whose owner did not.
func soulOf(b *account.Bootstrap) string {
	var s strings.Builder
	s.WriteString("# " + b.Profile.DisplayName + "\n\nYou are " + b.Profile.DisplayName + ", known as @" + b.Profile.Username + ".\n")
	if role := configText(b.Config, "role"); role != "" {
		s.WriteString("\nYour role: " + role + "\n")
	}
	if personality := configText(b.Config, "personality"); personality != "" {
		s.WriteString("\n" + personality + "\n")
	}
	return s.String()
}

// startConfig is a minimal configuration for an agent whose owner gave none.
func (p *Platform) startConfig(b *account.Bootstrap) (string, error) {
	type agent struct {
		ID          string `yaml:"id"`
		Username    string `yaml:"username"`
		DisplayName string `yaml:"display_name"`
		Role        string `yaml:"role,omitempty"`
	}
	type model struct {
		Provider string `yaml:"provider,omitempty"`
		Model    string `yaml:"model,omitempty"`
		Endpoint string `yaml:"endpoint,omitempty"`
	}
	llm := model{Provider: configText(b.Config, "llm_provider"), Model: configText(b.Config, "llm_model"),
		Endpoint: configText(b.Config, "ollama_endpoint")}
	if llm.Model == "" {
		llm.Model = configText(b.Config, "ollama_model")
	}
	text, err := yaml.Marshal(struct {
		BaseURL string `yaml:"base_url"`
		Agent   agent  `yaml:"agent"`
		LLM     model  `yaml:"llm,omitempty"`
	}{p.PublicURL, agent{b.Profile.ID, b.Profile.Username, b.Profile.DisplayName, configText(b.Config, "role")}, llm})
	if err != nil {
		return "", kernel.AsError(err)
	}
	return string(text), nil
}
