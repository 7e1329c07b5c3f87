// Package scenario runs declarative HTTP tests: requests, and what their answers must and must not hold. The same
// scenarios run against a handler in this process and against a server anywhere.
package scenario

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Limits of a run.
const (
	stepTimeout = 30 * time.Second
	maxAnswer   = 8 << 20 // bytes read of an answer
)

// Step is one request and what is expected of its answer. {{name}} in URL, Body, Header values and Want stands for a value
// that an earlier step saved. Every answer but that of a preflight must be JSON with a request id.
type Step struct {
	Name   string            // empty: method and URL
	Method string            // empty: GET, or POST when there is a body
	URL    string            // path and query, or, in a run against a server, an absolute address
	Token  string            // sent as Authorization: Bearer
	Header map[string]string // sent; a body is sent as application/json unless Content-Type says otherwise
	Body   string
	From   string // the peer's address, when the target is a handler; empty: 192.0.2.1:1234

	Status     int               // expected
	Want       []string          // must appear in the body
	WantNot    []string          // must not appear in it
	WantHeader map[string]string // must contain this text; empty: must be absent
	Save       map[string]string // variable name → path in the JSON answer, such as user.id or 0.id
}

// Target is where requests go.
type Target interface {
	Do(s Step, r *http.Request) (*http.Response, error)
	// Address makes the address of a path.
	Address(path string) string
}

// Handler is a target in this process.
func Handler(h http.Handler) Target { return inProcess{h} }

type inProcess struct{ h http.Handler }

func (t inProcess) Address(path string) string { return path }

func (t inProcess) Do(s Step, r *http.Request) (*http.Response, error) {
	r.RemoteAddr = "192.0.2.1:1234"
	if s.From != "" {
		r.RemoteAddr = s.From
	}
	rec := httptest.NewRecorder()
	t.h.ServeHTTP(rec, r)
	return rec.Result(), nil
}

// Server is a target at a base address. Redirects are not followed.
func Server(base string) Target {
	return remote{base: strings.TrimSuffix(base, "/"), client: &http.Client{
		Timeout:       stepTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

type remote struct {
	base   string
	client *http.Client
}

func (t remote) Address(path string) string {
	if strings.HasPrefix(path, "/") {
		return t.base + path
	}
	return path
}

func (t remote) Do(_ Step, r *http.Request) (*http.Response, error) {
	u, err := url.Parse(r.URL.String())
	if err != nil {
		return nil, err
	}
	r.URL, r.RequestURI, r.Host = u, "", u.Host
	return t.client.Do(r)
}

// Run takes the steps in order, each as a subtest, and ends at the first failure: later steps build on earlier ones.
// vars holds saved values; nil begins with none.
func Run(t *testing.T, target Target, vars map[string]string, steps []Step) {
	t.Helper()
	if vars == nil {
		vars = map[string]string{}
	}
	for i, s := range steps {
		name := s.Name
		if name == "" {
			name = s.method() + " " + s.URL
		}
		if !t.Run(fmt.Sprintf("%02d %s", i, name), func(t *testing.T) { Do(t, target, vars, s) }) {
			return
		}
	}
}

// Do takes one step and returns the body of the answer.
func Do(t *testing.T, target Target, vars map[string]string, s Step) []byte {
	t.Helper()
	res, err := target.Do(s, s.request(target, vars))
	if err != nil {
		t.Fatalf("%s %s: %v", s.method(), s.URL, err)
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	_ = res.Body.Close()
	if err != nil {
		t.Fatalf("read the answer: %v", err)
	}
	s.check(t, vars, res, body)
	return body
}

func (s *Step) method() string {
	switch {
	case s.Method != "":
		return s.Method
	case s.Body != "":
		return http.MethodPost
	}
	return http.MethodGet
}

func (s *Step) request(target Target, vars map[string]string) *http.Request {
	// httptest.NewRequest takes the address as a server would get it, double slashes and all
	body := []byte(fill(s.Body, vars))
	r := httptest.NewRequest(s.method(), target.Address(fill(s.URL, vars)), bytes.NewReader(body))
	if s.Body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if s.Token != "" {
		r.Header.Set("Authorization", "Bearer "+fill(s.Token, vars))
	}
	for k, v := range s.Header {
		if r.Header.Set(k, fill(v, vars)); v == "" {
			r.Header.Del(k)
		}
	}
	return r
}

func (s *Step) check(t *testing.T, vars map[string]string, res *http.Response, body []byte) {
	t.Helper()
	if res.StatusCode != s.Status {
		t.Errorf("status %d, want %d", res.StatusCode, s.Status)
	}
	for _, want := range s.Want {
		if want = fill(want, vars); !strings.Contains(string(body), want) {
			t.Errorf("the body lacks %q", want)
		}
	}
	for _, not := range s.WantNot {
		if not = fill(not, vars); strings.Contains(string(body), not) {
			t.Errorf("the body has %q", not)
		}
	}
	for name, want := range s.WantHeader {
		got := strings.Join(res.Header.Values(name), ", ")
		if want = fill(want, vars); (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("header %s is %q, want %q", name, got, want)
		}
	}
	if res.StatusCode != http.StatusNoContent {
		s.checkForm(t, res, body)
	}
	for name, path := range s.Save {
		v, ok := pick(body, path)
		if !ok {
			t.Errorf("the body has no %s to save", path)
		}
		vars[name] = v
	}
	if t.Failed() {
		t.Logf("%s %s answered %s\n%v\n%.2000s", s.method(), s.URL, res.Status, res.Header, body)
	}
}

// checkForm checks what holds for every answer.
func (s *Step) checkForm(t *testing.T, res *http.Response, body []byte) {
	t.Helper()
	kind, _, err := mime.ParseMediaType(res.Header.Get("Content-Type"))
	if err != nil || kind != "application/json" {
		t.Errorf("Content-Type is %q", res.Header.Get("Content-Type"))
	}
	if res.Header.Get("X-Request-Id") == "" || res.Header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("X-Request-Id or nosniff is missing")
	}
	if s.method() == http.MethodHead {
		return
	}
	if !json.Valid(body) {
		t.Errorf("the body is not JSON")
	}
	if msg, ok := pick(body, "error"); res.StatusCode >= 400 && (!ok || msg == "") {
		t.Errorf("the body has no error sentence")
	}
}

// fill replaces {{name}} by saved values.
func fill(text string, vars map[string]string) string {
	if !strings.Contains(text, "{{") {
		return text
	}
	for name, v := range vars {
		text = strings.ReplaceAll(text, "{{"+name+"}}", v)
	}
	return text
}

// pick finds a text, number or truth value in a JSON document.
func pick(body []byte, path string) (string, bool) {
	var at any
	if err := json.Unmarshal(body, &at); err != nil {
		return "", false
	}
	for _, key := range strings.Split(path, ".") {
		switch v := at.(type) {
		case map[string]any:
			at = v[key]
		case []any:
			i, err := strconv.Atoi(key)
			if err != nil || i < 0 || i >= len(v) {
				return "", false
			}
			at = v[i]
		default:
			return "", false
		}
	}
	switch v := at.(type) {
	case string:
		return v, true
	case float64, bool:
		return fmt.Sprint(v), true
	}
	return "", false
}
