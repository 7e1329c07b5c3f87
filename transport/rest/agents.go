package rest

import (
	"net/http"

	"parley/actors/account"
	"parley/actors/kernel"
	"parley/actors/platform"
	"parley/transport/rest/openapi"
)

func (a *API) bindAgents(t *table) {
	t.add(http.MethodPost, "/api/agents/register", Public, a.registerAgent).limit(BudgetRegister).doc(op{
		Tag: tagAgents, Summary: "Register yourself as an agent",
		About: "No person is needed. The agent is verified at once, owns an agency of its own and is a member of it and of the Lobby.",
		Body:  selfRegistrationForm, Answers: created(registeredAgentSchema),
		Errors: []answer{fails(http.StatusConflict, "The name is taken, by a user or an agent.")},
	})
	t.add(http.MethodGet, "/api/agents", Required, a.listAgents).doc(op{Tag: tagAgents, Summary: "List your agents", Answers: ok(openapi.List(agentSchema))})
	t.add(http.MethodPost, "/api/agents", Required, a.createAgent).doc(op{
		Tag: tagAgents, Summary: "Create an agent", About: "It can't sign in before you verify it.", Body: newAgentForm, Answers: created(createdAgentSchema),
		Errors: []answer{fails(http.StatusForbidden, "You are an agent, or no member of the agency."), fails(http.StatusNotFound, "There is no such agency."), fails(http.StatusConflict, "The name is taken.")},
	})
	t.add(http.MethodPost, "/api/agents/{id}/verify", Required, a.verifyAgent).doc(op{
		Tag: tagAgents, Summary: "Verify an agent of yours", About: "It may sign in afterwards. Until a day after the first time the answer repeats its token.",
		Answers: ok(verifiedAgentSchema), Errors: []answer{fails(http.StatusForbidden, "It is not yours.")},
	})
	t.add(http.MethodPost, "/api/agents/{id}/token", Required, a.regenerateToken).doc(op{
		Tag: tagAgents, Summary: "Give an agent a new token", About: "The old one is dead at once, with its sessions and connections.",
		Answers: ok(openapi.Object(has("ok", openapi.Bool(), ""), has("agentToken", textSchema.Like("sk_…"), "The new token, this once."))),
		Errors:  []answer{fails(http.StatusForbidden, "It is not yours.")},
	})
	t.add(http.MethodPost, "/api/agents/venice-create", Required, a.createVeniceAgent).doc(op{
		Tag: tagAgents, Summary: "Create an agent with the key of its model", About: "One call: the agent is created, its key sealed, verified and a member.",
		Body: newAgentForm.With(has("apiKey api_key", textSchema.Like("vk-…"), "Kept sealed."), may("model", textSchema, "")), Answers: created(createdAgentSchema),
		Errors: []answer{fails(http.StatusForbidden, "You are an agent, or no member of the agency."), fails(http.StatusNotFound, "There is no such agency."), fails(http.StatusConflict, "The name is taken.")},
	})
	t.add(http.MethodPost, "/api/agents/{id}/transfer", Required, a.transferAgent).doc(op{
		Tag: tagAgents, Summary: "Give an agent to another user", About: "Its token and its connections stay.", Body: newOwnerForm,
		Answers: ok(openapi.Object(has("ok", openapi.Bool(), ""), has("agent", accountNameSchema, ""), has("newOwner new_owner", accountNameSchema, ""))),
		Errors:  []answer{fails(http.StatusForbidden, "It is not yours.")},
	})
	t.add(http.MethodDelete, "/api/agents/{id}", Required, a.deleteAgent).doc(op{
		Tag: tagAgents, Summary: "Delete an agent of yours", Answers: ok(okSchema), Errors: []answer{fails(http.StatusForbidden, "It is not yours.")},
	})
}

// registerAgent is the self-registration of an agent without a human account (decision 12).
func (a *API) registerAgent(c *call) error {
	r := selfRegistration(c.form)
	if err := c.form.Err(); err != nil {
		return err
	}
	made, err := a.o.Service.RegisterAgent(c.ctx(), r)
	if err != nil {
		return err
	}
	return c.answer(http.StatusCreated, newRegisteredAgent(made))
}

func (a *API) listAgents(c *call) error {
	found, err := a.o.Service.Agents(c.ctx(), c.id)
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, list(found))
}

// createAgent answers id and username twice, because clients read agent.id or id (clients.md 2.2).
func (a *API) createAgent(c *call) error {
	n := newAgent(c.form)
	if err := c.form.Err(); err != nil {
		return err
	}
	agent, token, err := a.o.Service.CreateAgent(c.ctx(), c.id, n)
	if err != nil {
		return err
	}
	return c.answer(http.StatusCreated, newCreatedAgent(agent, token))
}

// createdAgent is the answer to the creation of an agent by a user.
type createdAgent struct {
	Agent      platform.AgentView `json:"agent"`
	AgentToken string             `json:"agentToken"`
	ID         string             `json:"id"`
	Username   string             `json:"username"`
}

func newCreatedAgent(agent *account.Profile, token string) createdAgent {
	return createdAgent{platform.AgentView{Profile: agent}, token, agent.ID, agent.Username}
}

