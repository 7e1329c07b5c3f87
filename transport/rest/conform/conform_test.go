package conform

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"parley/transport/rest/openapi"
)

func pets() *openapi.Document {
	failure := openapi.Object(openapi.Has("error", openapi.Text(1, 0), "")).Named("Error", "")
	pet := openapi.Object(
		openapi.Has("petName pet_name", openapi.Text(1, 10), ""), openapi.May("tags", openapi.List(openapi.Object(openapi.Has("t", openapi.Text(0, 0), ""))), ""),
		openapi.May("more", openapi.Map(openapi.Any()), ""), openapi.Has("owner", openapi.Text(1, 0).OrNull(), ""),
	).Named("Pet", "")
	notFound := []openapi.Answer{{Status: 404, Schema: failure}, {Status: 429, Schema: failure, Headers: map[string]string{"Retry-After": ""}}}
	return &openapi.Document{Title: "Pets", Version: "1", Base: "https://pets.example", Operations: []*openapi.Operation{
		{Method: "GET", Path: "/pets/{id}", Answers: []openapi.Answer{{Status: 200, Schema: pet}}, Errors: notFound},
		{Method: "POST", Path: "/pets/{id}", Answers: []openapi.Answer{{Status: 201, Schema: openapi.Either(pet, failure)}}, Errors: notFound,
			Body: openapi.Form(openapi.Has("petName pet_name", openapi.Text(2, 0), ""))},
		{Method: "GET", Path: "/pets/all", Answers: []openapi.Answer{{Status: 200, Type: "text/plain", Schema: openapi.Text(0, 0)}, {Status: 304}}},
	}}
}

