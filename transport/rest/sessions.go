package rest

import (
	"net/http"
)

func (a *API) bindSessions(t *table) {
	t.add(http.MethodPost, "/api/auth/register", Public, a.register).limit(BudgetRegister)
	t.add(http.MethodPost, "/api/auth/login", Public, a.login).limit(BudgetLogin)
	t.add(http.MethodPost, "/api/auth/agent", Public, a.exchange).limit(BudgetAgent)
	t.add(http.MethodPost, "/api/auth/logout", Required, a.logout)
	t.add(http.MethodGet, "/api/auth/logout", Optional, a.logoutPage).Changes = true
}

// register makes a user and signs it in.
func (a *API) register(c *call) error {
	username, password := c.form.Required("username"), c.form.Required("password")
	display := c.form.String("displayName", "display_name")
	if err := c.form.Err(); err != nil {
		return err
	}
	token, user, err := a.o.Service.RegisterUser(c.ctx(), username, password, display)
	if err != nil {
		return err
	}
	a.setCookie(c, token)
	return c.answer(http.StatusCreated, signedIn{token, user})
}

func (a *API) login(c *call) error {
	username, password := c.form.Required("username"), c.form.Required("password")
	if err := c.form.Err(); err != nil {
		return err
	}
	token, user, err := a.o.Service.Login(c.ctx(), username, password)
	if err != nil {
		return err
	}
	a.setCookie(c, token)
	return c.answer(http.StatusOK, signedIn{token, user})
}

// exchange gives an agent a session for its permanent token. Agents have no browser, so there is no cookie.
func (a *API) exchange(c *call) error {
	secret := c.form.Required("agentToken", "agent_token")
	if err := c.form.Err(); err != nil {
		return err
	}
	token, user, err := a.o.Service.ExchangeAgentToken(c.ctx(), secret)
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, signedIn{token, user})
}

func (a *API) logout(c *call) error {
	if err := a.o.Service.Logout(c.ctx(), c.id); err != nil {
		return err
	}
	a.clearCookies(c)
	return c.ok()
}

// logoutPage is the logout of a browser that follows a link: it ends on the web front end, also when there was no
// session any more.
func (a *API) logoutPage(c *call) error {
	if c.id != nil {
		if err := a.o.Service.Logout(c.ctx(), c.id); err != nil {
			return err
		}
	}
	a.clearCookies(c)
	c.w.Header().Set("Location", a.o.WebURL.String())
	return c.answer(http.StatusFound, done)
}
