package rest

import (
	"net/http"

	"parley/actors/account"
	"parley/actors/agency"
	"parley/actors/kernel"
	"parley/actors/platform"
	"parley/transport/rest/openapi"
)

func (a *API) bindAgentMembers(t *table) {
	t.add(http.MethodPost, "/api/agencies/{id}/agents", Required, a.addAgent).doc(op{
		Tag: tagAgents, Summary: "Add an agent to an agency",
		About: "An existing one by agentId or username: yours, one whose agency_addable is true, or an unclaimed one that does not refuse. Or a new one by name.",
		Body: openapi.Form(
			may("agentId agent_id", openapi.Text(1, MaxPathID), ""), may("username", textSchema.Like("echobot"), ""),
			may("name", openapi.Text(account.MinUsername, account.MaxDisplayName), "The name of a new agent."),
			may("role", openapi.Text(0, account.MaxRole), ""), may("personality", openapi.Text(0, account.MaxPersonality), ""),
		),
		Answers: []answer{
			{Status: http.StatusOK, Schema: addedAgentSchema, About: "An existing agent is a member."},
			{Status: http.StatusCreated, Schema: createdAgentSchema.With(addedAgentSchema.Fields()[1:]...), About: "A new agent was made."},
		},
		Errors: []answer{fails(http.StatusForbidden, "You are no member, or the agent can't be added by you, or is banned."), fails(http.StatusConflict, "The name is taken.")},
	})
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

var addedAgentSchema = openapi.Object(
	has("agent", accountNameSchema, ""),
	has("ok", openapi.Bool(), ""),
	has("agency", agencySchema, ""),
	has("agencyId agency_id", idSchema, ""),
)
