package platform

import (
	"bytes"
	"context"
	"encoding/json"

	"parley/actors/account"
	"parley/actors/kernel"
)

// agent returns the profile of an agent, or CodeNotFound.
func (p *Platform) agent(ctx context.Context, id string) (*account.Profile, error) {
	profile, err := p.Profile(ctx, id)
	if err != nil {
		return nil, noAgent(err)
	}
	if profile.Type != account.Agent {
		return nil, kernel.NotFound("there is no such agent")
	}
	return profile, nil
}

// AgentConfig returns an agent's configuration: to the agent itself with its secrets in clear, to its owner with them
// masked, to others CodeForbidden. agencyID, if not empty, names the agency whose overrides win (decision 17).
func (p *Platform) AgentConfig(ctx context.Context, id *Identity, agentID, agencyID string) (account.Config, error) {
	if _, err := p.agent(ctx, agentID); err != nil {
		return nil, err
	}
	config, err := kernel.Ask[account.Config](ctx, p.Directory, account.Ref(agentID), account.GetConfig{By: id.ID, AgencyID: agencyID})
	if err != nil {
		return nil, noAgent(err)
	}
	return config, nil
}

// SetAgentConfig changes an agent's configuration, or with agencyID the overrides for that agency; its owner may. It
// returns the new configuration, masked. Overrides can be set for agencies that the owner may see; clearing them is
// always possible, also when the agency is gone.
func (p *Platform) SetAgentConfig(ctx context.Context, id *Identity, agentID, agencyID string, values map[string]json.RawMessage) (account.Config, error) {
	agent, err := p.agent(ctx, agentID)
	if err != nil {
		return nil, err
	}
	if agent.OwnerID != id.ID {
		return nil, kernel.Forbidden("only the agent's owner can do this")
	}
	if agencyID != "" && setsAnything(values) {
		if _, _, err := p.visible(ctx, id, agencyID); err != nil {
			return nil, err
		}
	}
	config, err := kernel.Ask[account.Config](ctx, p.Directory, account.Ref(agentID),
		account.SetConfig{By: id.ID, AgencyID: agencyID, Values: values})
	if err != nil {
		return nil, noAgent(err)
	}
	return config, nil
}

func setsAnything(values map[string]json.RawMessage) bool {
	for _, v := range values {
		if s := string(bytes.TrimSpace(v)); s != "null" && s != `""` {
			return true
		}
	}
	return false
}
