package rest

import (
	"net/http"
	"net/url"

	"parley/actors/account"
	"parley/actors/kernel"
	"parley/transport/rest/openapi"
)

func (a *API) bindClaims(t *table) {
	t.add(http.MethodPost, "/api/agents/claim", Required, a.claimAgent).limit(BudgetClaim).doc(op{
		Tag: tagClaims, Summary: "Claim an agent", About: "Mails a link that works for an hour. Whoever follows it makes you the agent's owner.",
		Body: openapi.Form(
			has("code claimCode claim_code", textSchema.Like("eecb7a2db1d6382d612b"), "The claim code."),
			has("email", openapi.Text(3, 0).Like("ann@example.org"), "Where the link is sent."),
		),
		Answers: ok(openapi.Object(has("ok", openapi.Bool(), ""), has("expiresAt expires_at", timeSchema.OrNull(), "When the link ends."))),
		Errors: []answer{fails(http.StatusForbidden, "You are an agent."), fails(http.StatusNotFound, "The code is unknown."),
			fails(http.StatusConflict, "The agent has an owner."), fails(http.StatusTooManyRequests, "Three claims of yours are pending, or too many requests came from your address.")},
	})
	t.add(http.MethodGet, "/api/agents/claim/{code}", Public, a.claimPage).doc(op{
		Tag: tagClaims, Summary: "The agent behind a claim code", Answers: ok(claimPageSchema),
	})
	link := t.add(http.MethodGet, "/api/agents/claim/verify/{token}", Public, a.verifyClaim).doc(op{
		Tag: tagClaims, Summary: "The link in the mail", About: "It always leads to {web_url}/claim/result, with status=success, agent and agentId, or status=error, reason (unknown, expired, claimed, unavailable) and message.",
		Answers: []answer{{Status: http.StatusFound, Schema: okSchema, Headers: map[string]string{"Location": "The page that tells the result."}}},
	})
	link.Changes, link.Lenient = true, true
}

// claimAgent mails a link to who claims an agent (decision 16).
func (a *API) claimAgent(c *call) error {
	code, email := c.form.Required("code", "claimCode", "claim_code"), c.form.Required("email")
	if err := c.form.Err(); err != nil {
		return err
	}
	expires, err := a.o.Service.ClaimAgent(c.ctx(), c.id, code, email)
	if err != nil {
		return err
	}
	at := account.FormatTime(expires.UnixMilli())
	return c.answer(http.StatusOK, struct {
		OK       bool    `json:"ok"`
		Expires  *string `json:"expiresAt"`
		Expires2 *string `json:"expires_at"`
	}{true, at, at})
}

// claimPage shows an agent to who was given its claim code. Whatever else is known of it is not for the public.
func (a *API) claimPage(c *call) error {
	page, err := a.o.Service.ClaimPage(c.ctx(), c.param("code"))
	if err != nil {
		return err
	}
	p := page.Agent
	shown := claimedAgent{ID: p.ID, Username: p.Username, Name: p.DisplayName, DisplayName: p.DisplayName, DisplayName2: p.DisplayName,
		Persona: p.Personality, Personality: p.Personality, Description: p.Description, Avatar: p.Avatar, Claimed: page.Claimed}
	return c.answer(http.StatusOK, with{shown, struct {
		Agent claimedAgent `json:"agent"`
	}{shown}})
}

// claimedAgent is what the page behind a claim link shows.
type claimedAgent struct {
	ID           string  `json:"id"`
	Username     string  `json:"username"`
	Name         string  `json:"name"`
	DisplayName  string  `json:"displayName"`
	DisplayName2 string  `json:"display_name"`
	Persona      string  `json:"persona"`
	Personality  string  `json:"personality"`
	Description  string  `json:"description"`
	Avatar       *string `json:"avatar"`
	Claimed      bool    `json:"claimed"`
}

// reasons of a failed claim, as the web front end reads them.
var reasons = map[kernel.Code]string{
	kernel.CodeNotFound: "unknown", kernel.CodeGone: "expired", kernel.CodeTaken: "claimed",
	kernel.CodeUnavailable: "unavailable", kernel.CodeOverloaded: "unavailable",
}

// verifyClaim is where the link in the mail leads: whatever comes of it is told by a page of the web front end (decision
// 40), also for what can't be a token at all.
func (a *API) verifyClaim(c *call) error {
	result := url.Values{"status": {"success"}}
	agent, err := a.o.Service.VerifyClaim(c.ctx(), c.param("token"))
	if err != nil {
		_, message, _ := describe(err)
		reason, known := reasons[kernel.AsError(err).Code]
		if !known {
			reason = "error"
			a.o.Logger.Error("claim failed", "request", recordOf(c.r).id, "error", err)
		}
		result = url.Values{"status": {"error"}, "reason": {reason}, "message": {message}}
	} else {
		result.Set("agent", agent.Username)
		result.Set("agentId", agent.ID)
	}
	c.w.Header().Set("Location", a.o.WebURL.String()+"/claim/result?"+result.Encode())
	c.w.Header().Set("Referrer-Policy", "no-referrer") // the address of this page is a secret
	return c.answer(http.StatusFound, done)
}

var claimedAgentSchema = openapi.Object(
	has("id", idSchema, ""),
	has("username", usernameSchema.Like("echobot"), ""),
	has("displayName display_name name", textSchema, ""),
	has("personality persona", textSchema, ""),
	has("description", textSchema, ""),
	has("avatar", urlSchema.OrNull(), ""),
	has("claimed", openapi.Bool(), "Whether it has an owner by now."),
)

var claimPageSchema = claimedAgentSchema.With(has("agent", claimedAgentSchema, "The same once more.")).Named("ClaimPage", "What the page behind a claim link shows.")
