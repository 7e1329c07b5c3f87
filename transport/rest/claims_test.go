package rest

import (
	"strings"
	"testing"
)

func TestAgentConfig(t *testing.T) {
	const at = "/api/agents/a1/config"
	run(t, nil, []check{
		{step{Name: "get", URL: at, Token: userToken, Status: 200, Want: []string{`{"config":{"extAgentId":"main"}}`}}, "AgentConfig a1 "},
		{step{Name: "get of an agency", URL: at + "?agencyId=g1", Token: patToken, Status: 200}, "AgentConfig a1 g1"},
		{step{Name: "get, other spelling", URL: at + "?agency_id=g1", Token: userToken, Status: 200}, "AgentConfig a1 g1"},
		{step{Name: "get without a credential", URL: at, Status: 401}, "-"},
		{step{Name: "get of somebody else's", URL: "/api/agents/forbidden/config", Token: userToken, Status: 403}, ""},
		{step{Name: "agency is not UTF-8", URL: at + "?agencyId=%ff", Token: userToken, Status: 400}, "-"},
		{step{Name: "patch", Method: "PATCH", URL: at + "?agencyId=g1", Token: userToken, Body: `{"extToken":"x","note":null,"n":[1]}`, Status: 200,
			Want: []string{`{"ok":true,"config":{"extToken":"sk-…abcd"}}`}}, `SetAgentConfig a1 g1 {"extToken":"x","n":[1],"note":null}`},
		{step{Name: "patch nothing", Method: "PATCH", URL: at, Token: userToken, Status: 200}, `SetAgentConfig a1  null`},
		{step{Name: "patch with a list", Method: "PATCH", URL: at, Token: userToken, Body: `[]`, Status: 400}, "-"},
		{step{Name: "patch refused", Method: "PATCH", URL: "/api/agents/invalid/config", Token: userToken, Body: `{"a":1}`, Status: 400}, ""},
	})
}

func TestAgentOwners(t *testing.T) {
	const at = "/api/agents/a1/transfer"
	run(t, nil, []check{
		{step{Name: "by name", URL: at, Token: userToken, Body: `{"newOwnerUsername":"Ann"}`, Status: 200,
			Want: []string{`{"ok":true,"agent":{"id":"a1","username":"my-bot"},"newOwner":{"id":"u1","username":"Ann"}`}}, "TransferAgent a1 |Ann"},
		{step{Name: "by both", URL: at, Token: userToken, Body: `{"new_owner_id":"u1","new_owner_username":"Ann"}`, Status: 200}, "TransferAgent a1 u1|Ann"},
		{step{Name: "by nothing", Method: "POST", URL: at, Token: userToken, Status: 400, Want: []string{"newOwnerUsername or newOwnerId is required"}}, "-"},
		{step{Name: "by a number", URL: at, Token: userToken, Body: `{"newOwnerId":7}`, Status: 400, Want: []string{"newOwnerId must be a string"}}, "-"},
		{step{Name: "not the owner", URL: "/api/agents/forbidden/transfer", Token: userToken, Body: `{"newOwnerId":"u2"}`, Status: 403}, ""},
		{step{Name: "delete", Method: "DELETE", URL: "/api/agents/a1", Token: userToken, Status: 200, Want: []string{`{"ok":true}`}}, "DeleteAgent a1"},
		{step{Name: "delete somebody else's", Method: "DELETE", URL: "/api/agents/forbidden", Token: userToken, Status: 403}, ""},
		{step{Name: "venice", URL: "/api/agents/venice-create", Token: userToken, Body: `{"name":"n","role":"r","personality":"p","api_key":"k","model":"m","agencyId":"g1"}`,
			Status: 201, Want: []string{`"agent":{`, `"agentToken":"sk_1","id":"a1","username":"my-bot"`}, WantNot: []string{`"k"`}}, "CreateVeniceAgent n|r|p|g1|k|m"},
		{step{Name: "venice without a key", URL: "/api/agents/venice-create", Token: userToken, Body: `{"name":"n"}`, Status: 400, Want: []string{"apiKey is required"}}, "-"},
	})
}

