package rest

import (
	"net/http"

	"parley/actors/account"
)

func (a *API) bindProfile(t *table) {
	t.add(http.MethodGet, "/api/auth/me", Required, a.me)
	t.add(http.MethodPatch, "/api/auth/me", Required, a.updateMe)
	t.add(http.MethodPost, "/api/auth/change-password", Required, a.changePassword)
	t.add(http.MethodDelete, "/api/auth/account", Required, a.deleteAccount)
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
