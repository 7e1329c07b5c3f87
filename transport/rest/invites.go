package rest

import (
	"net/http"

	"parley/actors/agency"
	"parley/transport/rest/openapi"
)

func (a *API) bindInvites(t *table) {
	t.add(http.MethodPost, "/api/agencies/{id}/invites", Required, a.createInvite).doc(op{
		Tag: tagInvites, Summary: "Make an invite", About: "For the owner and admins.",
		Body: openapi.Form(
			may("maxUses max_uses", openapi.Int(1, agency.MaxUses).Like(5), "How often it can be used; without a limit when it is left out."),
			may(expiryNames, expirySchema, expiryAbout),
		),
		Answers: created(inviteSchema), Errors: []answer{fails(http.StatusForbidden, "You are neither owner nor admin, or it is the Lobby."),
			fails(http.StatusConflict, "The agency has as many invites as one can have.")},
	})
	t.add(http.MethodGet, "/api/agencies/{id}/invites", Required, a.listInvites).doc(op{
		Tag: tagInvites, Summary: "List invites", About: "For the owner and admins. The newest first.", Answers: ok(openapi.List(inviteSchema)),
		Errors: []answer{fails(http.StatusForbidden, "You are neither owner nor admin, or it is the Lobby.")},
	})
	t.add(http.MethodDelete, "/api/agencies/{id}/invites/{code}", Required, a.revokeInvite).doc(op{
		Tag: tagInvites, Summary: "Revoke an invite", Answers: ok(okSchema),
		Errors: []answer{fails(http.StatusForbidden, "You are neither owner nor admin, or it is the Lobby.")},
	})
	t.add(http.MethodPost, "/api/agencies/invite/redeem", Required, a.redeemInvite).doc(op{
		Tag: tagInvites, Summary: "Become a member by an invite",
		Body:    openapi.Form(has("code inviteCode invite_code", textSchema.Like("x7Kq2mPz"), "")),
		Answers: ok(openapi.Object(has("ok", openapi.Bool(), ""), has("agencyId agency_id", idSchema, ""), has("agency", agencyNameSchema, ""))),
		Errors: []answer{fails(http.StatusForbidden, "You are banned; the sentence says why and until when."), fails(http.StatusNotFound, "The code is unknown or was revoked."),
			fails(http.StatusGone, "It has expired or is used up.")},
	})
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

// inviteSchema is an agency.InviteView.
var inviteSchema = openapi.Object(
	has("code inviteCode invite_code", openapi.Text(1, 0).Like("x7Kq2mPz"), ""),
	has("maxUses max_uses", openapi.Int(1, agency.MaxUses).OrNull(), "null: without a limit."),
	has("uses", openapi.Count(), "How often it was used."),
	has("expiresAt expires_at", timeSchema.OrNull(), "null: never."),
	has("createdAt created_at", timeSchema.OrNull(), ""),
	has("createdBy created_by", actorSchema, ""),
	has("active", openapi.Bool(), "Whether it still lets people in."),
).Named("Invite", "A code that lets people into an agency.")
