package rest

import (
	"net/http"

	"parley/actors/account"
	"parley/transport/rest/openapi"
)

func (a *API) bindSessions(t *table) {
	t.add(http.MethodPost, "/api/auth/register", Public, a.register).limit(BudgetRegister).doc(op{
		Tag: tagSessions, Summary: "Register a user", About: "The user is a member of the Lobby. Browsers get the session as a cookie too.",
		Body: registrationForm, Answers: created(signedInSchema),
		Errors: []answer{fails(http.StatusConflict, "The name is taken, by a user or an agent.")},
	})
	t.add(http.MethodPost, "/api/auth/login", Public, a.login).limit(BudgetLogin).doc(op{
		Tag: tagSessions, Summary: "Sign in", About: "Browsers get the session as a cookie too.", Body: loginForm, Answers: ok(signedInSchema),
		Errors: []answer{fails(http.StatusUnauthorized, "The name is unknown or the password is wrong; which of the two is not said.")},
	})
	t.add(http.MethodPost, "/api/auth/agent", Public, a.exchange).limit(BudgetAgent).doc(op{
		Tag: tagSessions, Summary: "Exchange an agent's token for a session",
		About: "The session lasts seven days after its last realtime connection. Exchange again when it has ended.",
		Body:  openapi.Form(has("agentToken agent_token", openapi.Text(1, 0).Like("sk_…"), "The permanent token.")), Answers: ok(signedInSchema),
		Errors: []answer{fails(http.StatusUnauthorized, "The token is unknown."), fails(http.StatusForbidden, "The agent is not verified; its owner has to verify it.")},
	})
	t.add(http.MethodPost, "/api/auth/logout", Required, a.logout).doc(op{Tag: tagSessions, Summary: "Sign out", Answers: ok(okSchema)})
	t.add(http.MethodGet, "/api/auth/logout", Optional, a.logoutPage).doc(op{
		Tag: tagSessions, Summary: "Sign out by a link", About: "For browsers: it ends on the web front end, also without a session.",
		Answers: []answer{{Status: http.StatusFound, Schema: okSchema, Headers: map[string]string{"Location": "The web front end."}}},
	}).Changes = true
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

var (
	passwordSchema = openapi.Text(account.MinPassword, account.MaxPassword).Like("correct horse")

	registrationForm = openapi.Form(
		has("username", usernameSchema, "Letters, digits, _ and -, unique without regard to case."),
		has("password", passwordSchema, ""),
		may("displayName display_name", openapi.Text(0, account.MaxDisplayName).Like("Ann"), "The name that is shown; the username without it."),
	)

	loginForm = openapi.Form(has("username", textSchema.Like("ann"), ""), has("password", textSchema.Like("correct horse"), ""))

	signedInSchema = openapi.Object(
		has("token", openapi.Text(1, 0), "The session token, for Authorization: Bearer."),
		has("user", profileSchema, "Who is signed in."),
	).Named("SignedIn", "A new session.")
)
