package rest

import (
	"strings"
	"testing"

	"parley/transport/rest/scenario"
)

type step = scenario.Step

func TestSessions(t *testing.T) {
	run(t, nil, []check{
		{step{Name: "register", URL: "/api/auth/register", Body: `{"username":"Ann","password":"pw345678","display_name":"A"}`, Status: 201,
			Want:       []string{`"token":"new-token"`, `"user":{"id":"u1"`, `"display_name":"Ann A"`, `"displayName":"Ann A"`},
			WantHeader: map[string]string{"Set-Cookie": "acme_token=new-token; Path=/; Max-Age=604800; HttpOnly; Secure; SameSite=Lax", "Cache-Control": "no-store"},
		}, "RegisterUser Ann pw345678 A"},
		{step{Name: "register with a stale token", URL: "/api/auth/register", Token: "stale", Body: `{"username":"Ann","password":"pw345678"}`, Status: 201}, "RegisterUser Ann pw345678 "},
		{step{Name: "register taken", URL: "/api/auth/register", Body: `{"username":"taken","password":"pw345678"}`, Status: 409, WantHeader: map[string]string{"Set-Cookie": ""}}, ""},
		{step{Name: "register without password", URL: "/api/auth/register", Body: `{"username":"Ann"}`, Status: 400, Want: []string{"password is required"}}, "-"},
		{step{Name: "login", URL: "/api/auth/login", Body: `{"username":"Ann","password":"pw345678"}`, Status: 200,
			Want: []string{`"token":"new-token"`, `"user":{`}, WantHeader: map[string]string{"Set-Cookie": "acme_token=new-token"}}, "Login Ann pw345678"},
		{step{Name: "login without anything", Method: "POST", URL: "/api/auth/login", Status: 400, Want: []string{"username is required"}}, "-"},
		{step{Name: "login refused", URL: "/api/auth/login", Body: `{"username":"unauthorized","password":"x"}`, Status: 401,
			WantHeader: map[string]string{"WWW-Authenticate": "Bearer", "Set-Cookie": ""}}, ""},
		{step{Name: "agent", URL: "/api/auth/agent", Body: `{"agentToken":"sk_1"}`, Status: 200,
			Want: []string{`"token":"new-token"`, `"persona":`, `"username":"my-bot"`}, WantHeader: map[string]string{"Set-Cookie": ""}}, "ExchangeAgentToken sk_1"},
		{step{Name: "unverified agent", URL: "/api/auth/agent", Body: `{"agent_token":"forbidden"}`, Status: 403}, ""},
		{step{Name: "logout", Method: "POST", URL: "/api/auth/logout", Token: userToken, Status: 200, Want: []string{`{"ok":true}`},
			WantHeader: map[string]string{"Set-Cookie": "acme_token=; Path=/; Max-Age=0"}}, "Logout s1"},
		{step{Name: "logout clears every name", Method: "POST", URL: "/api/auth/logout", Token: userToken, Status: 200,
			WantHeader: map[string]string{"Set-Cookie": "service_token=; Path=/; Max-Age=0"}}, ""},
		{step{Name: "logout by link", URL: "/api/auth/logout", Token: userToken, Status: 302,
			WantHeader: map[string]string{"Location": "https://web.example/app", "Set-Cookie": "acme_token=;"}}, "Logout s1"},
		{step{Name: "logout by link without a session", URL: "/api/auth/logout", Header: map[string]string{"Cookie": "acme_token=stale"}, Status: 302}, "-"},
		{step{Name: "no logout by HEAD", Method: "HEAD", URL: "/api/auth/logout", Token: userToken, Status: 405, WantHeader: map[string]string{"Allow": "GET, OPTIONS, POST"}}, "-"},
	})
}

