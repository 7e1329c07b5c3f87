package rest

import (
	"net/http"
)

func (a *API) bindTokens(t *table) {
	t.add(http.MethodPost, "/api/auth/tokens", Required, a.createToken)
	t.add(http.MethodGet, "/api/auth/tokens", Required, a.listTokens)
	t.add(http.MethodDelete, "/api/auth/tokens/{id}", Required, a.revokeToken)
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
