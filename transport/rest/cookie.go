package rest

import (
	"net/http"
	"time"

	"parley/actors/account"
)

// sessionCookieFor is how long the cookie lasts: as long as a session (decision 6).
const sessionCookieFor = 7 * 24 * time.Hour

func (a *API) cookie(name, value string, maxAge int) *http.Cookie {
	return &http.Cookie{Name: name, Value: value, Path: "/", MaxAge: maxAge, HttpOnly: true,
		Secure: a.o.PublicURL.Scheme == "https", SameSite: http.SameSiteLaxMode}
}

// setCookie keeps a new session in the browser.
func (a *API) setCookie(c *call, token string) {
	http.SetCookie(c.w, a.cookie(a.cookies[0], token, int(sessionCookieFor/time.Second)))
}

// clearCookies makes the browser forget its session, by whatever accepted name it has it.
func (a *API) clearCookies(c *call) {
	for _, name := range a.cookies {
		http.SetCookie(c.w, a.cookie(name, "", -1))
	}
}

// signedIn is the answer to a registration, a login and an agent's exchange.
type signedIn struct {
	Token string           `json:"token"`
	User  *account.Profile `json:"user"`
}
