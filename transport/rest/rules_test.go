package rest

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"parley/transport/rest/scenario"
)

func TestPaths(t *testing.T) {
	run(t, nil, []check{
		{step{URL: "//api//agencies///g1", Token: userToken, Status: 200}, "Agency g1"},
		{step{URL: "/api/agencies/g1/", Token: userToken, Status: 200}, "Agency g1"},
		{step{Method: "POST", URL: "//api/auth/login//", Body: `{"username":"a","password":"b"}`, Status: 200}, "Login a b"},
		{step{URL: "/api/agencies/a%2F%2Fb", Token: userToken, Status: 200}, "Agency a//b"},
		{step{URL: "/", Status: 404, Want: []string{`{"error":`}}, "-"},
		{step{URL: "/api", Status: 404}, "-"},
		{step{URL: "/api/nothing", Status: 404}, "-"},
		{step{URL: "/api/agenciesx", Token: userToken, Status: 404}, "-"},
		{step{URL: "/api/agencies/g1/../g2", Token: userToken, Status: 404}, "-"},
		{step{URL: "/api/agencies/..", Token: userToken, Status: 200}, "Agency .."},
		{step{URL: "/API/agencies", Token: userToken, Status: 404}, "-"},
		{step{Name: "id of 128 bytes", URL: "/api/agencies/" + strings.Repeat("x", 128), Token: userToken, Status: 200}, "Agency " + strings.Repeat("x", 128)},
		{step{Name: "id of 129 bytes", URL: "/api/agencies/" + strings.Repeat("x", 129), Token: userToken, Status: 404}, "-"},
		{step{URL: "/api/agencies/a%00b", Token: userToken, Status: 404}, "-"},
		{step{URL: "/api/agencies/a%0Ab", Token: userToken, Status: 404}, "-"},
		{step{URL: "/api/agencies/%ff", Token: userToken, Status: 404}, "-"},
		{step{Method: "PUT", URL: "/api/agencies/g1", Token: userToken, Status: 405, Want: []string{"PUT"}, WantHeader: map[string]string{"Allow": "DELETE, GET, HEAD, OPTIONS, PATCH"}}, "-"},
		{step{Method: "BREW", URL: "/api/auth/login", Status: 405, WantNot: []string{"BREW"}, WantHeader: map[string]string{"Allow": "OPTIONS, POST"}}, "-"},
		{step{Method: "GET", URL: "/api/agents/register", Status: 405, WantHeader: map[string]string{"Allow": "OPTIONS, POST"}}, "-"},
		{step{Method: "OPTIONS", URL: "/api/agencies", Status: 200, Want: []string{`{"ok":true}`}, WantHeader: map[string]string{"Allow": "GET, HEAD, OPTIONS, POST"}}, "-"},
		{step{Method: "HEAD", URL: "/api/nothing", Status: 404}, "-"},
	})
}

