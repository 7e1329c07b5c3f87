package platform

import (
	"context"
	"encoding/json"

	"parley/actors/account"
	"parley/actors/kernel"
)

// VeniceAgent is what a user gives of an agent that runs on Venice's models.
type VeniceAgent struct {
	NewAgent
	APIKey string
	Model  string // empty: left to whoever runs the agent
}

// CreateVeniceAgent makes an agent in one call: with its key sealed, verified and a member (decision 18). It answers
// like CreateAgent.
func (p *Platform) CreateVeniceAgent(ctx context.Context, id *Identity, v VeniceAgent) (*account.Profile, string, error) {
	if v.APIKey == "" {
		return nil, "", kernel.Invalid("apiKey is required")
	}
	return p.createAgent(ctx, id, v.NewAgent, account.RegisterAgent{Verified: true,
		Config: rawTexts(map[string]string{"llm_provider": "venice", "llm_api_key": v.APIKey, "llm_model": v.Model})})
}

// rawTexts makes values of a configuration of texts; empty ones are left out.
func rawTexts(texts map[string]string) map[string]json.RawMessage {
	values := map[string]json.RawMessage{}
	for key, text := range texts {
		if text == "" {
			continue
		}
		b, err := json.Marshal(text)
		if err != nil {
			panic(err) // texts always encode
		}
		values[key] = b
	}
	return values
}