func TestProfile(t *testing.T) {
	run(t, nil, []check{
		{step{URL: "/api/auth/me", Token: userToken, Status: 200, Want: []string{`{"id":"u1","username":"Ann"`, `"display_name"`}, WantNot: []string{`"user":`}}, "Profile u1"},
		{step{Name: "HEAD", Method: "HEAD", URL: "/api/auth/me", Token: userToken, Status: 200}, "Profile u1"},
		{step{Name: "patch", Method: "PATCH", URL: "/api/auth/me", Token: userToken, Body: `{"display_name":"B","description":"","avatar":null,"unknown":[1]}`, Status: 200,
			Want: []string{`"id":"u1"`}}, `UpdateProfile u1 "B" nil nil "" nil nil`},
		{step{Name: "patch all", Method: "PATCH", URL: "/api/auth/me", Token: patToken, Body: `{"displayName":"B","avatar":"a","banner":"b","description":"d","theme":"t","font":"f"}`, Status: 200},
			`UpdateProfile u1 "B" "a" "b" "d" "t" "f"`},
		{step{Name: "change password", URL: "/api/auth/change-password", Token: userToken, Body: `{"currentPassword":"a","newPassword":"b"}`, Status: 200, Want: []string{`{"ok":true}`}}, "ChangePassword a b"},
		{step{Name: "change password, missing", URL: "/api/auth/change-password", Token: userToken, Body: `{"currentPassword":"a"}`, Status: 400, Want: []string{"newPassword is required"}}, "-"},
		{step{Name: "delete without body", Method: "DELETE", URL: "/api/auth/account", Token: userToken, Header: map[string]string{"Content-Type": "application/json"}, Status: 200, Want: []string{`{"ok":true}`}}, "DeleteAccount nil"},
		{step{Name: "delete with wrong password", Method: "DELETE", URL: "/api/auth/account", Token: userToken, Body: `{"password":""}`, Status: 403}, `DeleteAccount ""`},
	})
}

func TestTokens(t *testing.T) {
	run(t, nil, []check{
		{step{Name: "create", URL: "/api/auth/tokens", Token: userToken, Body: `{"name":"ci","expires":"365d"}`, Status: 201,
			Want:       []string{`"token":"` + rawPAT + `"`, `"id":"p1"`, `"expires_at":`, `"expiresAt":`, `"tokenPrefix":"cru_abcd…"`, `"scopes":["all"]`},
			WantHeader: map[string]string{"Cache-Control": "no-store"}}, "CreatePAT ci 365d"},
		{step{Name: "create, both names", URL: "/api/auth/tokens", Token: userToken, Body: `{"name":"ci","expires":"365d","expiresIn":"30d"}`, Status: 201}, "CreatePAT ci 30d"},
		{step{Name: "list", URL: "/api/auth/tokens", Token: userToken, Status: 200, Want: []string{`[{`, `"last_used_at":null`, `"created_at":"1970-01-01T00:00:00.001Z"`}, WantNot: []string{rawPAT}}, ""},
		{step{Name: "revoke", Method: "DELETE", URL: "/api/auth/tokens/p1", Token: userToken, Status: 200, Want: []string{`{"ok":true}`}}, "RevokePAT p1"},
		{step{Name: "revoke somebody else's", Method: "DELETE", URL: "/api/auth/tokens/forbidden", Token: userToken, Status: 403}, ""},
	})
}

func TestAgents(t *testing.T) {
	run(t, nil, []check{
		{step{Name: "register", URL: "/api/agents/register", Header: map[string]string{"Origin": "https://anywhere.example"},
			Body: `{"name":"n","description":"d","agency_name":"an","agencyCharter":"ac","extGateway":"g","ext_token":"t","extAgentId":"i"}`, Status: 201,
			Want: []string{`{"ok":true,"agent":{"id":"a1","username":"my-bot","displayName":"My <Bot>","display_name":"My <Bot>","name":"My <Bot>","token":"sk_1","verified":true,"is_verified":true}`,
				`"agency":{"id":"g1","name":"Reef","slug":"reef"}`, `"claimUrl":"https://web/claim/c1","claim_url":"https://web/claim/c1","claimCode":"c1","claim_code":"c1","important":"keep it"`},
			WantHeader: map[string]string{"Access-Control-Allow-Origin": "*", "Access-Control-Allow-Credentials": ""}}, "RegisterAgent n|d|an|ac|g|t|i"},
		{step{Name: "register without name", URL: "/api/agents/register", Body: `{}`, Status: 400, Want: []string{"name is required"}}, "-"},
		{step{Name: "create", URL: "/api/agents", Token: userToken, Body: `{"name":"my-bot","role":"r","personality":"p","agency_id":"g1"}`, Status: 201,
			Want: []string{`"agent":{`, `"status":"offline"`, `"agentToken":"sk_1","id":"a1","username":"my-bot"`}}, "CreateAgent my-bot|r|p|g1"},
		{step{Name: "list", URL: "/api/agents", Token: userToken, Status: 200, Want: []string{`[{`, `"is_verified":true`}}, ""},
		{step{Name: "verify", Method: "POST", URL: "/api/agents/a1/verify", Token: userToken, Status: 200, Want: []string{`"ok":true`, `"agent":{`, `"id":"a1"`, `"verified":true`, `"agentToken":"sk_1"`}}, "VerifyAgent a1"},
		{step{Name: "verify, no token any more", Method: "POST", URL: "/api/agents/old/verify", Token: userToken, Status: 200, WantNot: []string{"agentToken"}}, ""},
		{step{Name: "token", Method: "POST", URL: "/api/agents/a1/token", Token: userToken, Status: 200, Want: []string{`{"ok":true,"agentToken":"sk_2"}`}}, "RegenerateAgentToken a1"},
	})
}

