package rest

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"parley/actors/account"
	"parley/actors/platform"
	"parley/transport/rest/conform"
	"parley/transport/rest/openapi"
)

var description = sync.OnceValue(func() *openapi.Document {
	return Describe(&url.URL{Scheme: "https", Host: "chat.example"})
})

var checker = sync.OnceValues(func() (*conform.Checker, error) { return conform.New(description()) })

// unreal are paths whose answers the fake makes up without most of their fields.
var unreal = regexp.MustCompile(`/api/(agencies|dm)/[^/]+/messages(/[^/]+)?$`)

// described holds every answer of a transport against the description, but for what the fake leaves out, and for which
// failures there are: the fake fails in all ways everywhere.
func described(t *testing.T, api *API) http.Handler {
	t.Helper()
	c, err := checker()
	if err != nil {
		t.Fatal(err)
	}
	checked := c.Handler(api, func(err error) {
		if !errors.Is(err, conform.ErrStatus) {
			t.Error(err)
		}
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if unreal.MatchString(r.URL.Path) {
			api.ServeHTTP(w, r)
			return
		}
		checked.ServeHTTP(w, r)
	})
}

// TestEveryRouteIsDescribed: all of them, with all that a reader needs, and nothing else.
func TestEveryRouteIsDescribed(t *testing.T) {
	ids := map[string]string{}
	for _, r := range Routes() {
		name := r.Method + " " + r.Path
		o := description().Find(r.Method, r.Path)
		if o == nil {
			t.Errorf("%s is not described: add .doc(op{…}) where it is added to the table", name)
			continue
		}
		if other := ids[o.ID()]; other != "" {
			t.Errorf("%s and %s have the id %s", name, other, o.ID())
		}
		ids[o.ID()] = name
		if o.Summary == "" || strings.HasSuffix(o.Summary, ".") {
			t.Errorf("%s: the summary %q is a few words without a full stop", name, o.Summary)
		}
		if !slices.ContainsFunc(tags, func(t openapi.Tag) bool { return t.Name == o.Tag }) {
			t.Errorf("%s: there is no tag %q", name, o.Tag)
		}
		for _, v := range o.Variables() {
			if o.Params[v] == "" {
				t.Errorf("%s: {%s} is not explained; add it to variables, or to the route's Params", name, v)
			}
		}
		if len(o.Answers) == 0 {
			t.Errorf("%s has no success", name)
		}
		if r.Method == http.MethodGet && o.Body != nil {
			t.Errorf("%s has a body, which is not read", name)
		}
		for _, a := range slices.Concat(o.Answers, o.Errors) {
			if a.About == "" {
				t.Errorf("%s: %d is not explained", name, a.Status)
			}
		}
	}
	if len(description().Operations) != len(Routes()) {
		t.Errorf("%d operations for %d routes", len(description().Operations), len(Routes()))
	}
}

// TestDocumentIsOpenAPI holds the document against the meta-schema of OpenAPI 3.1, and its schemas against that of JSON
// Schema 2020-12.
func TestDocumentIsOpenAPI(t *testing.T) {
	document, err := description().JSON()
	if err != nil {
		t.Fatal(err)
	}
	meta, err := os.ReadFile(filepath.Join("conform", "testdata", "oas31-schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := conform.Document(document, meta); err != nil {
		t.Error(err)
	}
	if err := conform.Document([]byte(`{"openapi":"3.1.0","info":{"title":"x"},"paths":{}}`), meta); err == nil {
		t.Error("a document without a version is taken for valid")
	}
	c, err := checker() // compiles every schema
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range description().Operations {
		if o.Body == nil {
			continue
		}
		example, err := json.Marshal(o.Body.Example())
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Admits(o, example); err != nil {
			t.Errorf("%s %s: the example is wrong: %v", o.Method, o.Path, err)
		}
	}
}

// TestReadsAreDescribed lets every handler run and compares what it asks for with what is described.
func TestReadsAreDescribed(t *testing.T) {
	b := setUp(t, nil)
	for _, r := range b.api.routes() {
		t.Run(r.Method+" "+r.Path, func(t *testing.T) {
			var values, fields []string
			note := func(to *[]string, what string) {
				if !slices.Contains(*to, what) {
					*to = append(*to, what)
				}
			}
			f := &form{fields: map[string]json.RawMessage{}}
			for _, name := range []string{"name", "content", "apiKey", "newOwnerId", "agentId", "role"} { // what is required together with others
				f.fields[name] = json.RawMessage(`"x"`)
			}
			f.asked = func(names []string) { note(&fields, strings.Join(names, " ")) }
			c := &call{w: httptest.NewRecorder(), r: httptest.NewRequest(r.Method, "/", nil), form: f, params: map[string]string{},
				id: &platform.Identity{Sender: account.Sender{ID: "u1"}}, asked: func(name string) { note(&values, name) }}
			_ = r.handle(c) // a refusal comes after the reading
			o := description().Find(r.Method, r.Path)
			var wantValues, wantFields []string
			for _, name := range o.Variables() {
				wantValues = append(wantValues, "{"+name+"}")
			}
			for _, q := range o.Query {
				wantValues = append(wantValues, q.Name)
			}
			if o.Body != nil && !o.Body.Open() {
				for _, field := range o.Body.Fields() {
					wantFields = append(wantFields, strings.Join(field.Names, " "))
				}
			}
			for _, list := range [][]string{values, fields, wantValues, wantFields} {
				slices.Sort(list)
			}
			if !slices.Equal(values, wantValues) {
				t.Errorf("the handler reads %q of path and query, described are %q", values, wantValues)
			}
			if !slices.Equal(fields, wantFields) {
				t.Errorf("the handler reads the fields %q, described are %q", fields, wantFields)
			}
		})
	}
}
