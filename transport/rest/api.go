package rest

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
)

// API is the REST transport. It must be the server's handler itself: behind an http.ServeMux, addresses with double
// slashes would be redirected.
type API struct {
	o        Options
	cookies  []string // accepted names, the first one is set
	origins  map[string]bool
	realtime map[string]http.Handler
	scrapes  chan struct{} // a place for each request for metrics
	uploads  chan struct{} // a place for each file that is being uploaded
	served   chan struct{} // a place for each picture that is being sent

	transcripts chan struct{} // a place for each run that is being sent with its transcript

	showsSources bool                            // there is a route for hooks' sources
	pages        func() (map[string]page, error) // by path, made when the first is asked for

	inner http.Handler
}

var _ http.Handler = (*API)(nil)

// New makes the transport. It fails if a required option is missing or an option is malformed.
func New(o Options) (*API, error) {
	o, err := o.complete()
	if err != nil {
		return nil, err
	}
	a := &API{o: o, realtime: o.Realtime, scrapes: make(chan struct{}, maxScrapes), uploads: make(chan struct{}, maxUploads),
		served: make(chan struct{}, maxServed), transcripts: make(chan struct{}, maxTranscripts), origins: map[string]bool{originOf(o.PublicURL): true, originOf(o.WebURL): true}}
	for _, v := range o.Vendors {
		a.cookies = append(a.cookies, strings.ToLower(v)+"_token")
	}
	a.pages = sync.OnceValues(a.makePages)
	a.showsSources = slices.ContainsFunc(a.routes(), func(r Route) bool { return r.Method == http.MethodGet && r.Path == hookSources })
	a.inner = a.observe(a.crossOrigin(a.router()))
	return a, nil
}

// ServeHTTP implements http.Handler.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := collapse(r.URL.EscapedPath())
	if h := a.takesOver(path); h != nil {
		w.Header().Set("X-Request-Id", idOf(r))
		h.ServeHTTP(w, withPath(r, path))
		return
	}
	if len(path) > 1 {
		path = strings.TrimSuffix(path, "/")
	}
	a.inner.ServeHTTP(w, withPath(r, path))
}

// takesOver finds the realtime handler of a path, the one with the longest prefix.
func (a *API) takesOver(path string) http.Handler {
	var found http.Handler
	longest := 0
	for at, h := range a.realtime {
		bare := strings.TrimSuffix(at, "/")
		below := at != bare && strings.HasPrefix(path, at)
		if (below || strings.TrimSuffix(path, "/") == bare) && len(at) > longest {
			found, longest = h, len(at)
		}
	}
	return found
}

// collapse makes one slash of each run of slashes.
func collapse(path string) string {
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	if !strings.Contains(path, "//") {
		return path
	}
	var b strings.Builder
	b.Grow(len(path))
	for i := range len(path) {
		if path[i] != '/' || i == 0 || path[i-1] != '/' {
			b.WriteByte(path[i])
		}
	}
	return b.String()
}

// withPath returns the request with another escaped path.
func withPath(r *http.Request, escaped string) *http.Request {
	if escaped == r.URL.EscapedPath() {
		return r
	}
	plain, err := url.PathUnescape(escaped)
	if err != nil { // can't be: only slashes were taken out
		return r
	}
	u := *r.URL
	u.Path, u.RawPath = plain, escaped
	next := *r
	next.URL = &u
	return &next
}