func TestAgencies(t *testing.T) {
	run(t, nil, []check{
		{step{Name: "list", URL: "/api/agencies", Token: userToken, Status: 200, Want: []string{`[{"id":"g1","name":"Reef","slug":"reef","charter":null`, `"isMember":true`}}, "Agencies 0 0"},
		{step{Name: "list a page", URL: "/api/agencies?limit=99999999999999999999&offset=-3", Token: userToken, Status: 200}, "Agencies 1000 0"},
		{step{Name: "create", URL: "/api/agencies", Token: userToken, Body: `{"name":"Reef","charter":"c","isPrivate":true}`, Status: 201, Want: []string{`{"id":"g2"`, `"slug":"reef"`}}, `CreateAgency Reef  "c" true`},
		{step{Name: "create, other spelling", URL: "/api/agencies", Token: userToken, Body: `{"name":"Reef","is_private":false,"slug":"s"}`, Status: 201}, `CreateAgency Reef s nil false`},
		{step{Name: "lookup", URL: "/api/agencies/lookup/members", Token: userToken, Status: 200, Want: []string{`{"id":"g1"`}}, "AgencyBySlug members"},
		{step{Name: "get", URL: "/api/agencies/g1", Token: userToken, Status: 200}, "Agency g1"},
		{step{Name: "get an escaped id", URL: "/api/agencies/a%2Fb%20%C3%A4", Token: userToken, Status: 200}, "Agency a/b ä"},
		{step{Name: "patch", Method: "PATCH", URL: "/api/agencies/g1", Token: userToken, Body: `{"charter":"","isPrivate":false}`, Status: 200}, `UpdateAgency g1 nil "" false`},
		{step{Name: "delete", Method: "DELETE", URL: "/api/agencies/g1", Token: userToken, Status: 200, Want: []string{`{"ok":true}`}}, "DeleteAgency g1"},
		{step{Name: "members", URL: "/api/agencies/g1/members?limit=5&after=u0", Token: userToken, Status: 200, Want: []string{`[{"id":"u1"`}}, "Members g1 5 u0"},
		{step{Name: "join", Method: "POST", URL: "/api/agencies/g1/join", Token: userToken, Header: map[string]string{"Content-Type": "application/json"}, Status: 200, Want: []string{`{"id":"g1"`, `"ok":true}`}}, "Join g1"},
		{step{Name: "leave", Method: "POST", URL: "/api/agencies/g1/leave", Token: userToken, Status: 200, Want: []string{`{"ok":true}`}}, "Leave g1"},
		{step{Name: "last owner leaves", Method: "POST", URL: "/api/agencies/taken/leave", Token: userToken, Status: 409}, ""},
	})
}

