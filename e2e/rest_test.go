package e2e

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"parley/e2e/client"
	"parley/transport/rest/scenario"
)

type step = scenario.Step

// bearing gives steps without a token the token of a variable.
func bearing(token string, steps []step) []step {
	for i := range steps {
		if steps[i].Token == "" {
			steps[i].Token = "{{" + token + "}}"
		}
	}
	return steps
}

// TestSignIn: registration, login, the profile, and what they refuse.
func TestSignIn(t *testing.T) {
	t.Parallel()
	name := fresh("Ann")
	vars := map[string]string{"name": name, "lower": strings.ToLower(name), "pw": password}
	register := func(title, username, pw string, status int, want ...string) step {
		return step{Name: title, URL: "/api/auth/register", Body: `{"username":"` + username + `","password":"` + pw + `"}`, Status: status, Want: want}
	}
	scenario.Run(t, scenario.Server(common(t).Base), vars, []step{
		{URL: "/api/auth/register", Body: `{"username":"{{name}}","password":"{{pw}}","displayName":"Ann B."}`, Status: 201,
			Want:       []string{`"username":"{{name}}"`, `"displayName":"Ann B."`, `"display_name":"Ann B."`, `"type":"user"`},
			WantHeader: map[string]string{"Set-Cookie": "service_token="}, Save: map[string]string{"t": "token", "id": "user.id"}},
		register("a name in another case", "{{lower}}", password, 409, "taken"),
		register("too short", "x", password, 400, "username"),
		register("25 characters", strings.Repeat("x", 25), password, 400, "username"),
		register("a space", "a b", password, 400, "username"),
		register("an umlaut", "jürgen", password, 400, "username"),
		register("reserved", "System", password, 400, "reserved"),
		register("reserved too", "everyone", password, 400, "reserved"),
		register("a short password", fresh("x"), "1234567", 400, "password"),
		register("a huge password", fresh("x"), strings.Repeat("p", 1025), 400, "password"),
		{URL: "/api/auth/register", Body: `{"username":5,"password":"{{pw}}"}`, Status: 400, Want: []string{"username must be a string"}},
		{URL: "/api/auth/register", Body: `{"username":"x"}`, Status: 400, Want: []string{"password"}},
		{URL: "/api/auth/login", Body: `{"username":"{{lower}}","password":"{{pw}}"}`, Status: 200, Want: []string{`"id":"{{id}}"`}, Save: map[string]string{"t2": "token"}},
		{URL: "/api/auth/login", Body: `{"username":"{{name}}","password":"wrong horse"}`, Status: 401, Want: []string{"wrong username or password"}},
		{URL: "/api/auth/login", Body: `{"username":"nobody-here","password":"wrong horse"}`, Status: 401, Want: []string{"wrong username or password"}},
		{URL: "/api/auth/login", Body: `{"username":"a\u0000b","password":"wrong horse"}`, Status: 401},
		{URL: "/api/auth/agent", Body: `{"agentToken":"sk_nonsense"}`, Status: 401},
		{URL: "/api/auth/agent", Body: `{"agentToken":"{{t}}"}`, Status: 401},
		{URL: "/api/auth/agent", Body: `{}`, Status: 400, Want: []string{"agentToken"}},
		{URL: "/api/auth/me", Token: "{{t}}", Status: 200, Want: []string{`"id":"{{id}}"`, `"created_at":"20`}, WantNot: []string{`"user":`}},
		{URL: "/api/auth/me", Header: map[string]string{"Authorization": "bearer {{t}}"}, Status: 200},
		{URL: "/api/auth/me", Status: 401, WantHeader: map[string]string{"WWW-Authenticate": "Bearer"}},
		{URL: "/api/auth/me", Token: "deadbeef", Status: 401},
		{URL: "/api/auth/me", Token: "cru_" + strings.Repeat("0", 48), Status: 401},
		{URL: "/api/auth/me", Token: strings.Repeat("x", 5000), Status: 401},
		{Method: "PATCH", URL: "/api/auth/me", Token: "{{t}}", Body: `{"display_name":"Ännchen 🌊","description":"two\nlines","theme":"dark","avatar":"https://pics.example/a.png"}`,
			Status: 200, Want: []string{`"displayName":"Ännchen 🌊"`, `"description":"two\nlines"`, `"theme":"dark"`}},
		{Method: "PATCH", URL: "/api/auth/me", Token: "{{t}}", Body: `{"description":""}`, Status: 200, Want: []string{`"description":""`, `"displayName":"Ännchen 🌊"`}},
		{Method: "PATCH", URL: "/api/auth/me", Token: "{{t}}", Body: `{"description":7}`, Status: 400, Want: []string{"description must be a string"}},
		{Method: "PATCH", URL: "/api/auth/me", Token: "{{t}}", Body: `{"displayName":"` + strings.Repeat("x", 65) + `"}`, Status: 400, Want: []string{"displayName"}},
		{Method: "PATCH", URL: "/api/auth/me", Token: "{{t}}", Status: 200, Header: map[string]string{"Content-Type": "application/json"}},
		{Method: "POST", URL: "/api/auth/logout", Token: "{{t2}}", Status: 200, Want: []string{`"ok":true`}, Header: map[string]string{"Content-Type": "application/json"}},
		{URL: "/api/auth/me", Token: "{{t2}}", Status: 401},
		{Method: "GET", URL: "/api/auth/logout", Status: 302, WantHeader: map[string]string{"Location": "http"}},
	})
}

