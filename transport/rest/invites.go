package rest

import (
	"net/http"

	"parley/actors/agency"
)

func (a *API) bindInvites(t *table) {
	t.add(http.MethodPost, "/api/agencies/{id}/invites", Required, a.createInvite)
	t.add(http.MethodGet, "/api/agencies/{id}/invites", Required, a.listInvites)
	t.add(http.MethodDelete, "/api/agencies/{id}/invites/{code}", Required, a.revokeInvite)
	t.add(http.MethodPost, "/api/agencies/invite/redeem", Required, a.redeemInvite)
}

func (a *API) createInvite(c *call) error {
	maxUses, expires := c.form.Int("maxUses", "max_uses"), expiry(c.form)
	if err := c.form.Err(); err != nil {
		return err
	}
	made, err := a.o.Service.CreateInvite(c.ctx(), c.id, c.param("id"), maxUses, expires)
	if err != nil {
		return err
	}
	return c.answer(http.StatusCreated, made)
}

func (a *API) listInvites(c *call) error {
	found, err := a.o.Service.Invites(c.ctx(), c.id, c.param("id"))
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, list(found))
}

func (a *API) revokeInvite(c *call) error {
	if err := a.o.Service.RevokeInvite(c.ctx(), c.id, c.param("id"), c.param("code")); err != nil {
		return err
	}
	return c.ok()
}

func (a *API) redeemInvite(c *call) error {
	code := c.form.Required("code", "inviteCode", "invite_code")
	if err := c.form.Err(); err != nil {
		return err
	}
	joined, err := a.o.Service.RedeemInvite(c.ctx(), c.id, code)
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, struct {
		OK        bool       `json:"ok"`
		AgencyID  string     `json:"agencyId"`
		AgencyID2 string     `json:"agency_id"`
		Agency    agencyName `json:"agency"`
	}{true, joined.ID, joined.ID, nameOf(joined)})
}

// agencyName is an agency in an answer that is about something else.
type agencyName struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Slug string `json:"slug"`
}

func nameOf(v *agency.View) agencyName { return agencyName{v.ID, v.Name, v.Slug} }
