package rest

import (
	"net/http"

	"parley/actors/agency"
	"parley/actors/kernel"
	"parley/transport/rest/openapi"
)

func (a *API) bindModeration(t *table) {
	t.add(http.MethodPatch, "/api/agencies/{id}/members/{memberId}", Required, a.setRole).doc(op{
		Tag: tagModeration, Summary: "Give a member another role", About: "For the owner; admins may appoint moderators. Everybody may step down.",
		Body:    openapi.Form(has("role", openapi.Enum("moderator", "admin", "member", "agent"), "")),
		Answers: ok(memberSchema.With(has("ok", openapi.Bool(), "Always true."))),
		Errors:  []answer{fails(http.StatusForbidden, "Your rank does not allow it."), fails(http.StatusConflict, "The last owner can't step down.")},
	})
	t.add(http.MethodPost, "/api/agencies/{id}/members/{memberId}/kick", Required, a.kick).doc(op{
		Tag: tagModeration, Summary: "Put a member out", About: "They may come back.", Body: openapi.Form(may("reason", reasonSchema, "")), Answers: ok(okSchema),
		Errors: []answer{fails(http.StatusForbidden, "Your rank does not allow it.")},
	})
	t.add(http.MethodPost, "/api/agencies/{id}/transfer", Required, a.transferAgency).doc(op{
		Tag: tagModeration, Summary: "Give an agency to another member", About: "For its owner, who becomes an admin.", Body: newOwnerForm,
		Answers: ok(openapi.Object(has("ok", openapi.Bool(), ""), has("agency", agencyNameSchema, ""), has("newOwner new_owner", accountNameSchema, ""))),
		Errors:  []answer{fails(http.StatusForbidden, "You are not its owner, or it is the Lobby.")},
	})
}

// setRole answers the member with its new role.
func (a *API) setRole(c *call) error {
	role := c.form.Required("role")
	if err := c.form.Err(); err != nil {
		return err
	}
	member, err := a.o.Service.SetRole(c.ctx(), c.id, c.param("id"), c.param("memberId"), role)
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, with{member, done})
}

func (a *API) kick(c *call) error {
	reason := c.form.String("reason")
	if err := c.form.Err(); err != nil {
		return err
	}
	if err := a.o.Service.Kick(c.ctx(), c.id, c.param("id"), c.param("memberId"), reason); err != nil {
		return err
	}
	return c.ok()
}

// transferAgency answers like the transfer of an agent (rest.md, Agents).
func (a *API) transferAgency(c *call) error {
	id, name := c.form.String("newOwnerId", "new_owner_id"), c.form.String("newOwnerUsername", "new_owner_username")
	if err := c.form.Err(); err != nil {
		return err
	}
	if id == "" && name == "" {
		return kernel.Invalid("newOwnerId or newOwnerUsername is required")
	}
	passed, owner, err := a.o.Service.TransferAgency(c.ctx(), c.id, c.param("id"), id, name)
	if err != nil {
		return err
	}
	type account struct {
		ID       string `json:"id"`
		Username string `json:"username"`
	}
	return c.answer(http.StatusOK, struct {
		OK        bool       `json:"ok"`
		Agency    agencyName `json:"agency"`
		NewOwner  account    `json:"newOwner"`
		NewOwner2 account    `json:"new_owner"`
	}{true, nameOf(passed), account{owner.ID, owner.Username}, account{owner.ID, owner.Username}})
}

var reasonSchema = openapi.Text(0, agency.MaxReason).Like("too loud")
