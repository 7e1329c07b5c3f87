package rest

import (
	"net/http"
	"net/url"

	"parley/actors/account"
	"parley/actors/kernel"
)

func (a *API) bindClaims(t *table) {
	t.add(http.MethodPost, "/api/agents/claim", Required, a.claimAgent).limit(BudgetClaim)
	t.add(http.MethodGet, "/api/agents/claim/{code}", Public, a.claimPage)
	link := t.add(http.MethodGet, "/api/agents/claim/verify/{token}", Public, a.verifyClaim)
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
