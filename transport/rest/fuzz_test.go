package rest

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"parley/actors/kernel"
)

// FuzzForm holds the decoder of bodies against encoding/json, and checks that every failure is the client's and is told
// in proper UTF-8.
func FuzzForm(f *testing.F) {
	for _, s := range []string{`{"name":"x","isPrivate":true}`, `{"name":null,"Name":"y"}`, `[]`, `null`, ` {} `, `{"name":1}`, `{"name":"\ud800"}`, "{\"name\":\"\xff\"}", `{}{}`, `{"a":[[[[`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		if len(strings.TrimSpace(string(body))) == 0 {
			return // counts as {} before it comes here
		}
		form, err := parseForm(body)
		var object map[string]any
		proper := utf8.Valid(body) && json.Unmarshal(body, &object) == nil && object != nil
		if proper != (err == nil) {
			t.Fatalf("accepted %v, proper %v: %v", err == nil, proper, err)
		}
		if err != nil {
			checkFailure(t, err)
			return
		}
		text, truth, raw := form.Text("name", "Name"), form.Bool("isPrivate", "is_private"), form.Raw("metadata")
		if err := form.Err(); err != nil {
			checkFailure(t, err)
			return
		}
		if want, ok := object["name"].(string); ok && (text == nil || *text != want) {
			t.Fatalf("name is %v, want %q", text, want)
		}
		if want, ok := object["isPrivate"].(bool); ok && (truth == nil || *truth != want) {
			t.Fatalf("isPrivate is %v, want %v", truth, want)
		}
		if (object["metadata"] == nil) != (raw == nil) || (raw != nil && !json.Valid(raw)) {
			t.Fatalf("metadata is %q", raw)
		}
	})
}

// FuzzQuery checks that what is passed on is clean, and that properly escaped values are read as written.
func FuzzQuery(f *testing.F) {
	for _, s := range []string{"limit=10&before=m1&order=asc", "before=100%", "after=%ff", "limit=1e3", "a;b=c&&=", "limit=+5", "order=ASC", "before=a&before=b", "limit=-99999999999999999999", "q=%22a+b%22&mentions=@x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		h, err := history(parseQuery(raw))
		if err != nil {
			checkFailure(t, err)
		} else {
			if h.Limit < 1 || h.Limit > maxMessages {
				t.Fatalf("limit %d", h.Limit)
			}
			for _, v := range []string{h.Before, h.After, h.Query, h.Mentions} {
				if !utf8.ValidString(v) || len(v) > MaxQueryValue {
					t.Fatalf("cursor %q", v)
				}
			}
		}
		if utf8.ValidString(raw) && len(raw) <= MaxQueryValue {
			if got := parseQuery("x=1&before=" + url.QueryEscape(raw)).Text("before"); got != raw {
				t.Fatalf("%q became %q", raw, got)
			}
		}
	})
}

// FuzzRequest throws whole requests at the transport: each must get a JSON answer that is not a 5xx.
func FuzzRequest(f *testing.F) {
	f.Add("POST", "/api/agencies", "name=x", "application/json", `{"name":"x"}`)
	f.Add("GET", "//api/agencies/%2F/messages/", "limit=x", "", "")
	f.Add("OPTIONS", "/api/auth/me", "", "text/plain", "x")
	f.Fuzz(func(t *testing.T, method, path, query, kind, body string) {
		u, err := url.ParseRequestURI("/" + path)
		if err != nil || strings.Contains(path, "panic") {
			return
		}
		for id := range faults {
			if strings.Contains(path+body, id) {
				return
			}
		}
		u.RawQuery = query
		r := httptest.NewRequest("GET", "/", strings.NewReader(body))
		r.Method, r.URL = method, u
		r.Header = http.Header{"Content-Type": {kind}, "Authorization": {"Bearer " + userToken}}
		w := httptest.NewRecorder()
		setUp(t, nil).api.ServeHTTP(w, r)
		if w.Code >= 500 || !json.Valid(w.Body.Bytes()) {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
	})
}

func checkFailure(t *testing.T, err error) {
	t.Helper()
	if e := kernel.AsError(err); e.Code != kernel.CodeInvalid || !utf8.ValidString(e.Message) || e.Message == "" {
		t.Fatalf("%v %q", e.Code, e.Message)
	}
}
