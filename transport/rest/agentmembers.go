package rest

import (
	"net/http"

	"parley/actors/agency"
	"parley/actors/kernel"
	"parley/actors/platform"
)

func (a *API) bindAgentMembers(t *table) {
	t.add(http.MethodPost, "/api/agencies/{id}/agents", Required, a.addAgent)
}

// addAgent adds an existing agent, or creates one where only a name is given (decision 14). The latter answers like
// POST /api/agents.
func (a *API) addAgent(c *call) error {
	add := platform.AddedAgent{
		AgentID:  c.form.String("agentId", "agent_id"),
		Username: c.form.String("username"),
		New:      platform.NewAgent{Name: c.form.String("name"), Role: c.form.String("role"), Personality: c.form.String("personality")},
	}
	if err := c.form.Err(); err != nil {
		return err
	}
	if add.AgentID == "" && add.Username == "" && add.New.Name == "" {
		return kernel.Invalid("agentId or username of an agent, or the name of a new one, is required")
	}
	added, err := a.o.Service.AddAgent(c.ctx(), c.id, c.param("id"), add)
	if err != nil {
		return err
	}
	in := inAgency{OK: true, Agency: added.Agency, AgencyID: added.Agency.ID, AgencyID2: added.Agency.ID}
	if added.Token != "" {
		return c.answer(http.StatusCreated, with{newCreatedAgent(added.Agent, added.Token), in})
	}
	return c.answer(http.StatusOK, with{struct {
		Agent accountName `json:"agent"`
	}{accountNameOf(added.Agent)}, in})
}

// inAgency says where an agent is a member now.
type inAgency struct {
	OK        bool        `json:"ok"`
	Agency    agency.View `json:"agency"`
	AgencyID  string      `json:"agencyId"`
	AgencyID2 string      `json:"agency_id"`
}