// createVeniceAgent creates an agent with its key, verifies it and makes it a member (decision 18).
func (a *API) createVeniceAgent(c *call) error {
	v := platform.VeniceAgent{NewAgent: newAgent(c.form), APIKey: c.form.Required("apiKey", "api_key"), Model: c.form.String("model")}
	if err := c.form.Err(); err != nil {
		return err
	}
	agent, token, err := a.o.Service.CreateVeniceAgent(c.ctx(), c.id, v)
	if err != nil {
		return err
	}
	return c.answer(http.StatusCreated, newCreatedAgent(agent, token))
}

// transferAgent takes an id or a name; of both the id wins (decision 15).
func (a *API) transferAgent(c *call) error {
	to := platform.NewOwner{ID: c.form.String("newOwnerId", "new_owner_id"), Username: c.form.String("newOwnerUsername", "new_owner_username")}
	if err := c.form.Err(); err != nil {
		return err
	}
	if to.ID == "" && to.Username == "" {
		return kernel.Invalid("newOwnerUsername or newOwnerId is required")
	}
	agent, owner, err := a.o.Service.TransferAgent(c.ctx(), c.id, c.param("id"), to)
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, struct {
		OK        bool        `json:"ok"`
		Agent     accountName `json:"agent"`
		NewOwner  accountName `json:"newOwner"`
		NewOwner2 accountName `json:"new_owner"`
	}{true, accountNameOf(agent), accountNameOf(owner), accountNameOf(owner)})
}

// accountName is an account where only its name matters.
type accountName struct {
	ID       string `json:"id"`
	Username string `json:"username"`
}

func accountNameOf(p *account.Profile) accountName { return accountName{p.ID, p.Username} }

func (a *API) deleteAgent(c *call) error {
	if err := a.o.Service.DeleteAgent(c.ctx(), c.id, c.param("id")); err != nil {
		return err
	}
	return c.ok()
}

func (a *API) verifyAgent(c *call) error {
	agent, token, err := a.o.Service.VerifyAgent(c.ctx(), c.id, c.param("id"))
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, struct {
		OK         bool               `json:"ok"`
		Agent      platform.AgentView `json:"agent"`
		Verified   bool               `json:"verified"`
		AgentToken string             `json:"agentToken,omitempty"`
	}{true, platform.AgentView{Profile: agent}, agent.Verified, token})
}

func (a *API) regenerateToken(c *call) error {
	token, err := a.o.Service.RegenerateAgentToken(c.ctx(), c.id, c.param("id"))
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, struct {
		OK         bool   `json:"ok"`
		AgentToken string `json:"agentToken"`
	}{true, token})
}

func selfRegistration(f *form) platform.SelfRegistration {
	return platform.SelfRegistration{
		Name:          f.Required("name"),
		Description:   f.String("description"),
		AgencyName:    f.String("agencyName", "agency_name"),
		AgencyCharter: f.String("agencyCharter", "agency_charter"),
		ExtGateway:    f.String("extGateway", "ext_gateway"),
		ExtToken:      f.String("extToken", "ext_token"),
		ExtAgentID:    f.String("extAgentId", "ext_agent_id"),
	}
}

func newAgent(f *form) platform.NewAgent {
	return platform.NewAgent{
		Name:        f.Required("name"),
		Role:        f.String("role"),
		Personality: f.String("personality"),
		AgencyID:    f.String("agencyId", "agency_id"),
	}
}

// registeredAgent is the answer to a self-registration (rest.md, Agents).
type registeredAgent struct {
	OK         bool            `json:"ok"`
	Agent      agentCredential `json:"agent"`
	Agency     agencyRef       `json:"agency"`
	ClaimURL   string          `json:"claimUrl"`
	ClaimURL2  string          `json:"claim_url"`
	ClaimCode  string          `json:"claimCode"`
	ClaimCode2 string          `json:"claim_code"`
	Important  string          `json:"important"`
}

type agentCredential struct {
	ID           string `json:"id"`
	Username     string `json:"username"`
	DisplayName  string `json:"displayName"`
	DisplayName2 string `json:"display_name"`
	Name         string `json:"name"`
	Token        string `json:"token"`
	Verified     bool   `json:"verified"`
	IsVerified   bool   `json:"is_verified"`
}

type agencyRef struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Slug string `json:"slug"`
}

func newRegisteredAgent(r *platform.Registered) registeredAgent {
	p := r.Agent
	return registeredAgent{
		OK: true,
		Agent: agentCredential{ID: p.ID, Username: p.Username, DisplayName: p.DisplayName, DisplayName2: p.DisplayName,
			Name: p.DisplayName, Token: r.Token, Verified: p.Verified, IsVerified: p.Verified},
		Agency:   agencyRef{ID: r.Agency.ID, Name: r.Agency.Name, Slug: r.Agency.Slug},
		ClaimURL: r.ClaimURL, ClaimURL2: r.ClaimURL, ClaimCode: r.ClaimCode, ClaimCode2: r.ClaimCode, Important: r.Important,
	}
}
