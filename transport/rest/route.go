package rest

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/gorilla/mux"

	"parley/transport/rest/openapi"
)

// Auth says who may call a route.
type Auth string

// Rules of routes. On Public and Optional ones a bad or stale credential counts as none (decision 3).
const (
	Public   Auth = "public"   // credentials are not looked at
	Optional Auth = "optional" // a good credential is used, a bad one ignored
	Required Auth = "required" // session or PAT

	// AgentToken routes take an agent's permanent token and nothing else; the handler looks at it.
	AgentToken Auth = "agent token"
)

// Route is one line of the table of endpoints.
type Route struct {
	Method  string
	Path    string // variable segments in braces
	Auth    Auth
	Budget  string             // the rate limit that a request spends; empty for none
	Changes bool               // a GET that changes state: no HEAD, and the cookie alone needs an own page
	Static  bool               // it answers from memory what is the same for everybody
	Doc     *openapi.Operation // what it is; nil fails a test
	Lenient bool               // a variable segment that can't be an id is handed on as empty, instead of a 404

	body   func(*call) error // reads the body of a request that may have one; nil: JSON, see readJSON
	handle func(*call) error
}

// table gathers the routes of all resources.
type table struct{ routes []Route }

func (t *table) add(method, path string, auth Auth, handle func(*call) error) *Route {
	t.routes = append(t.routes, Route{Method: method, Path: path, Auth: auth, handle: handle})
	return &t.routes[len(t.routes)-1]
}

func (r *Route) limit(budget string) *Route {
	r.Budget = budget
	return r
}

// takes is for routes whose body is not JSON.
func (r *Route) takes(body func(*call) error) *Route {
	r.body = body
	return r
}

// timeout bounds the work behind a request.
func (r *Route) timeout() time.Duration {
	if r.body != nil {
		return UploadTimeout
	}
	return RequestTimeout
}

// Routes lists every endpoint, for the documentation and for tests.
func Routes() []Route { return new(API).routes() }

func (a *API) routes() []Route {
	var t table
	a.bindStart(&t)
	a.bindHealth(&t)
	a.bindMetrics(&t)
	a.bindSessions(&t)
	a.bindProfile(&t)
	a.bindUsers(&t)
	a.bindFollows(&t)
	a.bindUploads(&t)
	a.bindTokens(&t)
	a.bindAgents(&t)
	a.bindAgentConfig(&t)
	a.bindAgentMembers(&t)
	a.bindClaims(&t)
	a.bindAgencies(&t)
	a.bindMembers(&t)
	a.bindModeration(&t)
	a.bindBans(&t)
	a.bindInvites(&t)
	a.bindMessages(&t)
	a.bindCommands(&t)
	a.bindWallets(&t)
	a.bindBootstrap(&t)
	a.bindSkills(&t)
	a.bindReactions(&t)
	a.bindDMs(&t)
	a.bindExplore(&t)
	a.bindRuns(&t)
	return t.routes
}

// router puts the table behind mux: a mux route for each path, and the methods below it, so that a wrong method can be
// told which ones there are.
func (a *API) router() http.Handler {
	m := mux.NewRouter().SkipClean(true).UseEncodedPath()
	m.NotFoundHandler = http.HandlerFunc(a.notFound)
	paths := map[string]endpoint{}
	for _, r := range a.routes() {
		if paths[r.Path] == nil {
			paths[r.Path] = endpoint{}
		}
		paths[r.Path][r.Method] = r
	}
	for _, g := range groups(paths) {
		sub := m.NewRoute().Subrouter()
		if g.prefix != "" {
			sub = m.PathPrefix(g.prefix).Subrouter()
		}
		for _, p := range g.paths {
			sub.Handle(strings.TrimPrefix(p, g.prefix), a.serve(p, paths[p]))
		}
	}
	return m
}

// group is paths that begin alike, so that mux tries only the few that can match.
type group struct {
	prefix string
	paths  []string
}

// groups sorts paths so that a literal segment beats a variable one, and splits them by their first two segments.
func groups(paths map[string]endpoint) []group {
	sorted := make([]string, 0, len(paths))
	for p := range paths {
		sorted = append(sorted, p)
	}
	slices.SortFunc(sorted, func(x, y string) int { // "{" sorts behind every letter
		return slices.Compare(strings.Split(x, "/"), strings.Split(y, "/"))
	})
	var out []group
	for _, p := range sorted {
		prefix := ""
		if s := strings.SplitN(p, "/", 4); len(s) == 4 && !strings.ContainsAny(s[1]+s[2], "{}") {
			prefix = "/" + s[1] + "/" + s[2]
		}
		i := slices.IndexFunc(out, func(g group) bool { return g.prefix == prefix })
		if i < 0 {
			out = append(out, group{prefix: prefix})
			i = len(out) - 1
		}
		out[i].paths = append(out[i].paths, p)
	}
	return out
}

// endpoint is one path: its routes by method.
type endpoint map[string]Route

// find returns the route for a method; HEAD is answered by GET unless that changes state.
func (e endpoint) find(method string) (Route, bool) {
	if method == http.MethodHead {
		r, ok := e[http.MethodGet]
		return r, ok && !r.Changes
	}
	r, ok := e[method]
	return r, ok
}

// allow is the value of the Allow header.
func (e endpoint) allow() string {
	methods := []string{http.MethodOptions}
	for m, r := range e {
		methods = append(methods, m)
		if m == http.MethodGet && !r.Changes {
			methods = append(methods, http.MethodHead)
		}
	}
	slices.Sort(methods)
	return strings.Join(methods, ", ")
}

// serve answers requests to one path.
func (a *API) serve(path string, e endpoint) http.Handler {
	allow := e.allow()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		recordOf(r).route = path
		route, ok := e.find(r.Method)
		switch {
		case ok:
			a.call(w, r, route)
		case r.Method == http.MethodOptions:
			w.Header().Set("Allow", allow)
			_ = write(w, http.StatusOK, done) // nothing is left to tell a client that has gone
		default:
			w.Header().Set("Allow", allow)
			a.fail(w, r, &statusError{http.StatusMethodNotAllowed, "this address does not take " + methodName(r.Method) + "; it takes " + allow})
		}
	})
}

// methodName keeps a method that nobody knows out of the answer.
func methodName(m string) string {
	switch m {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete:
		return m
	}
	return "this method"
}

func (a *API) notFound(w http.ResponseWriter, r *http.Request) { a.fail(w, r, errNoPath) }