func TestBodies(t *testing.T) {
	const url = "/api/agencies"
	typed := func(kind string) map[string]string { return map[string]string{"Content-Type": kind} }
	ok := func(name string, header map[string]string, body, call string) check {
		return check{step{Name: name, Method: "POST", URL: url, Token: userToken, Header: header, Body: body, Status: 201}, call}
	}
	bad := func(name, body string, status int, want string) check {
		return check{step{Name: name, Method: "POST", URL: url, Token: userToken, Body: body, Status: status, Want: []string{want}}, "-"}
	}
	kind := func(header map[string]string, status int) check {
		return check{step{Name: header["Content-Type"] + header["Content-Encoding"], Method: "POST", URL: url, Token: userToken, Header: header, Body: `{"name":"n"}`, Status: status}, ""}
	}
	run(t, nil, []check{
		ok("unknown fields", nil, `{"name":"n","more":{"a":[1]}}`, `CreateAgency n  nil false`),
		ok("null is absent", nil, `{"name":"n","charter":null,"isPrivate":null,"is_private":true}`, `CreateAgency n  nil true`),
		ok("the last of two keys counts", nil, `{"name":"n","name":"m"}`, `CreateAgency m  nil false`),
		ok("space around", nil, " \r\n{\"name\":\"n\"}\t\n", `CreateAgency n  nil false`),
		ok("escapes", nil, `{"n\u0061me":"\u00e4"}`, `CreateAgency ä  nil false`),
		bad("malformed", `{"name":}`, 400, "at byte 9"),
		bad("cut off", `{"name":"n"`, 400, "not valid JSON"),
		bad("trailing garbage", `{"name":"n"} x`, 400, "not valid JSON"),
		bad("two values", `{"name":"n"}{}`, 400, "not valid JSON"),
		bad("array", `[]`, 400, "must be a JSON object"),
		bad("text", `"name"`, 400, "must be a JSON object"),
		bad("null", `null`, 400, "must be a JSON object"),
		bad("byte order mark", "\ufeff{}", 400, "not valid JSON"),
		bad("invalid UTF-8", "{\"name\":\"\xff\"}", 400, "not valid UTF-8"),
		bad("wrong type", `{"name":1}`, 400, "name must be a string"),
		bad("wrong type, as spelled", `{"name":"n","is_private":"yes"}`, 400, "is_private must be true or false"),
		bad("object for a text", `{"name":{"a":1}}`, 400, "name must be a string"),
		bad("nesting bomb", `{"name":`+strings.Repeat("[", 20_000)+strings.Repeat("]", 20_000)+`}`, 400, "not valid JSON"),
		bad("nesting bomb, open", `{"x":`+strings.Repeat(`{"x":`, 100_000), 400, "not valid JSON"),
		bad("1 MB and a byte", `{"name":"`+strings.Repeat("x", MaxBody-10)+`"}`, 413, "1 MB"),
		ok("1 MB", nil, `{"name":"n","x":"`+strings.Repeat("x", MaxBody-19)+`"}`, `CreateAgency n  nil false`),
		kind(typed("application/json; charset=UTF-8"), 201),
		kind(typed("application/merge-patch+json"), 201),
		kind(typed("APPLICATION/JSON"), 201),
		kind(typed("application/json; charset=latin1"), 415),
		kind(typed("text/plain"), 415),
		kind(typed("application/x-www-form-urlencoded"), 415),
		kind(typed(""), 415),
		kind(typed(";;"), 415),
		kind(map[string]string{"Content-Encoding": "gzip"}, 415),
		{step{Name: "empty with a foreign type", Method: "POST", URL: "/api/agencies/g1/join", Token: userToken, Header: typed("text/plain"), Status: 200}, "Join g1"},
		{step{Name: "only space", Method: "POST", URL: "/api/agencies/g1/join", Token: userToken, Header: typed("text/plain"), Body: " \n", Status: 200}, "Join g1"},
		{step{Name: "a body where none is needed is checked too", Method: "POST", URL: "/api/agencies/g1/join", Token: userToken, Body: "{", Status: 400}, "-"},
		{step{Name: "credentials come first", Method: "POST", URL: url, Body: "{", Status: 401}, "-"},
	})
}

// TestChunkedBody sends a body whose length is not announced.
func TestChunkedBody(t *testing.T) {
	for size, status := range map[int]int{10: 201, MaxBody: 413} {
		b := setUp(t, nil)
		body := `{"name":"` + strings.Repeat("x", size) + `"}`
		r := httptest.NewRequest("POST", "/api/agencies", struct{ *strings.Reader }{strings.NewReader(body)})
		r.ContentLength = -1
		r.Header.Set("Authorization", "Bearer "+userToken)
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		if b.api.ServeHTTP(w, r); w.Code != status {
			t.Errorf("%d bytes: status %d, want %d: %s", size, w.Code, status, w.Body)
		}
	}
}

func TestErrors(t *testing.T) {
	want := map[string]struct {
		status     int
		text       string
		retryAfter string
	}{
		"invalid": {400, "name is bad", ""}, "unauthorized": {401, "no longer", ""}, "forbidden": {403, "not yours", ""},
		"absent": {404, "no such thing", ""}, "taken": {409, "taken", ""}, "gone": {410, "too late", ""}, "large": {413, "too large", ""},
		"limited": {429, "slow down", "2"}, "overloaded": {503, "overloaded", "1"}, "unavailable": {503, "store", "1"}, "deadline": {503, "in time", "1"}, "unsupported": {501, "not here", ""}, "media": {415, "no picture", ""},
		"internal": {500, `{"error":"internal error"}`, ""}, "unknown": {500, `{"error":"internal error"}`, ""}, "odd": {500, `{"error":"internal error"}`, ""},
		"panic": {500, `{"error":"internal error"}`, ""},
	}
	for id := range faults {
		if _, ok := want[id]; !ok {
			t.Errorf("fault %s is not tested", id)
		}
	}
	for id, w := range want {
		t.Run(id, func(t *testing.T) {
			b := setUp(t, nil)
			scenario.Do(t, scenario.Handler(described(t, b.api)), nil, step{URL: "/api/agencies/" + id, Token: userToken, Status: w.status, Header: map[string]string{"X-Request-Id": "req-7"},
				Want: []string{w.text}, WantNot: []string{"secret"}, WantHeader: map[string]string{"Retry-After": w.retryAfter, "X-Request-Id": "req-7"}})
			log := b.log.String()
			if w.status == 500 && (!strings.Contains(log, "secret detail") || !strings.Contains(log, "level=ERROR") || !strings.Contains(log, "request=req-7")) {
				t.Errorf("the log lacks the cause or the request id:\n%s", log)
			}
			if w.status == 503 && !strings.Contains(log, "level=WARN") {
				t.Errorf("the log has no warning:\n%s", log)
			}
			if w.status < 500 && (strings.Contains(log, "ERROR") || strings.Contains(log, "WARN")) {
				t.Errorf("the client's mistake is logged as ours:\n%s", log)
			}
		})
	}
}

