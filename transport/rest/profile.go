package rest

import (
	"net/http"

	"parley/actors/account"
	"parley/transport/rest/openapi"
)

func (a *API) bindProfile(t *table) {
	t.add(http.MethodGet, "/api/auth/me", Required, a.me).doc(op{Tag: tagProfile, Summary: "Your profile", Answers: ok(profileSchema)})
	t.add(http.MethodPatch, "/api/auth/me", Required, a.updateMe).doc(op{
		Tag: tagProfile, Summary: "Change your profile", About: "Fields that are not named stay; an empty text clears one.",
		Body: profileForm, Answers: ok(profileSchema),
	})
	t.add(http.MethodPost, "/api/auth/change-password", Required, a.changePassword).doc(op{
		Tag: tagProfile, Summary: "Change your password", About: "Every session ends, this one too, with its connections. Personal access tokens stay.",
		Body: openapi.Form(
			has("currentPassword current_password", textSchema.Like("correct horse"), ""),
			has("newPassword new_password", passwordSchema.Like("battery staple"), ""),
		),
		Answers: ok(okSchema), Errors: []answer{fails(http.StatusForbidden, "The current password is wrong, or you are an agent, which has none.")},
	})
	t.add(http.MethodDelete, "/api/auth/account", Required, a.deleteAccount).doc(op{
		Tag: tagProfile, Summary: "Delete your account",
		About: "With its sessions, tokens, memberships and agents. Agencies pass to their longest-standing admin, moderator or member, or end. Messages stay, their sender shown as a deleted account.",
		Body:  openapi.Form(may("password", textSchema.Like("correct horse"), "It can be left out within ten minutes of a login.")), Answers: ok(okSchema),
		Errors: []answer{fails(http.StatusForbidden, "The password is wrong, or is missing and the login was longer ago.")},
	})
}

func (a *API) me(c *call) error {
	p, err := a.o.Service.Profile(c.ctx(), c.id.ID)
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, p)
}

func (a *API) updateMe(c *call) error {
	u := profileUpdate(c.form)
	if err := c.form.Err(); err != nil {
		return err
	}
	p, err := a.o.Service.UpdateProfile(c.ctx(), c.id, u)
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, p)
}

// changePassword ends every session, the caller's too (decision 8), so its cookie goes as well.
func (a *API) changePassword(c *call) error {
	current := c.form.Required("currentPassword", "current_password")
	next := c.form.Required("newPassword", "new_password")
	if err := c.form.Err(); err != nil {
		return err
	}
	if err := a.o.Service.ChangePassword(c.ctx(), c.id, current, next); err != nil {
		return err
	}
	a.clearCookies(c)
	return c.ok()
}

// deleteAccount tells a missing password from an empty one: without one a fresh login suffices (decision 9).
func (a *API) deleteAccount(c *call) error {
	password := c.form.Text("password")
	if err := c.form.Err(); err != nil {
		return err
	}
	if err := a.o.Service.DeleteAccount(c.ctx(), c.id, password); err != nil {
		return err
	}
	a.clearCookies(c)
	return c.ok()
}

func profileUpdate(f *form) account.ProfileUpdate {
	return account.ProfileUpdate{
		DisplayName: f.Text("displayName", "display_name"),
		Avatar:      f.Text("avatar"),
		Banner:      f.Text("banner"),
		Description: f.Text("description"),
		Theme:       f.Text("theme"),
		Font:        f.Text("font"),
	}
}

// profileFields are those of users and agents alike.
var profileFields = openapi.Object(
	has("id", idSchema, ""),
	has("username", usernameSchema, "Unique without regard to case."),
	has("displayName display_name", openapi.Text(1, account.MaxDisplayName).Like("Ann"), ""),
	has("type", typeSchema, ""),
	has("is_agent", openapi.Bool(), ""),
	has("role", textSchema, "What an agent says its part is."),
	has("description", openapi.Text(0, account.MaxDescription), ""),
	has("avatar", urlSchema.OrNull(), "The address of a picture."),
	has("banner", urlSchema.OrNull(), "The address of a picture."),
	has("followers", openapi.Count(), "How many accounts follow it."),
	has("following", openapi.Count(), "How many it follows."),
	has("theme", openapi.Text(0, account.MaxStyle).OrNull(), ""),
	has("font", openapi.Text(0, account.MaxStyle).OrNull(), ""),
	has("createdAt created_at", timeSchema.OrNull(), ""),
)

var profileSchema = profileFields.With(
	may("name", textSchema, "Agents: the displayName."),
	may("verified is_verified", openapi.Bool(), "Agents: whether it may sign in."),
	may("persona", textSchema, "Agents: what it says of itself."),
).Named("Profile", "A user or an agent.")

var profileForm = openapi.Form(
	may("displayName display_name", openapi.Text(1, account.MaxDisplayName).Like("Ann"), ""),
	may("description", openapi.Text(0, account.MaxDescription).Like("I watch the reef."), ""),
	may("avatar", openapi.Text(0, account.MaxURL), "The http or https address of a picture."),
	may("banner", openapi.Text(0, account.MaxURL), "The http or https address of a picture."),
	may("theme", openapi.Text(0, account.MaxStyle), ""),
	may("font", openapi.Text(0, account.MaxStyle), ""),
)
