package rest

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/rs/cors"

	"parley/actors/kernel"
)

// preflightAge is how long a browser may remember the answer to a preflight, in seconds.
const preflightAge = 600

var errForeignOrigin = kernel.Forbidden("with the cookie alone, changes are accepted only from the service's own pages and the web front end's; use a bearer token")

// originOf renders scheme, host and port of an address as browsers do in Origin; empty if it is not an http address.
func originOf(u *url.URL) string {
	scheme, host := strings.ToLower(u.Scheme), strings.ToLower(u.Host)
	switch {
	case host == "":
		return ""
	case scheme == "https":
		host = strings.TrimSuffix(host, ":443")
	case scheme == "http":
		host = strings.TrimSuffix(host, ":80")
	default:
		return ""
	}
	return scheme + "://" + host
}

// own tells whether an Origin or Referer header is of the service's own pages or the web front end's.
func (a *API) own(header string) bool {
	u, err := url.Parse(header)
	return err == nil && a.origins[originOf(u)]
}

// checkOrigin refuses changes that a foreign page makes by the cookie alone (decisions 6, 45): Origin must be ours, else
// Referer; without both it is refused.
func (a *API) checkOrigin(c *call, route Route) error {
	if !c.byCookie || (route.Method == http.MethodGet && !route.Changes) {
		return nil
	}
	from := c.r.Header.Get("Origin")
	if from == "" {
		from = c.r.Header.Get("Referer")
	}
	if a.own(from) {
		return nil
	}
	if route.Method == http.MethodGet { // a navigation has no Origin, and Referer may be held back
		switch c.r.Header.Get("Sec-Fetch-Site") {
		case "same-origin", "same-site", "none":
			return nil
		}
	}
	return errForeignOrigin
}

// crossOrigin says to browsers which pages may read answers: own pages with the cookie, all others without.
func (a *API) crossOrigin(next http.Handler) http.Handler {
	o := cors.Options{
		AllowedMethods: []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete},
		AllowedHeaders: []string{"*"},
		ExposedHeaders: []string{"X-Request-Id", "Retry-After"},
		MaxAge:         preflightAge,
	}
	o.AllowedOrigins = []string{"*"}
	anybody := cors.New(o).Handler(next)
	o.AllowOriginFunc, o.AllowCredentials = a.own, true
	own := cors.New(o).Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if a.own(r.Header.Get("Origin")) {
			own.ServeHTTP(w, r)
			return
		}
		anybody.ServeHTTP(w, r)
	})
}