// TestEveryRouteReportsFailures lets the service fail under each route that uses it.
func TestEveryRouteReportsFailures(t *testing.T) {
	body := `{"username":"a","password":"right","agentToken":"t","name":"n","currentPassword":"c","newPassword":"d","content":"x","role":"member","newOwnerId":"u","code":"k",
		"apiKey":"k","email":"a@b.test","address":"0x1","txHash":"0x2","agencyId":"g","to":"@b","amount":1}`
	failing := func(b *bench, _ *Options) { b.fails = faults["gone"] }
	var checks []check
	for _, r := range Routes() {
		switch {
		case r.Static, r.Path == "/healthz", r.Path == "/api/commands", r.Path == "/api/explore/commands", // use no service
			r.Path == "/api/explore/capabilities",        // can't fail
			r.Path == "/api/agents/claim/verify/{token}", // redirects whatever comes
			strings.HasPrefix(r.Path, "/metrics"):        // is not set up
			continue
		}
		s := step{Method: r.Method, URL: strings.NewReplacer("{", "", "}", "").Replace(r.Path), Token: userToken, Status: 410,
			Want: []string{`{"error":"too late"}`}, WantHeader: map[string]string{"Set-Cookie": ""}}
		if r.Method != http.MethodGet {
			s.Body = body
		}
		if strings.HasPrefix(r.Path, "/api/uploads/") {
			s.Body, s.Header = parts(t, "file", "x"), map[string]string{"Content-Type": uploadType}
		}
		checks = append(checks, check{Step: s})
	}
	run(t, failing, checks)
}

// TestWrongTypesAreNamed sends a number for every field that a route knows.
func TestWrongTypesAreNamed(t *testing.T) {
	var checks []check
	for path, fields := range map[string]string{
		"POST /api/wallet/register":             "address",
		"POST /api/wallet/payment":              "txHash tx_hash",
		"POST /api/agencies/g1/skills":          "skillName skill_name name",
		"POST /api/auth/register":               "username password displayName display_name",
		"POST /api/auth/login":                  "username password",
		"POST /api/auth/agent":                  "agentToken agent_token",
		"PATCH /api/auth/me":                    "displayName display_name avatar banner description theme font",
		"POST /api/auth/change-password":        "currentPassword current_password newPassword new_password",
		"DELETE /api/auth/account":              "password",
		"POST /api/auth/tokens":                 "name expiresIn expires_in expires",
		"POST /api/agents/register":             "name description agencyName agency_name agencyCharter agency_charter extGateway ext_gateway extToken ext_token extAgentId ext_agent_id",
		"POST /api/agents":                      "name role personality agencyId agency_id",
		"POST /api/agencies/g1/agents":          "agentId agent_id username name role personality",
		"POST /api/agents/claim":                "code claimCode claim_code",
		"POST /api/agents/a1/transfer":          "newOwnerId new_owner_id newOwnerUsername new_owner_username",
		"POST /api/agencies":                    "name slug charter isPrivate is_private",
		"PATCH /api/agencies/g1":                "name charter isPrivate is_private",
		"POST /api/agencies/g1/messages":        "content type replyTo reply_to clientId client_id",
		"PATCH /api/agencies/g1/messages/{m-1}": "content",
	} {
		method, url, _ := strings.Cut(path, " ")
		for _, field := range strings.Fields(fields) {
			body := `{"` + field + `":7}`
			if field != "username" && strings.Contains(fields, "username") {
				body = `{"username":"a","` + field + `":7}`
			}
			if strings.HasPrefix(field, "new") {
				body = `{"currentPassword":"a","` + field + `":7}`
			}
			if strings.HasPrefix(fields, "name ") && field != "name" || strings.HasPrefix(fields, "content ") && field != "content" {
				body = `{"name":"n","content":"c","` + field + `":7}`
			}
			if strings.HasPrefix(field, "display") && method == "POST" {
				body = `{"username":"a","password":"b","` + field + `":7}`
			}
			checks = append(checks, check{step{Name: path + " " + field, Method: method, URL: url, Token: userToken, Body: body, Status: 400, Want: []string{`"` + field + " must be "}}, "-"})
		}
	}
	run(t, nil, checks)
}