// TestAgencies: rooms, their members, and who may see and change them.
func TestAgencies(t *testing.T) {
	t.Parallel()
	api := common(t)
	ann, bob, eve := user(t, api, "ann"), user(t, api, "bob"), user(t, api, "eve")
	slug := fresh("reef")
	vars := map[string]string{"ann": ann.Token, "bob": bob.Token, "eve": eve.Token, "annId": ann.ID, "bobName": bob.Username, "slug": slug}
	scenario.Run(t, scenario.Server(api.Base), vars, bearing("ann", []step{
		{URL: "/api/agencies", Body: `{"name":"{{slug}}'s  Öff","charter":"be kind"}`, Status: 201, Save: map[string]string{"pub": "id", "pubSlug": "slug"},
			Want: []string{`"slug":"{{slug}}-s-`, `"charter":"be kind"`, `"is_private":false`, `"member_count":1`, `"isMember":true`}},
		{URL: "/api/agencies", Body: `{"name":"{{slug}} secret","isPrivate":true}`, Status: 201, Save: map[string]string{"priv": "id", "privSlug": "slug"}, Want: []string{`"is_private":true`, `"charter":null`}},
		{URL: "/api/agencies", Body: `{"name":"{{slug}} secret"}`, Status: 201, Want: []string{`"slug":"{{slug}}-secret-2"`}, Save: map[string]string{"extra": "id"}},
		{URL: "/api/agencies", Body: `{"name":""}`, Status: 400, Want: []string{"name"}},
		{URL: "/api/agencies", Body: `{"name":"   "}`, Status: 400, Want: []string{"name"}},
		{URL: "/api/agencies", Body: `{"name":"two\nlines"}`, Status: 400, Want: []string{"name must be a single line"}},
		{URL: "/api/agencies", Body: `{"name":"\u202eyag"}`, Status: 400, Want: []string{"name must not"}},
		{URL: "/api/agencies", Body: `{"name":"\u3164"}`, Status: 400, Want: []string{"name must contain something visible"}},
		{URL: "/api/agencies", Body: `{"name":"x","slug":"ÄÖ"}`, Status: 400, Want: []string{"slug must contain"}},
		{Method: "PATCH", URL: "/api/agencies/{{pub}}", Body: `{"name":"two\nlines"}`, Status: 400, Want: []string{"name must be a single line"}},
		{URL: "/api/agents/register", Token: "none", Body: `{"name":"` + strings.Repeat("long", 25) + `"}`, Status: 400, Want: []string{`"name must be at most 64`}},
		{URL: "/api/agents/register", Token: "none", Body: `{"name":"` + fresh("bot") + `","agencyName":"two\nlines"}`, Status: 400, Want: []string{"agencyName must be a single line"}},
		{URL: "/api/agencies", Body: `{"name":["x"]}`, Status: 400, Want: []string{"name must be a string"}},
		{URL: "/api/agencies", Body: `{"name":"x","isPrivate":"yes"}`, Status: 400, Want: []string{"isPrivate must be true or false"}},
		{URL: "/api/agencies/lookup/{{pubSlug}}", Token: "{{bob}}", Status: 200, Want: []string{`"id":"{{pub}}"`, `"isMember":false`, `"role":null`}},
		{URL: "/api/agencies/{{pub}}", Token: "{{bob}}", Status: 200},
		{URL: "/api/agencies/lookup/{{privSlug}}", Token: "{{bob}}", Status: 404},
		{URL: "/api/agencies/{{priv}}", Token: "{{bob}}", Status: 404},
		{URL: "/api/agencies/{{priv}}/members", Token: "{{bob}}", Status: 404},
		{URL: "/api/agencies/{{priv}}/messages", Token: "{{bob}}", Status: 404},
		{Method: "POST", URL: "/api/agencies/{{priv}}/join", Token: "{{bob}}", Status: 404},
		{Method: "POST", URL: "/api/agencies/{{priv}}/leave", Token: "{{bob}}", Status: 404},
		{URL: "/api/agencies/{{priv}}/messages", Token: "{{bob}}", Body: `{"content":"hi"}`, Status: 404},
		{Method: "PATCH", URL: "/api/agencies/{{priv}}", Token: "{{bob}}", Body: `{"charter":"mine"}`, Status: 404},
		{Method: "DELETE", URL: "/api/agencies/{{priv}}", Token: "{{bob}}", Status: 404},
		{URL: "/api/agencies", Token: "{{bob}}", Status: 200, WantNot: []string{`{{priv}}`}, Want: []string{`{{pub}}`, `"slug":"lobby"`}},
		{URL: "/api/agencies", Status: 200, Want: []string{`{{priv}}`, `{{pub}}`}},
		{URL: "/api/agencies?limit=1", Status: 200, WantNot: []string{"},{\"id\""}, Save: map[string]string{"firstOf": "0.id"}},
		{URL: "/api/agencies?limit=99999999999999999999&offset=-5", Status: 200, Want: []string{`{{pub}}`}},
		{URL: "/api/agencies?limit=many", Status: 400, Want: []string{"limit"}},
		{URL: "/api/agencies/{{pub}}/messages", Token: "{{bob}}", Body: `{"content":"hi"}`, Status: 403, Want: []string{"member"}},
		{URL: "/api/agencies/{{pub}}/messages", Token: "{{bob}}", Status: 403},
		{Method: "POST", URL: "/api/agencies/{{pub}}/join", Token: "{{bob}}", Status: 200, Header: map[string]string{"Content-Type": "application/json"}, Want: []string{`"isMember":true`}},
		{Method: "POST", URL: "/api/agencies/{{pub}}/join", Token: "{{bob}}", Status: 200},
		{URL: "/api/agencies/{{pub}}/members", Token: "{{bob}}", Status: 200, Want: []string{`"username":"{{bobName}}"`, `"role":"owner"`, `"role":"member"`, `"is_agent":false`}, Save: map[string]string{"first": "0.id"}},
		{URL: "/api/agencies/{{pub}}/members?limit=1", Status: 200, WantNot: []string{`},{`}},
		{URL: "/api/agencies/{{pub}}", Status: 200, Want: []string{`"member_count":2`}},
		{Method: "PATCH", URL: "/api/agencies/{{pub}}", Token: "{{bob}}", Body: `{"charter":"mine"}`, Status: 403},
		{Method: "DELETE", URL: "/api/agencies/{{pub}}", Token: "{{bob}}", Status: 403},
		{Method: "PATCH", URL: "/api/agencies/{{pub}}", Body: `{"charter":"be kinder","is_private":true}`, Status: 200, Want: []string{`"charter":"be kinder"`, `"isPrivate":true`}},
		{URL: "/api/agencies/{{pub}}", Token: "{{eve}}", Status: 404},
		{Method: "PATCH", URL: "/api/agencies/{{pub}}", Body: `{"isPrivate":false}`, Status: 200, Want: []string{`"charter":"be kinder"`, `"is_private":false`}},
		{Method: "PATCH", URL: "/api/agencies/{{pub}}", Body: `{"charter":false}`, Status: 400, Want: []string{"charter must be a string"}},
		{Method: "POST", URL: "/api/agencies/{{pub}}/leave", Token: "{{bob}}", Status: 200, Want: []string{`"ok":true`}},
		{Method: "POST", URL: "/api/agencies/{{pub}}/leave", Token: "{{bob}}", Status: 403},
		{Method: "POST", URL: "/api/agencies/{{pub}}/leave", Status: 409, Want: []string{"owner"}},
		{URL: "/api/agencies/lookup/lobby", Status: 200, Want: []string{`"isMember":true`}, Save: map[string]string{"lobby": "id"}},
		{Method: "POST", URL: "/api/agencies/{{lobby}}/leave", Status: 403},
		{Method: "DELETE", URL: "/api/agencies/{{lobby}}", Status: 403},
		{Method: "PATCH", URL: "/api/agencies/{{lobby}}", Body: `{"isPrivate":true}`, Status: 403},
		{Method: "DELETE", URL: "/api/agencies/{{extra}}", Status: 200, Want: []string{`"ok":true`}},
		{URL: "/api/agencies/{{extra}}", Status: 404},
		{URL: "/api/agencies/none", Status: 404},
		{URL: "/api/agencies/none/messages", Status: 404},
		{URL: "/api/agencies/..%2f..", Status: 404},
		{URL: "/api/agencies/" + strings.Repeat("x", 4000), Status: 404},
	}))
}