func TestCheck(t *testing.T) {
	const ok, bad = `{"petName":"Rex","pet_name":"Rex","owner":null}`, `{"error":"no"}`
	for name, tc := range map[string]struct {
		method, path string
		status       int
		body, sent   string
		header       string // "name: value", instead of or beside the usual
		want         string // part of the fault; empty: none
	}{
		"good":                  {"GET", "/pets/7", 200, ok, "", "", ""},
		"slashes":               {"GET", "//pets///7/", 200, ok, "", "", ""},
		"full":                  {"GET", "/pets/7", 200, `{"petName":"Rex","pet_name":"Rex","owner":"ann","tags":[{"t":""}],"more":{"x":[1]}}`, "", "", ""},
		"a field too many":      {"GET", "/pets/7", 200, `{"petName":"Rex","pet_name":"Rex","owner":null,"x":1}`, "", "", "additional"},
		"one deep inside":       {"GET", "/pets/7", 200, `{"petName":"Rex","pet_name":"Rex","owner":null,"tags":[{"t":"","u":1}]}`, "", "", "additional"},
		"one spelling missing":  {"GET", "/pets/7", 200, `{"petName":"Rex","owner":null}`, "", "", "missing"},
		"wrong type":            {"GET", "/pets/7", 200, `{"petName":"Rex","pet_name":7,"owner":null}`, "", "", "want string"},
		"too long":              {"GET", "/pets/7", 200, `{"petName":"Rex","pet_name":"12345678901","owner":null}`, "", "", "maxLength"},
		"no JSON":               {"GET", "/pets/7", 200, `{`, "", "", "not JSON"},
		"wrong content type":    {"GET", "/pets/7", 200, ok, "", "Content-Type: text/html", "its type"},
		"unknown status":        {"GET", "/pets/7", 202, ok, "", "", "not described"},
		"failure":               {"GET", "/pets/7", 404, bad, "", "", ""},
		"failure with more":     {"GET", "/pets/7", 404, `{"error":"no","code":1}`, "", "", "additional"},
		"limited":               {"GET", "/pets/7", 429, bad, "", "Retry-After: 1", ""},
		"limited for how long":  {"GET", "/pets/7", 429, bad, "", "", "Retry-After"},
		"literal beats":         {"GET", "/pets/all", 200, "text", "", "Content-Type: text/plain; charset=utf-8", ""},
		"not modified":          {"GET", "/pets/all", 304, "", "", "Content-Type:", ""},
		"not modified, a body":  {"GET", "/pets/all", 304, "x", "", "", "no body"},
		"HEAD":                  {"HEAD", "/pets/7", 200, "", "", "", ""},
		"created":               {"POST", "/pets/7", 201, ok, `{"pet_name":"Rex","x":1}`, "", ""},
		"created, other answer": {"POST", "/pets/7", 201, bad, `{"petName":"Rex","pet_name":null}`, "", ""},
		"created, neither":      {"POST", "/pets/7", 201, `{}`, `{"pet_name":"Rex"}`, "", "anyOf"},
		"accepted nothing":      {"POST", "/pets/7", 201, ok, `{"petName":null}`, "", "accepted"},
		"accepted too little":   {"POST", "/pets/7", 201, ok, `{"petName":"R"}`, "", "accepted"},
		"refused":               {"POST", "/pets/7", 404, bad, `{"petName":5}`, "", ""},
		"wrong method":          {"DELETE", "/pets/7", 405, bad, "", "Allow: GET", ""},
		"wrong method, silent":  {"DELETE", "/pets/7", 405, bad, "", "", "Allow"},
		"a secret method":       {"DELETE", "/pets/7", 200, ok, "", "", "405"},
		"unknown path":          {"GET", "/cats", 404, bad, "", "", ""},
		"a secret path":         {"GET", "/cats", 200, ok, "", "", "404"},
		"unknown, no sentence":  {"GET", "/cats", 404, `{}`, "", "", "sentence"},
		"preflight":             {"OPTIONS", "/pets/7", 204, "", "", "", ""},
		"no id":                 {"GET", "/pets/7", 200, ok, "", "X-Request-Id:", "X-Request-Id"},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := New(pets())
			if err != nil {
				t.Fatal(err)
			}
			h := http.Header{"Content-Type": {"application/json; charset=utf-8"}, "X-Request-Id": {"x"}}
			if k, v, found := strings.Cut(tc.header, ":"); found {
				if h.Set(k, strings.TrimSpace(v)); strings.TrimSpace(v) == "" {
					h.Del(k)
				}
			}
			err = c.Check(Exchange{Method: tc.method, Path: tc.path, Sent: []byte(tc.sent), Status: tc.status, Header: h, Body: []byte(tc.body)})
			if (err != nil) != (tc.want != "") || (err != nil && !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
			if len(c.Faults()) != len(tc.want[:min(1, len(tc.want))]) {
				t.Errorf("%d faults are remembered", len(c.Faults()))
			}
		})
	}
}

func TestUnserved(t *testing.T) {
	c, err := New(pets())
	if err != nil {
		t.Fatal(err)
	}
	h := http.Header{"Content-Type": {"application/json"}, "X-Request-Id": {"x"}}
	for _, status := range []int{404, 200} {
		if want := []string{"GET /pets/{id}", "POST /pets/{id}", "GET /pets/all"}; !slices.Equal(c.Unserved(), want) {
			t.Errorf("unserved are %v", c.Unserved())
		}
		body := map[int]string{404: `{"error":"no"}`, 200: `{"petName":"Rex","pet_name":"Rex","owner":null}`}[status]
		if err := c.Check(Exchange{Method: "GET", Path: "/pets/1", Status: status, Header: h, Body: []byte(body)}); err != nil {
			t.Fatal(err)
		}
	}
	if len(c.Unserved()) != 2 {
		t.Errorf("unserved are %v", c.Unserved())
	}
}

func TestNamesAreUnique(t *testing.T) {
	d := pets()
	d.Operations[2].Answers[0] = openapi.Answer{Status: 200, Schema: openapi.Text(0, 0).Named("Pet", "another")}
	if _, err := New(d); err == nil {
		t.Error("two schemas of one name are accepted")
	}
}