func TestAgentMembers(t *testing.T) {
	const at = "/api/agencies/g1/agents"
	run(t, nil, []check{
		{step{Name: "by id", URL: at, Token: userToken, Body: `{"agent_id":"a1"}`, Status: 200,
			Want: []string{`{"agent":{"id":"a1","username":"my-bot"},"ok":true,"agency":{"id":"g1"`, `"agencyId":"g1","agency_id":"g1"`}}, "AddAgent g1|a1||||"},
		{step{Name: "by name", URL: at, Token: userToken, Body: `{"username":"my-bot","agentId":null}`, Status: 200}, "AddAgent g1||my-bot|||"},
		{step{Name: "new", URL: at, Token: userToken, Body: `{"name":"n","role":"r","personality":"p"}`, Status: 201,
			Want: []string{`"agentToken":"sk_1"`, `"ok":true`}}, "AddAgent g1|||n|r|p"},
		{step{Name: "nobody", Method: "POST", URL: at, Token: userToken, Status: 400, Want: []string{"is required"}}, "-"},
		{step{Name: "a number", URL: at, Token: userToken, Body: `{"agentId":1}`, Status: 400}, "-"},
		{step{Name: "hidden agency", URL: "/api/agencies/absent/agents", Token: userToken, Body: `{"agentId":"a1"}`, Status: 404}, ""},
	})
}

func TestClaims(t *testing.T) {
	const at = "/api/agents/claim"
	to := func(query string) map[string]string {
		return map[string]string{"Location": "https://web.example/app/claim/result?" + query, "Referrer-Policy": "no-referrer"}
	}
	run(t, nil, []check{
		{step{Name: "claim", URL: at, Token: userToken, Body: `{"claimCode":"c1","email":"a@b.test"}`, Status: 200,
			Want: []string{`{"ok":true,"expiresAt":"1970-01-01T00:00:00.001Z","expires_at":"1970-01-01T00:00:00.001Z"}`}}, "ClaimAgent c1 a@b.test"},
		{step{Name: "claim without an address", URL: at, Token: userToken, Body: `{"code":"c1"}`, Status: 400, Want: []string{"email is required"}}, "-"},
		{step{Name: "claim without a code", URL: at, Token: userToken, Body: `{"email":"a@b.test"}`, Status: 400, Want: []string{"code is required"}}, "-"},
		{step{Name: "claim as nobody", URL: at, Body: `{"code":"c1","email":"a@b.test"}`, Status: 401}, "-"},
		{step{Name: "too many", URL: at, Token: userToken, Body: `{"code":"limited","email":"a@b.test"}`, Status: 429, WantHeader: map[string]string{"Retry-After": "2"}}, ""},
		{step{Name: "claimed", URL: at, Token: userToken, Body: `{"code":"taken","email":"a@b.test"}`, Status: 409}, ""},
		{step{Name: "page", URL: at + "/c1", Token: "stale", Status: 200, Want: []string{`"name":"My <Bot>"`, `"persona":""`, `"avatar":null`, `"claimed":false`, `"agent":{"id":"a1"`}}, "ClaimPage c1"},
		{step{Name: "page of a claimed one", URL: at + "/claimed", Status: 200, Want: []string{`"claimed":true`}}, ""},
		{step{Name: "page of none", URL: at + "/absent", Status: 404}, ""},
		{step{Name: "verify", URL: at + "/verify/t1", Status: 302, WantHeader: to("agent=my-bot&agentId=a1&status=success")}, "VerifyClaim t1"},
		{step{Name: "verify an unknown one", URL: at + "/verify/absent", Status: 302, WantHeader: to("message=no+such+thing&reason=unknown&status=error")}, ""},
		{step{Name: "verify too late", URL: at + "/verify/gone", Status: 302, WantHeader: to("message=too+late&reason=expired&status=error")}, ""},
		{step{Name: "verify after another", URL: at + "/verify/taken", Status: 302, WantHeader: to("message=the+name+is+taken&reason=claimed&status=error")}, ""},
		{step{Name: "verify without the store", URL: at + "/verify/unavailable", Status: 302, WantHeader: to("message=the+server+can%27t+reach")}, ""},
		{step{Name: "verify and fail", URL: at + "/verify/unknown", Status: 302, WantHeader: to("message=internal+error&reason=error&status=error")}, ""},
		{step{Name: "verify what is too long", URL: at + "/verify/" + strings.Repeat("t", MaxPathID+1), Status: 302, WantHeader: to("message=no+such+thing&reason=unknown&status=error")}, "VerifyClaim "},
		{step{Name: "verify what is not UTF-8", URL: at + "/verify/%ff", Status: 302, WantHeader: to("message=no+such+thing&reason=unknown&status=error")}, "VerifyClaim "},
		{step{Name: "verify controls", URL: at + "/verify/a%0d%0ab", Status: 302, WantHeader: to("message=no+such+thing&reason=unknown&status=error")}, "VerifyClaim "},
		{step{Name: "page of what is too long", URL: at + "/" + strings.Repeat("c", MaxPathID+1), Status: 404}, "-"},
		{step{Name: "no verification by HEAD", Method: "HEAD", URL: at + "/verify/t1", Status: 405}, "-"},
	})
}
