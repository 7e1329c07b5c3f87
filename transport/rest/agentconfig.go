package rest

import (
	"net/http"

	"parley/actors/account"
)

func (a *API) bindAgentConfig(t *table) {
	t.add(http.MethodGet, "/api/agents/{id}/config", Required, a.agentConfig)
	t.add(http.MethodPatch, "/api/agents/{id}/config", Required, a.setAgentConfig)
}

func (a *API) agentConfig(c *call) error {
	agencyID, err := configAgency(c)
	if err != nil {
		return err
	}
	config, err := a.o.Service.AgentConfig(c.ctx(), c.id, c.param("id"), agencyID)
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, struct {
		Config account.Config `json:"config"`
	}{config})
}

// setAgentConfig takes the keys as the fields of the body: which there are, and what they may hold, is the agent's to
// say. null clears one here, where elsewhere it counts as absent.
func (a *API) setAgentConfig(c *call) error {
	agencyID, err := configAgency(c)
	if err != nil {
		return err
	}
	config, err := a.o.Service.SetAgentConfig(c.ctx(), c.id, c.param("id"), agencyID, c.form.All())
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, struct {
		OK     bool           `json:"ok"`
		Config account.Config `json:"config"`
	}{true, config})
}

// configAgency is the agency whose overrides are meant, empty for none.
func configAgency(c *call) (string, error) {
	q := c.query()
	id := q.Text("agencyId")
	if id == "" {
		id = q.Text("agency_id")
	}
	return id, q.Err()
}