// TestServerOutlivesPanics runs over a real connection.
func TestServerOutlivesPanics(t *testing.T) {
	b := setUp(t, nil)
	srv := httptest.NewServer(b.api)
	defer srv.Close()
	scenario.Run(t, scenario.Server(srv.URL+"/"), nil, []step{
		{URL: "/api/agencies/panic", Token: userToken, Status: 500},
		{URL: "//api/agencies/g1", Token: userToken, Status: 200, Save: map[string]string{"slug": "slug"}},
		{URL: "/api/agencies/lookup/{{slug}}", Token: userToken, Status: 200, Want: []string{`"slug":"{{slug}}"`}},
	})
	if b.last() != "AgencyBySlug reef" {
		t.Errorf("the saved value was not used: %s", b.last())
	}
}

func TestRequestID(t *testing.T) {
	for sent, kept := range map[string]bool{"abc-1._Z": true, "": false, strings.Repeat("x", 65): false, "a b": false, "a\"b": false} {
		b := setUp(t, nil)
		w := httptest.NewRecorder()
		r := httptest.NewRequest("GET", "/healthz", nil)
		r.Header.Set("X-Request-Id", sent)
		b.api.ServeHTTP(w, r)
		if got := w.Header().Get("X-Request-Id"); (got == sent) != kept || got == "" {
			t.Errorf("sent %q, got %q", sent, got)
		}
	}
}

// TestLogHoldsNoSecrets looks for what must never be logged, at the lowest level.
func TestLogHoldsNoSecrets(t *testing.T) {
	b := setUp(t, nil)
	target := scenario.Handler(described(t, b.api))
	for _, s := range []step{
		{URL: "/api/auth/login?password=hush", Body: `{"username":"hush","password":"hush"}`, Status: 200},
		{URL: "/api/auth/login", Body: `{"username":"unknown","password":"hush"}`, Status: 500},
		{URL: "/api/agencies/hush", Token: "hush", Status: 401},
		{URL: "/hush", Header: map[string]string{"Cookie": "acme_token=hush"}, Status: 404},
		{Method: "HUSH", URL: "/api/agencies", Body: `{"hush":`, Status: 405},
	} {
		scenario.Do(t, target, nil, s)
	}
	log := b.log.String()
	if strings.Count(log, "msg=request ") != 5 || !strings.Contains(log, "route=/api/agencies/{id}") {
		t.Errorf("the access log is not complete:\n%s", log)
	}
	for _, secret := range []string{"hush", "HUSH", "new-token"} {
		if strings.Contains(log, secret) {
			t.Errorf("the log holds %q:\n%s", secret, log)
		}
	}
}

func TestHealth(t *testing.T) {
	draining := func(_ *bench, o *Options) { o.Draining = func() bool { return true } }
	storeless := func(b *bench, _ *Options) { b.ready = faults["unavailable"] }
	run(t, nil, []check{
		{step{URL: "/healthz", Status: 200, Want: []string{`{"ok":true}`}}, ""},
		{step{URL: "/readyz", Status: 200, Want: []string{`{"ok":true}`}}, ""},
	})
	for _, change := range []func(*bench, *Options){draining, storeless} {
		run(t, change, []check{
			{step{URL: "/healthz", Status: 200}, ""},
			{step{URL: "/readyz", Status: 503, Want: []string{`{"error":`}}, ""},
		})
	}
}

func TestAbortPassesThrough(t *testing.T) {
	b := setUp(t, nil)
	half := func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(200); panic("late") }
	defer func() {
		if err, ok := recover().(error); !ok || !errors.Is(err, http.ErrAbortHandler) {
			t.Errorf("the connection is not broken off: %v", err)
		}
	}()
	b.api.observe(http.HandlerFunc(half)).ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil))
}
