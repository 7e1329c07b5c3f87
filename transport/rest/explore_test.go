package rest

import (
	"strings"
	"testing"
)

func TestExplore(t *testing.T) {
	long := strings.Repeat("x", MaxQueryValue+1)
	checks := []check{
		{step{URL: "/api/explore/agencies", Status: 200, Want: []string{`{"agencies":[{"id":"g1","name":"Reef","slug":"reef"`, `"member_count":2`, `"isMember":`, `"charter":`}},
			`ExploreAgencies nobody "" 20 0`},
		{step{Name: "with a token", URL: "/api/explore/agencies?q=re&limit=5&offset=40", Token: userToken, Status: 200}, `ExploreAgencies Ann "re" 5 40`},
		{step{Name: "with a stale token", URL: "/api/explore/agencies", Token: "stale", Status: 200}, `ExploreAgencies nobody "" 20 0`},
		{step{Name: "the store is away", URL: "/api/explore/agencies", Token: "down", Status: 503}, "-"},
		{step{URL: "/api/explore/agents?limit=50", Status: 200, Want: []string{`{"agents":[{`, `"agencySlug":"reef"`, `"agency_slug":"reef"`, `"verified":true`, `"role":`,
			`"name":"My `, `"display_name":"My `, `"displayName":"My `, `"username":"my-bot"`, `"personality":`, `"avatar":`}}, `ExploreAgents "" 50 0`},
		{step{URL: "/api/explore/users?q=@ann&limit=15", Status: 200, Want: []string{`{"users":[{"id":"u1","username":"Ann"`, `"type":"user"`, `"type":"agent"`,
			`"displayName":"Ann A"`, `"display_name":"Ann A"`, `"description":`}}, `ExploreUsers "@ann" 15 0`},
		{step{Name: "not escaped", URL: "/api/explore/users?limit=5&q=100%", Status: 200}, `ExploreUsers "100%" 5 0`},
		{step{Name: "double slashes", URL: "//api//explore/users?q=Ann+B", Status: 200}, `ExploreUsers "Ann B" 20 0`},
		{step{Name: "HEAD", Method: "HEAD", URL: "/api/explore/users", Status: 200}, ""},
		{step{Name: "POST", Method: "POST", URL: "/api/explore/users", Status: 405, WantHeader: map[string]string{"Allow": "GET, HEAD, OPTIONS"}}, "-"},
		{step{Name: "no such list", URL: "/api/explore/nothing", Status: 404}, "-"},
	}
	for _, list := range []string{"agencies", "agents", "users"} {
		at := "/api/explore/" + list
		call := map[string]string{"agencies": `ExploreAgencies nobody`, "agents": "ExploreAgents", "users": "ExploreUsers"}[list]
		checks = append(checks,
			check{step{URL: at + "?q=" + long, Status: 400, Want: []string{"q is longer than 256 bytes"}}, "-"},
			check{step{URL: at + "?q=%ff", Status: 400, Want: []string{"q is not valid UTF-8"}}, "-"},
			check{step{URL: at + "?limit=ten", Status: 400, Want: []string{"limit must be a whole number"}}, "-"},
			check{step{URL: at + "?offset=1.5", Status: 400, Want: []string{"offset must be a whole number"}}, "-"},
			check{step{URL: at + "?limit=-5&offset=-1", Status: 200}, call + ` "" 1 0`},
			check{step{URL: at + "?limit=0", Status: 200}, call + ` "" 1 0`},
			check{step{URL: at + "?limit=1000&offset=99999999999999999999", Status: 200}, call + ` "" 100 10000`},
		)
	}
	run(t, nil, checks)
	empty := func(b *bench, _ *Options) { b.empty = true }
	run(t, empty, []check{
		{step{Name: "no agencies", URL: "/api/explore/agencies", Status: 200, Want: []string{`{"agencies":[]}`}}, ""},
		{step{Name: "no agents", URL: "/api/explore/agents", Status: 200, Want: []string{`{"agents":[]}`}}, ""},
		{step{Name: "no users", URL: "/api/explore/users", Status: 200, Want: []string{`{"users":[]}`}}, ""},
	})
}

func TestSearchInLists(t *testing.T) {
	run(t, nil, []check{
		{step{URL: "/api/agencies?q=re%20ef&limit=5", Token: userToken, Status: 200, Want: []string{`[{"id":"g1"`}}, `Agencies 5 0 "re ef"`},
		{step{URL: "/api/agencies?q=%ff", Token: userToken, Status: 400, Want: []string{"q is not valid UTF-8"}}, "-"},
		{step{URL: "/api/agencies?limit=x", Token: userToken, Status: 400, Want: []string{"limit must be a whole number"}}, "-"},
		{step{URL: "/api/agencies?offset=99999999999", Token: userToken, Status: 200}, "Agencies 0 1000000"},
		{step{URL: "/api/agencies/g1/members?q=+Ann+&limit=5&after=u0", Token: userToken, Status: 200, Want: []string{"[]"}}, `FindMembers g1 "Ann" 5 u0`},
		{step{URL: "/api/agencies/g1/members?q=+", Token: userToken, Status: 200, Want: []string{`[{"id":"u1"`}}, "Members g1 0 "},
		{step{URL: "/api/agencies/g1/members?q=" + strings.Repeat("x", 300), Token: userToken, Status: 400, Want: []string{"q is longer"}}, "-"},
	})
}
