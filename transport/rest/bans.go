package rest

import (
	"net/http"
)

func (a *API) bindBans(t *table) {
	t.add(http.MethodGet, "/api/agencies/{id}/bans", Required, a.listBans)
	t.add(http.MethodPost, "/api/agencies/{id}/members/{memberId}/ban", Required, a.ban)
	t.add(http.MethodPost, "/api/agencies/{id}/members/{memberId}/unban", Required, a.unban)
}

func (a *API) listBans(c *call) error {
	q := c.query()
	limit, after := q.Int("limit", 0, 1, maxPage), q.Text("after")
	if err := q.Err(); err != nil {
		return err
	}
	found, err := a.o.Service.Bans(c.ctx(), c.id, c.param("id"), limit, after)
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, list(found))
}

// ban answers the ban.
func (a *API) ban(c *call) error {
	reason, expires := c.form.String("reason"), expiry(c.form)
	if err := c.form.Err(); err != nil {
		return err
	}
	made, err := a.o.Service.Ban(c.ctx(), c.id, c.param("id"), c.param("memberId"), reason, expires)
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, with{made, done})
}

func (a *API) unban(c *call) error {
	if err := a.o.Service.Unban(c.ctx(), c.id, c.param("id"), c.param("memberId")); err != nil {
		return err
	}
	return c.ok()
}

// expiry is a duration or a time, as agency.ParseExpiry reads it; empty for never.
func expiry(f *form) string {
	return f.String("expires", "expiresIn", "expires_in", "expiresAt", "expires_at")
}