// TestMessages: posting, editing, deleting and reading.
func TestMessages(t *testing.T) {
	t.Parallel()
	api := common(t)
	ann, bob, eve := user(t, api, "ann"), user(t, api, "bob"), user(t, api, "eve")
	g := ann.room(t, "talk", false)
	bob.enter(t, g)
	eve.enter(t, g)
	vars := map[string]string{"ann": ann.Token, "bob": bob.Token, "eve": eve.Token, "m": "/api/agencies/" + g.ID + "/messages", "name": ann.Username}
	scenario.Run(t, scenario.Server(api.Base), vars, bearing("ann", []step{
		{URL: "{{m}}", Status: 200, WantNot: []string{"id"}},
		{URL: "{{m}}", Body: `{"content":"  first \n","metadata":{"loop_guard":{"hop":1},"webhook":true,"run_id":"x","z":[1,2.50]}}`, Status: 201, Save: map[string]string{"m1": "id", "at1": "created_at"},
			Want:    []string{`"content":"first"`, `"sender_username":"{{name}}"`, `"username":"{{name}}"`, `"type":"chat"`, `"hop":1`, `2.50`, `"ok":true`, `"messageId":"`},
			WantNot: []string{"webhook", "run_id"}},
		{URL: "{{m}}", Token: "{{bob}}", Body: `{"content":"second 🌊 \u0007 <b>","clientId":"c1"}`, Status: 201, Save: map[string]string{"m2": "id"}},
		{URL: "{{m}}", Token: "{{bob}}", Body: `{"content":"second again","clientId":"c1"}`, Status: 200, Want: []string{`"id":"{{m2}}"`}, WantNot: []string{"again"}},
		{URL: "{{m}}", Body: `{"content":"third","clientId":"c1","type":"action","replyTo":"{{m1}}"}`, Status: 201, Want: []string{`"type":"action"`, `"reply_to":"{{m1}}"`}, Save: map[string]string{"m3": "id"}},
		{URL: "{{m}}", Body: `{"content":"   "}`, Status: 400, Want: []string{"content"}},
		{URL: "{{m}}", Body: `{}`, Status: 400, Want: []string{"content"}},
		{Method: "POST", URL: "{{m}}", Status: 400, Header: map[string]string{"Content-Type": "application/json"}, Want: []string{"content"}},
		{URL: "{{m}}", Body: `{"content":5}`, Status: 400, Want: []string{"content must be a string"}},
		{URL: "{{m}}", Body: `{"content":"x","type":"system"}`, Status: 400, Want: []string{"type"}},
		{URL: "{{m}}", Body: `{"content":"x","metadata":[1]}`, Status: 400, Want: []string{"metadata"}},
		{URL: "{{m}}", Body: `{"content":"x","metadata":{"x":"` + strings.Repeat("y", 65<<10) + `"}}`, Status: 400, Want: []string{"metadata"}},
		{URL: "{{m}}", Body: `{"content":"x","clientId":"` + strings.Repeat("y", 65) + `"}`, Status: 400, Want: []string{"clientId"}},
		{URL: "{{m}}", Body: `{"content":"x","clientId":7}`, Status: 400, Want: []string{"clientId must be a string"}},
		{Name: "16,001 characters", URL: "{{m}}", Body: `{"content":"` + strings.Repeat("ä", 16001) + `"}`, Status: 400, Want: []string{"16000"}},
		{Name: "16,000 characters", URL: "{{m}}", Body: `{"content":"` + strings.Repeat("ä", 16000) + `"}`, Status: 201, Save: map[string]string{"long": "id"}},
		{URL: "{{m}}", Body: `{"content":"x","replyTo":"no id"}`, Status: 400, Want: []string{"replyTo"}},
		{Method: "PATCH", URL: "{{m}}/{{m1}}", Body: `{"content":" first, edited "}`, Status: 200, Want: []string{`"content":"first, edited"`, `"edited_at":"20`}},
		{Method: "PATCH", URL: "{{m}}/{{m1}}", Token: "{{bob}}", Body: `{"content":"mine"}`, Status: 403},
		{Method: "PATCH", URL: "{{m}}/{{m2}}", Body: `{"content":"the owner's"}`, Status: 403},
		{Method: "PATCH", URL: "{{m}}/{{m1}}", Body: `{"content":" "}`, Status: 400, Want: []string{"content"}},
		{Method: "PATCH", URL: "{{m}}/none", Body: `{"content":"x"}`, Status: 404},
		{Method: "DELETE", URL: "{{m}}/{{m1}}", Token: "{{bob}}", Status: 403},
		{Method: "DELETE", URL: "{{m}}/{{long}}", Status: 200, Want: []string{`"ok":true`}},
		{Method: "DELETE", URL: "{{m}}/{{long}}", Status: 404},
		{Method: "PATCH", URL: "{{m}}/{{long}}", Body: `{"content":"back"}`, Status: 404},
		{URL: "{{m}}", Status: 200, Want: []string{`first, edited`, `second 🌊`, `third`}, WantNot: []string{"{{long}}", "frobnicate"}, Save: map[string]string{"newest": "0.id"}},
		{URL: "{{m}}?order=asc", Status: 200, Save: map[string]string{"oldest": "0.id"}},
		{URL: "{{m}}?limit=1", Status: 200, Want: []string{"{{m3}}"}, WantNot: []string{`"id":"{{m2}}"`}},
		{URL: "{{m}}?limit=0", Status: 200, Want: []string{"{{m3}}"}},
		{URL: "{{m}}?limit=1&before={{m3}}", Status: 200, Want: []string{`"id":"{{m2}}"`}},
		{URL: "{{m}}?limit=1&order=asc&after={{at1}}", Status: 200, Want: []string{`"id":"{{m2}}"`}},
		{URL: "{{m}}?before={{at1}}", Status: 200, WantNot: []string{"id"}},
		{URL: "{{m}}?before=yesterday", Status: 400, Want: []string{"before"}},
		{URL: "{{m}}?limit=x", Status: 400, Want: []string{"limit"}},
		{URL: "{{m}}?order=up", Status: 400, Want: []string{"order"}},
		{Name: "the owner deletes another's", Method: "DELETE", URL: "{{m}}/{{m2}}", Status: 200},
		{Name: "posted again after that", URL: "{{m}}", Token: "{{bob}}", Body: `{"content":"second","clientId":"c1"}`, Status: 410, Want: []string{"deleted"}},
		{URL: "{{m}}", Status: 200, WantNot: []string{"second"}},
	}))
	if vars["newest"] != vars["m3"] || vars["oldest"] != vars["m1"] {
		t.Errorf("the newest is %s, want %s; the oldest is %s, want %s", vars["newest"], vars["m3"], vars["oldest"], vars["m1"])
	}
}

