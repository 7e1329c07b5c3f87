package rest

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/gorilla/mux"

	"parley/actors/platform"
	"parley/transport/resource"
)

// Limits of a request.
const (
	// RequestTimeout bounds the work behind one request; it leaves room for a command webhook (decision 35).
	RequestTimeout = 20 * time.Second
	// UploadTimeout is the same for a request with a file, which comes over a line that may be slow.
	UploadTimeout = 45 * time.Second
	// MaxPathID is the length of a variable path segment in bytes; nothing longer exists.
	MaxPathID = resource.MaxID
)

// call is a request on its way through a route, with what the steps before the handler found out.
type call struct {
	w        http.ResponseWriter
	r        *http.Request
	id       *platform.Identity // nil: nobody
	byCookie bool               // the identity was shown by the cookie alone
	form     *form              // the body; empty for GET and for bodies that are not JSON
	file     []byte             // the file in the body of a route that takes one
	params   map[string]string  // variable path segments
	release  func()             // gives back what the body holds until the request is over; nil for nothing
	asked    func(name string)  // told of every value of path and query that is asked for; nil but in tests
}

// call takes a request through the steps that doc.go lists.
func (a *API) call(w http.ResponseWriter, r *http.Request, route Route) {
	ctx, cancel := context.WithTimeout(r.Context(), route.timeout())
	defer cancel()
	c := &call{w: w, r: r.WithContext(ctx), form: &form{}}
	defer func() {
		if c.release != nil {
			c.release()
		}
	}()
	if err := a.steps(c, route); err != nil {
		a.fail(w, c.r, err)
	}
}

func (a *API) steps(c *call, route Route) error {
	if err := a.spend(c.r, route.Budget); err != nil {
		return err
	}
	if err := a.authenticate(c, route.Auth); err != nil {
		return err
	}
	if err := a.checkOrigin(c, route); err != nil {
		return err
	}
	var err error
	if c.params, err = pathParams(mux.Vars(c.r)); err != nil && !route.Lenient {
		return err
	}
	if err := readBody(c, route); err != nil {
		return err
	}
	return route.handle(c)
}

// readBody reads the body as the route takes it; that of a GET is not looked at.
func readBody(c *call, route Route) error {
	switch {
	case route.Method == http.MethodGet:
		return nil
	case route.body != nil:
		return route.body(c)
	default:
		return readJSON(c)
	}
}

// readJSON reads the body of most routes.
func readJSON(c *call) (err error) {
	c.form, err = readForm(c.w, c.r)
	return err
}

// pathParams decodes variable segments. One that can't be an id names nothing.
func pathParams(vars map[string]string) (map[string]string, error) {
	params := make(map[string]string, len(vars))
	for name, escaped := range vars {
		v, err := url.PathUnescape(escaped)
		if err != nil || v == "" || len(v) > MaxPathID || !utf8.ValidString(v) {
			return nil, errNoPath
		}
		for _, c := range v {
			if unicode.IsControl(c) {
				return nil, errNoPath
			}
		}
		params[name] = v
	}
	return params, nil
}

func (c *call) ctx() context.Context { return c.r.Context() }

// param is a variable segment of the path.
func (c *call) param(name string) string {
	if c.asked != nil {
		c.asked("{" + name + "}")
	}
	return c.params[name]
}

// query starts reading the query.
func (c *call) query() *query {
	q := parseQuery(c.r.URL.RawQuery)
	q.asked = c.asked
	return q
}

// answer writes a JSON answer.
func (c *call) answer(status int, v any) error { return write(c.w, status, v) }

// answerRaw writes a JSON array of values that are JSON already; it is never null.
func (c *call) answerRaw(status int, items []json.RawMessage) error {
	return c.answer(status, array(items))
}

// ok answers where there is nothing to say.
func (c *call) ok() error { return c.answer(http.StatusOK, done) }
