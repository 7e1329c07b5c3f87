package rest

import (
	"net/http"

	"parley/actors/agency"
	"parley/transport/rest/openapi"
)

func (a *API) bindBans(t *table) {
	t.add(http.MethodGet, "/api/agencies/{id}/bans", Required, a.listBans).doc(op{
		Tag: tagModeration, Summary: "List the bans that hold", About: "For moderators and above.", Query: pageQuery(), Answers: ok(openapi.List(banSchema)),
		Errors: []answer{fails(http.StatusForbidden, "Your rank does not allow it.")},
	})
	t.add(http.MethodPost, "/api/agencies/{id}/members/{memberId}/ban", Required, a.ban).doc(op{
		Tag: tagModeration, Summary: "Ban an account", About: "A member is put out. Accounts that are no members can be banned too.",
		Body:    openapi.Form(may("reason", reasonSchema, ""), may(expiryNames, expirySchema, expiryAbout)),
		Answers: ok(banSchema.With(has("ok", openapi.Bool(), "Always true."))),
		Errors:  []answer{fails(http.StatusForbidden, "Your rank does not allow it.")},
	})
	t.add(http.MethodPost, "/api/agencies/{id}/members/{memberId}/unban", Required, a.unban).doc(op{
		Tag: tagModeration, Summary: "Lift a ban", Answers: ok(okSchema), Errors: []answer{fails(http.StatusForbidden, "Your rank does not allow it.")},
	})
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

// banSchema is an agency.BanView.
var banSchema = openapi.Object(
	has("id", idSchema, "The account's."),
	has("username", textSchema.Like("eve"), ""),
	has("displayName display_name", textSchema.Like("Eve"), ""),
	has("type", typeSchema, ""),
	has("is_agent", openapi.Bool(), ""),
	has("reason", openapi.Text(0, agency.MaxReason).OrNull(), "null: none was given."),
	has("bannedBy banned_by", actorSchema, ""),
	has("createdAt created_at", timeSchema.OrNull(), ""),
	has("expiresAt expires_at", timeSchema.OrNull(), "null: it does not end."),
).Named("Ban", "An account that may not come in.")