// TestCommandOverREST: a slash command is answered, not posted (decision 46; clients.md 5.1).
func TestCommandOverREST(t *testing.T) {
	t.Parallel()
	api := common(t)
	ann := user(t, api, "ann")
	g := ann.room(t, "talk", false)
	scenario.Run(t, scenario.Server(api.Base), map[string]string{"ann": ann.Token, "m": "/api/agencies/" + g.ID + "/messages"}, bearing("ann", []step{
		{URL: "{{m}}", Body: `{"content":" /frobnicate now"}`, Status: 200, Want: []string{`"ok":false`, `"content":"`, "/frobnicate"}},
		{URL: "{{m}}", Status: 200, WantNot: []string{"frobnicate"}},
	}))
}

// TestBadRequests: what every endpoint refuses, and how.
func TestBadRequests(t *testing.T) {
	t.Parallel()
	api := common(t)
	ann := user(t, api, "ann")
	typed := func(kind string) map[string]string { return map[string]string{"Content-Type": kind} }
	scenario.Run(t, scenario.Server(api.Base), map[string]string{"ann": ann.Token}, bearing("ann", []step{
		{URL: "/api/nothing", Status: 404},
		{URL: "/", Status: 404},
		{URL: "/favicon.ico", Status: 404},
		{Method: "DELETE", URL: "/api/auth/login", Status: 405, WantHeader: map[string]string{"Allow": "POST"}},
		{Method: "PUT", URL: "/api/agencies", Body: `{}`, Status: 405, WantHeader: map[string]string{"Allow": "GET"}},
		{Method: "GET", URL: "/api/auth/register", Status: 405},
		{URL: "//api//auth///me", Status: 200},
		{Method: "POST", URL: "//api/agencies", Body: `{"name":""}`, Status: 400},
		{URL: "/api/agencies", Body: `{"name":`, Status: 400, Want: []string{"JSON"}},
		{URL: "/api/agencies", Body: `["name"]`, Status: 400, Want: []string{"object"}},
		{URL: "/api/agencies", Body: "{\"name\":\"\xff\xfe\"}", Status: 400, Want: []string{"UTF-8"}},
		{URL: "/api/agencies", Body: `name=x`, Header: typed("application/x-www-form-urlencoded"), Status: 415},
		{URL: "/api/agencies", Body: `{"name":"x"}`, Header: typed(""), Status: 415},
		{Name: "deeply nested", URL: "/api/agencies", Body: `{"name":` + strings.Repeat("[", 50_000) + `}`, Status: 400},
		{Name: "over 1 MB", URL: "/api/agencies", Body: `{"name":"` + strings.Repeat("x", 1<<20) + `"}`, Status: 413, Want: []string{"1 MB"}},
		{Name: "unknown fields and null", URL: "/api/agencies", Body: `{"name":"` + fresh("r") + `","charter":null,"colour":{"a":[]}}`, Status: 201},
		{Method: "HEAD", URL: "/api/agencies", Status: 200},
		{Method: "OPTIONS", URL: "/api/agencies", Status: 200, WantHeader: map[string]string{"Allow": "POST"}},
		{URL: "/healthz", Status: 200, Want: []string{"true"}},
		{URL: "/readyz", Status: 200},
	}))
}

