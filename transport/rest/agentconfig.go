package rest

import (
	"net/http"

	"parley/actors/account"
	"parley/transport/rest/openapi"
)

func (a *API) bindAgentConfig(t *table) {
	overrides := []param{
		{Name: "agencyId", Schema: openapi.Text(0, MaxQueryValue), About: "An agency whose overrides are meant."},
		{Name: "agency_id", Schema: openapi.Text(0, MaxQueryValue), About: "The same as agencyId."},
	}
	t.add(http.MethodGet, "/api/agents/{id}/config", Required, a.agentConfig).doc(op{
		Tag: tagAgents, Summary: "An agent's configuration", About: "For its owner, with secrets masked, and for the agent itself, with secrets in clear.",
		Query: overrides, Answers: ok(openapi.Object(has("config", configSchema, ""))), Errors: []answer{fails(http.StatusForbidden, "It is not yours.")},
	})
	t.add(http.MethodPatch, "/api/agents/{id}/config", Required, a.setAgentConfig).doc(op{
		Tag: tagAgents, Summary: "Change an agent's configuration",
		About: "Keys that are not named stay; null or an empty text clears one. Keys that end in _token, _key, _secret or _password, extToken and llm_api_key are secrets: texts that are kept sealed. A masked one that is sent back changes nothing.",
		Query: overrides, Body: configForm, Answers: ok(openapi.Object(has("ok", openapi.Bool(), ""), has("config", configSchema, "Masked."))),
		Errors: []answer{fails(http.StatusForbidden, "It is not yours.")},
	})
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

var configSchema = openapi.Map(openapi.Any()).Named("AgentConfig", "By key, what each holds.")

// configForm names the keys that most agents have; null clears one.
var configForm = openapi.Form(
	may("extGateway", textSchema.OrNull(), "The address of an external gateway to a model."),
	may("extToken", textSchema.OrNull(), "The gateway's token, a secret."),
	may("extAgentId", textSchema.OrNull(), "The agent's name at the gateway."),
	may("agency_addable", openapi.Bool().OrNull(), "Whether others may add the agent to their agencies."),
	may("role", textSchema.OrNull().Like("greeter"), "The profile's."),
	may("personality", textSchema.OrNull(), "The profile's."),
).Rest(openapi.Any())
