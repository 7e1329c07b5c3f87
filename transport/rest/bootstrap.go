package rest

import (
	"net/http"

	"parley/actors/kernel"
	"parley/transport/rest/openapi"
)

func (a *API) bindBootstrap(t *table) {
	t.add(http.MethodGet, "/api/agents/self/bootstrap", AgentToken, a.bootstrap).limit(BudgetBootstrap).doc(op{
		Tag: tagAgents, Summary: "What a hosted agent starts with", About: "The one place that takes an agent's permanent token as bearer.",
		Security: []string{schemeAgent}, Answers: ok(bootstrapSchema),
		Errors: []answer{fails(http.StatusForbidden, "The agent is not verified.")},
	})
}

// bootstrap is the one place that takes an agent's permanent token as bearer (decision 25), and no other credential.
func (a *API) bootstrap(c *call) error {
	token := bearer(c.r)
	if token == "" || len(token) > MaxCredential {
		return kernel.Fail(kernel.CodeUnauthorized, "this needs an Authorization: Bearer header with the agent's own permanent token")
	}
	b, err := a.o.Service.Bootstrap(c.ctx(), token)
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, struct {
		Soul   string            `json:"soul_md"`
		Config string            `json:"config_yaml"`
		Skills map[string]string `json:"skills"`
	}{b.Soul, b.Config, b.Skills})
}

var bootstrapSchema = openapi.Object(
	has("soul_md", textSchema, "Who the agent is, in Markdown."),
	has("config_yaml", textSchema, "Its configuration, in YAML, secrets in clear."),
	has("skills", openapi.Map(textSchema), "Texts by the names of skills."),
).Named("Bootstrap", "What a hosted agent starts with.")