// TestCookiesAndOrigins: the cookie alone changes things only from own pages, and registration is open to all (decision 6).
func TestCookiesAndOrigins(t *testing.T) {
	t.Parallel()
	s := own(t, "--vendor", "Acme,Service", "--web-url", "https://web.example/app")
	api := client.API{Base: s.URL()}
	ann := user(t, api, "ann")
	vars := map[string]string{"own": api.Base, "cookie": "acme_token=" + ann.Token, "other": "service_token=" + ann.Token, "ann": ann.Token}
	with := func(pairs ...string) map[string]string {
		h := map[string]string{}
		for i := 0; i < len(pairs); i += 2 {
			h[pairs[i]] = pairs[i+1]
		}
		return h
	}
	room := func() string { return `{"name":"` + fresh("r") + `"}` }
	scenario.Run(t, scenario.Server(api.Base), vars, []step{
		{URL: "/api/auth/login", Body: `{"username":"` + ann.Username + `","password":"` + password + `"}`, Status: 200,
			WantHeader: map[string]string{"Set-Cookie": "HttpOnly"}},
		{URL: "/api/auth/me", Header: with("Cookie", "{{cookie}}"), Status: 200},
		{URL: "/api/auth/me", Header: with("Cookie", "{{other}}", "Origin", "https://evil.example"), Status: 200,
			WantHeader: map[string]string{"Access-Control-Allow-Credentials": ""}},
		{URL: "/api/agencies", Body: room(), Header: with("Cookie", "{{cookie}}"), Status: 403},
		{URL: "/api/agencies", Body: room(), Header: with("Cookie", "{{cookie}}", "Origin", "https://evil.example"), Status: 403},
		{URL: "/api/agencies", Body: room(), Header: with("Cookie", "{{cookie}}", "Origin", "null"), Status: 403},
		{URL: "/api/agencies", Body: room(), Header: with("Cookie", "{{cookie}}", "Origin", "https://web.example.evil.example"), Status: 403},
		{URL: "/api/agencies", Body: room(), Header: with("Cookie", "{{cookie}}", "Origin", "https://web.example"), Status: 201},
		{URL: "/api/agencies", Body: room(), Header: with("Cookie", "{{cookie}}", "Origin", "{{own}}"), Status: 201},
		{URL: "/api/agencies", Body: room(), Header: with("Cookie", "{{other}}", "Referer", "https://web.example/app/x?y"), Status: 201},
		{URL: "/api/agencies", Body: room(), Token: "{{ann}}", Header: with("Origin", "https://evil.example"), Status: 201},
		{Method: "OPTIONS", URL: "/api/agents/register", Header: with("Origin", "https://evil.example", "Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "content-type"),
			Status: 204, WantHeader: map[string]string{"Access-Control-Allow-Origin": "*", "Access-Control-Allow-Headers": "content-type", "Access-Control-Allow-Methods": "POST", "Access-Control-Allow-Credentials": ""}},
		{URL: "/api/agents/register", Body: `{"name":"` + fresh("bot") + `"}`, Header: with("Origin", "https://evil.example"), Status: 201, WantHeader: map[string]string{"Access-Control-Allow-Origin": "*"}},
		{Method: "GET", URL: "/api/auth/logout", Header: with("Cookie", "{{cookie}}", "Referer", "https://evil.example/"), Status: 403},
		{Method: "POST", URL: "/api/auth/logout", Header: with("Cookie", "{{cookie}}", "Origin", "{{own}}"), Status: 200,
			WantHeader: map[string]string{"Set-Cookie": "acme_token=; Path=/; Max-Age=0"}},
		{URL: "/api/auth/me", Header: with("Cookie", "{{cookie}}"), Status: 401},
	})
}

// TestRateLimits: ten requests a minute and address for each budget (rest.md, Limits; decision 44).
func TestRateLimits(t *testing.T) {
	t.Parallel()
	s := ownIn(t, t.TempDir(), "--trusted-proxies", "127.0.0.0/8")
	target := scenario.Server(s.URL())
	from := func(address string) map[string]string { return map[string]string{"X-Forwarded-For": address} }
	for path, body := range map[string]string{
		"/api/auth/login": `{"username":"nobody","password":"wrong horse"}`,
		"/api/auth/agent": `{"agentToken":"sk_none"}`,
	} {
		for i := range 11 {
			st := step{URL: path, Body: body, Status: 401, Header: from("203.0.113.1")}
			if i == 10 {
				st.Status, st.Want = 429, []string{"too many requests"}
			}
			scenario.Do(t, target, nil, st)
		}
		scenario.Do(t, target, nil, step{URL: path, Body: body, Status: 401, Header: from("203.0.113.2")})
	}
	for i := range 10 { // the two registrations share a budget
		st := step{URL: "/api/auth/register", Body: `{"username":"` + fresh("u") + `","password":"` + password + `"}`, Status: 201, Header: from("203.0.113.1")}
		if i%2 == 1 {
			st.URL, st.Body = "/api/agents/register", `{"name":"`+fresh("a")+`"}`
		}
		scenario.Do(t, target, nil, st)
	}
	for _, path := range []string{"/api/auth/register", "/api/agents/register"} {
		r := httptest.NewRequest(http.MethodPost, target.Address(path), strings.NewReader(`{"name":"x"}`))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("X-Forwarded-For", "203.0.113.1")
		res, err := target.Do(step{}, r)
		if err != nil {
			t.Fatal(err)
		}
		var failure struct{ Error string }
		err = json.NewDecoder(res.Body).Decode(&failure)
		_ = res.Body.Close()
		after, wrong := strconv.Atoi(res.Header.Get("Retry-After"))
		if res.StatusCode != 429 || err != nil || failure.Error == "" || wrong != nil || after < 1 || after > 60 {
			t.Errorf("%s: status %d, Retry-After %d %v, %+v %v", path, res.StatusCode, after, wrong, failure, err)
		}
	}
}
