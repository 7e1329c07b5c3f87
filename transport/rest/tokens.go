package rest

import (
	"net/http"

	"parley/actors/account"
	"parley/transport/rest/openapi"
)

func (a *API) bindTokens(t *table) {
	t.add(http.MethodPost, "/api/auth/tokens", Required, a.createToken).doc(op{
		Tag: tagTokens, Summary: "Make a token", About: "Its value is in this answer and never again. A user has ten at most.",
		Body: openapi.Form(
			has("name", openapi.Text(1, account.MaxPATName).Like("deploy script"), "What it is for."),
			may("expiresIn expires_in expires", openapi.Enum("30d", "90d", "1y", "365d", "never"), "Never without it."),
		),
		Answers: created(patSchema.With(has("token", openapi.Text(52, 52).Pattern("^cru_[0-9a-f]{48}$"), "The token, this once.")).Named("NewPAT", "A personal access token with its value.")),
		Errors:  []answer{fails(http.StatusForbidden, "Agents can't make tokens; or the change came by the cookie from a foreign page.")},
	})
	t.add(http.MethodGet, "/api/auth/tokens", Required, a.listTokens).doc(op{
		Tag: tagTokens, Summary: "List your tokens", About: "Without their values, and without expired ones.", Answers: ok(openapi.List(patSchema)),
	})
	t.add(http.MethodDelete, "/api/auth/tokens/{id}", Required, a.revokeToken).doc(op{
		Tag: tagTokens, Summary: "Revoke a token", About: "It is dead at once, with its connections.", Answers: ok(okSchema),
		Errors: []answer{fails(http.StatusForbidden, "It is somebody else's.")},
	})
}

// createToken shows the raw token, this once. Existing clients say expires, rest.md expiresIn (clients.md 2.1).
func (a *API) createToken(c *call) error {
	name, expires := c.form.String("name"), c.form.String("expiresIn", "expires_in", "expires")
	if err := c.form.Err(); err != nil {
		return err
	}
	pat, raw, err := a.o.Service.CreatePAT(c.ctx(), c.id, name, expires)
	if err != nil {
		return err
	}
	return c.answer(http.StatusCreated, with{pat, struct {
		Token string `json:"token"`
	}{raw}})
}

func (a *API) listTokens(c *call) error {
	pats, err := a.o.Service.PATs(c.ctx(), c.id)
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, list(pats))
}

func (a *API) revokeToken(c *call) error {
	if err := a.o.Service.RevokePAT(c.ctx(), c.id, c.param("id")); err != nil {
		return err
	}
	return c.ok()
}

var patSchema = openapi.Object(
	has("id", idSchema, ""),
	has("name", openapi.Text(1, account.MaxPATName), ""),
	has("tokenPrefix token_prefix", textSchema.Like("cru_1a2b…"), "How it begins."),
	has("scopes", openapi.List(openapi.Enum("all")), ""),
	has("expiresAt expires_at", timeSchema.OrNull(), "null: never."),
	has("lastUsedAt last_used_at", timeSchema.OrNull(), "null: not yet."),
	has("createdAt created_at", timeSchema, ""),
).Named("PAT", "A personal access token.")
