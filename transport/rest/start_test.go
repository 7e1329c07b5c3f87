package rest

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"parley/transport/rest/openapi"
)

// get asks for a page; header is pairs of names and values.
func get(t *testing.T, h http.Handler, method, path string, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(method, path, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestPages(t *testing.T) {
	b := setUp(t, nil)
	for path, kind := range map[string]string{
		pathSignup: "application/json", pathSkill: "text/markdown", pathOpenAPI: "application/json", pathAsyncAPI: "application/json", pathDocs: "text/html", pathWelcome: "text/html",
	} {
		t.Run(path, func(t *testing.T) {
			h := described(t, b.api)
			w := get(t, h, "GET", path, "Accept", "text/html,*/*;q=0.8", "Origin", "https://anywhere.example", "Authorization", "Bearer stale")
			etag := w.Header().Get("ETag")
			if w.Code != 200 || !strings.HasPrefix(w.Header().Get("Content-Type"), kind+"; charset=utf-8") || w.Body.Len() < 300 {
				t.Fatalf("%d %v\n%.300s", w.Code, w.Header(), w.Body)
			}
			if !strings.HasPrefix(w.Header().Get("Cache-Control"), "public, max-age=") || !strings.HasPrefix(etag, `"`) {
				t.Errorf("it can't be kept: %v", w.Header())
			}
			if w.Header().Get("Access-Control-Allow-Origin") != "*" || w.Header().Get("Access-Control-Allow-Credentials") != "" {
				t.Errorf("pages of other origins can't read it: %v", w.Header())
			}
			if strings.Contains(w.Body.String(), "{{") || strings.Contains(w.Body.String(), "<no value>") || !strings.Contains(w.Body.String(), "https://chat.example") {
				t.Errorf("it is not filled in:\n%.2000s", w.Body)
			}
			for _, known := range []string{etag, "W/" + etag, `"other", ` + etag, "*"} {
				if w := get(t, h, "GET", path, "Accept", "text/html", "If-None-Match", known); w.Code != 304 || w.Body.Len() > 0 || w.Header().Get("ETag") != etag {
					t.Errorf("If-None-Match %s: %d %v", known, w.Code, w.Header())
				}
			}
			if w := get(t, h, "GET", path, "Accept", "text/html", "If-None-Match", `"other"`); w.Code != 200 {
				t.Errorf("another version: %d", w.Code)
			}
			if w := get(t, h, "HEAD", path, "Accept", "text/html"); w.Code != 200 || w.Header().Get("ETag") != etag {
				t.Errorf("HEAD: %d %v", w.Code, w.Header())
			}
			if w := get(t, h, "POST", path); w.Code != 405 || !strings.Contains(w.Header().Get("Allow"), "HEAD") {
				t.Errorf("POST: %d %v", w.Code, w.Header())
			}
		})
	}
	if b.last() != "" {
		t.Errorf("the service was called: %s", b.last())
	}
}

// TestPagesLoadNothing: HTML shows itself under a policy that admits its own style and nothing else.
func TestPagesLoadNothing(t *testing.T) {
	b := setUp(t, nil)
	for _, path := range []string{pathWelcome, pathDocs} {
		w := get(t, b.api, "GET", path, "Accept", "text/html")
		html := w.Body.String()
		if m := regexp.MustCompile(`(?i)<script|<link|<img|<iframe|@import|url\(|\bon[a-z]+=|style="|javascript:`).FindString(html); m != "" {
			t.Errorf("%s has %q", path, m)
		}
		style := regexp.MustCompile(`(?s)<style>(.*)</style>`).FindStringSubmatch(html)
		if style == nil {
			t.Fatalf("%s has no style", path)
		}
		sum := sha256.Sum256([]byte(style[1]))
		policy := w.Header().Get("Content-Security-Policy")
		if !strings.Contains(policy, "default-src 'none'") || !strings.Contains(policy, "'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'") {
			t.Errorf("%s: the policy %s is not that of its style", path, policy)
		}
	}
}

func TestWelcomeIsForBrowsers(t *testing.T) {
	for accept, status := range map[string]int{
		"": 404, "*/*": 404, "application/json": 404, "application/json, text/html;q=0": 404, "text/*": 404,
		"text/html": 200, "application/json;q=0.9, text/html;q=0.1": 200, "application/xhtml+xml": 200, "TEXT/HTML;level=1": 200,
	} {
		w := get(t, described(t, setUp(t, nil).api), "GET", "/", "Accept", accept)
		if w.Code != status || !slices.Contains(w.Header().Values("Vary"), "Accept") {
			t.Errorf("Accept %q: %d %v", accept, w.Code, w.Header())
		}
		if status == 404 && (w.Header().Get("Cache-Control") != "no-store" || !strings.Contains(w.Body.String(), `{"error":`)) {
			t.Errorf("Accept %q: %v %s", accept, w.Header(), w.Body)
		}
	}
}

// TestDocsShowEverything: an entry, an example and a link for each operation; every link has its target.
func TestDocsShowEverything(t *testing.T) {
	html := get(t, setUp(t, nil).api, "GET", pathDocs, "Accept", "text/html").Body.String()
	for _, o := range description().Operations {
		if !strings.Contains(html, `<h3 id="`+o.ID()+`">`) || !strings.Contains(html, `<a href="#`+o.ID()+`">`) {
			t.Errorf("%s %s is not there", o.Method, o.Path)
		}
	}
	if n := strings.Count(html, "<pre>curl -s"); n != len(description().Operations) {
		t.Errorf("%d examples for %d operations", n, len(description().Operations))
	}
	for _, m := range regexp.MustCompile(`href="#([^"]+)"`).FindAllStringSubmatch(html, -1) {
		if !strings.Contains(html, ` id="`+m[1]+`"`) {
			t.Errorf("the link to %s leads nowhere", m[1])
		}
	}
}

// TestManifestHangsTogether: whatever a request or frame has to have is saved by another one, or is the program's to choose.
func TestManifestHangsTogether(t *testing.T) {
	b := setUp(t, func(o *Options) { o.PublicURL = mustURL(t, "https://chat.example/base"); o.WebURL = nil })
	text := get(t, b.api, "GET", pathSignup).Body.Bytes()
	var m manifest
	if err := json.Unmarshal(text, &m); err != nil {
		t.Fatal(err)
	}
	chosen := []string{"name", "description", "content", "client_id", "slug", "invite_code", "room_name", "display_name"}
	var saved []string
	for _, f := range m.Flows {
		for name := range f.Saves {
			saved = append(saved, name)
		}
	}
	for name, f := range m.Flows {
		for _, need := range f.Needs {
			if !slices.Contains(saved, need) && !slices.Contains(chosen, need) {
				t.Errorf("%s needs %s, which comes from nowhere", name, need)
			}
		}
		if !strings.HasPrefix(f.Request.URL, "https://chat.example/base/api/") || len(f.Success) == 0 || f.Summary == "" {
			t.Errorf("%s is %+v", name, f)
		}
		if (f.Request.Body == nil) != (f.Request.Headers["Content-Type"] == "") {
			t.Errorf("%s has a body without a type, or a type without a body", name)
		}
	}
	for _, name := range m.Quick {
		if _, ok := m.Flows[name]; !ok {
			t.Errorf("there is no flow %s", name)
		}
	}
	if got := m.Flows["register"]; len(got.Fields) != 7 || !got.Fields[0].Required || got.Fields[0].Name != "name" || got.Budget == nil {
		t.Errorf("the registration is %+v", got)
	}
	live := m.Realtime
	if live.Plain.URL != "wss://chat.example/base/ws" || live.SocketIO.URL != "https://chat.example" || live.SocketIO.Path != "/base/socket.io/" ||
		live.SocketIO.Raw.URL != "wss://chat.example/base/socket.io/?EIO=4&transport=websocket" {
		t.Errorf("the addresses are %s, %s, %s, %s", live.Plain.URL, live.SocketIO.URL, live.SocketIO.Path, live.SocketIO.Raw.URL)
	}
	if live.Describes != "https://chat.example/base/asyncapi.json" || m.Links["asyncapi"] != live.Describes || live.Closes[4401] == "" || !strings.Contains(live.Receive["message"], "content") {
		t.Errorf("the description is at %s, %s; %v; %v", live.Describes, m.Links["asyncapi"], live.Closes, live.Receive)
	}
	if !slices.Contains(live.Send, "send-message") || slices.Contains(live.Send, "unknown") {
		t.Errorf("events to send are %v", live.Send)
	}
}

func TestFlowsOfNothingAreRefused(t *testing.T) {
	s := flowStep{name: "x", method: "GET", path: "/api/nothing"}
	if _, err := s.flow(description()); err == nil {
		t.Error("a flow through an operation that there is not is accepted")
	}
	if _, err := newManifest(&openapi.Document{Base: "https://x.example"}, ""); err == nil {
		t.Error("a manifest of an empty interface is accepted")
	}
}