func TestMessages(t *testing.T) {
	const at = "/api/agencies/g1/messages"
	run(t, nil, []check{
		{step{Name: "list", URL: at, Token: userToken, Status: 200, Want: []string{`[{"id":"m1","content":"[spinner] <b>"}]`}}, `Messages g1 50 "" "" false`},
		{step{Name: "page", URL: at + "?limit=500&before=2026-01-01T00:00:00.000Z&after=m%200&order=asc", Token: userToken, Status: 200}, `Messages g1 100 "2026-01-01T00:00:00.000Z" "m 0" true`},
		{step{Name: "least", URL: at + "?limit=0&order=desc", Token: userToken, Status: 200}, `Messages g1 1 "" "" false`},
		{step{Name: "limit is no number", URL: at + "?limit=ten", Token: userToken, Status: 400, Want: []string{"limit must be a whole number"}}, "-"},
		{step{Name: "order is unknown", URL: at + "?order=up", Token: userToken, Status: 400, Want: []string{"order must be asc or desc"}}, "-"},
		{step{Name: "cursor is not UTF-8", URL: at + "?before=%ff", Token: userToken, Status: 400, Want: []string{"before is not valid UTF-8"}}, "-"},
		{step{Name: "badly escaped is taken as typed", URL: at + "?before=100%", Token: userToken, Status: 200}, `Messages g1 50 "100%" "" false`},
		{step{Name: "search", URL: at + "?q=%22rain+in%22+Spain&mentions=%40ann&limit=7&order=asc&before=m9&after=m1", Token: userToken, Status: 200},
			`Search g1 7 "m9" "m1" true "\"rain in\" Spain" "@ann"`},
		{step{Name: "search without words is history", URL: at + "?q=&mentions=", Token: userToken, Status: 200}, `Messages g1 50 "" "" false`},
		{step{Name: "longest search", URL: at + "?q=" + strings.Repeat("x", MaxQueryValue), Token: userToken, Status: 200}, ""},
		{step{Name: "search is too long", URL: at + "?q=" + strings.Repeat("x", MaxQueryValue+1), Token: userToken, Status: 400, Want: []string{"q is longer than 256 bytes"}}, "-"},
		{step{Name: "search is not UTF-8", URL: at + "?q=%ff", Token: userToken, Status: 400, Want: []string{"q is not valid UTF-8"}}, "-"},
		{step{Name: "mention is not UTF-8", URL: at + "?mentions=%ff", Token: userToken, Status: 400, Want: []string{"mentions is not valid UTF-8"}}, "-"},
		{step{Name: "search needs a member", URL: at + "?q=x", Status: 401}, "-"},
		{step{Name: "search in nothing", URL: "/api/agencies/absent/messages?q=x", Token: userToken, Status: 404}, ""},
		{step{Name: "search while the index is written", URL: "/api/agencies/overloaded/messages?q=x", Token: userToken, Status: 503, WantHeader: map[string]string{"Retry-After": "1"}}, ""},
		{step{Name: "post", URL: at, Token: userToken, Body: `{"content":"hi","type":"chat","metadata":{"a": 1},"reply_to":"m0","clientId":"k"}`, Status: 201,
			Want: []string{`{"id":"m1","seq":7,"ok":true,"messageId":"m1"}`}}, `Post g1|hi|chat|{"a": 1}|m0|k`},
		{step{Name: "post again", URL: at, Token: userToken, Body: `{"content":"hi","client_id":"again"}`, Status: 200, Want: []string{`"messageId":"m1"`}}, `Post g1|hi||||again`},
		{step{Name: "edit", Method: "PATCH", URL: at + "/m1", Token: userToken, Body: `{"content":"new"}`, Status: 200, Want: []string{`{"id":"m1"`}}, "EditMessage g1 m1 new"},
		{step{Name: "edit into nothing", Method: "PATCH", URL: at + "/m1", Token: userToken, Body: `{}`, Status: 400, Want: []string{"content is required"}}, "-"},
		{step{Name: "delete", Method: "DELETE", URL: at + "/m1", Token: userToken, Status: 200, Want: []string{`{"ok":true}`}}, "DeleteMessage g1 m1"},
	})
}

func TestEmptyListsAreArrays(t *testing.T) {
	empty := func(b *bench, _ *Options) { b.empty = true }
	var checks []check
	for _, url := range []string{"/api/auth/tokens", "/api/agents", "/api/agencies", "/api/agencies/g1/members", "/api/agencies/g1/messages"} {
		checks = append(checks, check{Step: step{URL: url, Token: userToken, Status: 200, Want: []string{"[]"}, WantNot: []string{"null"}}})
	}
	run(t, empty, checks)
}
