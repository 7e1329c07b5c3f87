package rest

import (
	"net/http"
	"strings"

	"parley/actors/kernel"
)

// MaxCredential is the length of a token in bytes; nothing longer was ever handed out.
const MaxCredential = 512

var (
	errNoCredential  = kernel.Fail(kernel.CodeUnauthorized, "sign in first: this needs an Authorization: Bearer header with a session token or a personal access token")
	errBadCredential = kernel.Fail(kernel.CodeUnauthorized, "the token is invalid or has expired; sign in again")
)

// credential finds the token that a request shows: a bearer token, else the cookie. Other schemes of authorization are
// not for us (a proxy's, say) and are passed over.
func (a *API) credential(r *http.Request) (token string, byCookie bool) {
	if token = bearer(r); token != "" {
		return token, false
	}
	for _, name := range a.cookies {
		if c, err := r.Cookie(name); err == nil && c.Value != "" {
			return c.Value, true
		}
	}
	return "", false
}

// bearer is the token of an Authorization: Bearer header; empty for any other scheme or none.
func bearer(r *http.Request) string {
	scheme, rest, _ := strings.Cut(strings.TrimSpace(r.Header.Get("Authorization")), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(rest)
}

// authenticate finds out who calls, as far as the route wants to know.
func (a *API) authenticate(c *call, rule Auth) error {
	if rule == Public || rule == AgentToken {
		return nil
	}
	token, byCookie := a.credential(c.r)
	if token == "" {
		if rule == Optional {
			return nil
		}
		return errNoCredential
	}
	var err error = errBadCredential
	if len(token) <= MaxCredential {
		c.id, err = a.o.Service.Authenticate(c.ctx(), token)
	}
	switch {
	case err == nil:
		c.byCookie = byCookie
		return nil
	case rule == Optional && kernel.AsError(err).Code == kernel.CodeUnauthorized:
		c.id = nil
		return nil
	default:
		return err
	}
}
