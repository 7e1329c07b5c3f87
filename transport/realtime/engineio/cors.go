package engineio

import "net/http"

const (
	// preflightAge is how long a browser may remember the answer to a preflight, in seconds.
	preflightAge = "600"
	// maxAskedHeaders is the longest list of headers in bytes that a preflight is granted.
	maxAskedHeaders = 1024
)

// crossOrigin says to browsers which pages may poll: trusted ones with credentials, all others without.
func (s *Server) crossOrigin(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Add("Vary", "Origin")
	origin := r.Header.Get("Origin")
	if origin != "" && s.o.OriginOK(r) {
		h.Set("Access-Control-Allow-Origin", origin)
		h.Set("Access-Control-Allow-Credentials", "true")
	} else {
		h.Set("Access-Control-Allow-Origin", "*")
	}
	if r.Method != http.MethodOptions {
		return
	}
	h.Set("Allow", "GET, POST, OPTIONS")
	h.Set("Access-Control-Allow-Methods", "GET, POST")
	asked := r.Header.Get("Access-Control-Request-Headers")
	if asked == "" || len(asked) > maxAskedHeaders {
		asked = "Content-Type"
	}
	h.Set("Access-Control-Allow-Headers", asked)
	h.Set("Access-Control-Max-Age", preflightAge)
	h.Add("Vary", "Access-Control-Request-Headers")
}
