package rest

import "testing"

func TestUsers(t *testing.T) {
	run(t, nil, []check{
		{step{URL: "/api/users/Ann", Status: 200, Want: []string{`{"id":"u1","username":"Ann","displayName":"Ann A","type":"user","role":"user"`, `"display_name":"Ann A"`,
			`"description":""`, `"avatar":null`, `"banner":null`, `"theme":null`, `"font":null`, `"followers":0,"following":0`, `"created_at":"1970-01-01T00:00:00.001Z"`,
			`"createdAt":`, `"isFollowing":false,"is_following":false`}}, "Person nobody Ann"},
		{step{Name: "bearer", URL: "/api/users/ann", Token: userToken, Status: 200, Want: []string{`"isFollowing":true,"is_following":true`}}, "Person u1 ann"},
		{step{Name: "stale bearer", URL: "/api/users/ann", Token: "stale", Status: 200}, "Person nobody ann"},
		{step{Name: "as typed", URL: "/api/users/@ann%20x", Status: 200}, "Person nobody @ann x"},
		{step{Name: "unescaped", URL: "/api/users/ann~(x)!", Status: 200}, "Person nobody ann~(x)!"},
		{step{Name: "doubled slashes", URL: "//api/users//ann/", Status: 200}, "Person nobody ann"},
		{step{Name: "absent", URL: "/api/users/absent", Status: 404}, ""},
		{step{Method: "HEAD", URL: "/api/users/ann", Status: 200}, "Person nobody ann"},
		{step{Method: "POST", URL: "/api/users/ann", Status: 405}, "-"},
	})
}

func TestFollows(t *testing.T) {
	json := map[string]string{"Content-Type": "application/json"}
	run(t, nil, []check{
		{step{Method: "POST", URL: "/api/users/Bob/follow", Token: userToken, Header: json, Status: 200, Want: []string{`{"ok":true,"following":true,"followers":3}`}}, "Follow u1 Bob"},
		{step{Method: "DELETE", URL: "/api/users/bob/follow", Token: patToken, Header: json, Status: 200, Want: []string{`{"ok":true,"following":false,"followers":2}`}}, "Unfollow u1 bob"},
		{step{Name: "oneself", Method: "POST", URL: "/api/users/invalid/follow", Token: userToken, Status: 400}, ""},
		{step{Name: "too many", Method: "POST", URL: "/api/users/taken/follow", Token: userToken, Status: 409}, ""},
		{step{Name: "unknown", Method: "DELETE", URL: "/api/users/absent/follow", Token: userToken, Status: 404}, ""},
		{step{Name: "stale", Method: "POST", URL: "/api/users/bob/follow", Token: "stale", Status: 401}, "-"},
		{step{Name: "foreign page", Method: "POST", URL: "/api/users/bob/follow", Header: map[string]string{"Cookie": "acme_token=" + userToken, "Origin": "https://evil.example"}, Status: 403}, "-"},
		{step{URL: "/api/users/bob/followers", Status: 200, Want: []string{`[{"`, `"username":"my-bot"`, `"is_agent":true`, `"followed_at":"1970-01-01T00:00:00.001Z"`}}, `Followers bob 50 ""`},
		{step{URL: "/api/users/bob/following?limit=500&after=u9", Token: "stale", Status: 200}, `Following bob 100 "u9"`},
		{step{URL: "/api/users/bob/following?limit=-3", Status: 200}, `Following bob 1 ""`},
		{step{URL: "/api/users/bob/followers?limit=x", Status: 400, Want: []string{"limit must be a whole number"}}, "-"},
		{step{URL: "/api/users/absent/followers", Status: 404}, ""},
	})
	run(t, func(b *bench, _ *Options) { b.empty = true }, []check{
		{step{URL: "/api/users/bob/followers", Status: 200, Want: []string{"[]"}}, ""},
		{step{URL: "/api/users/bob/following", Status: 200, Want: []string{"[]"}}, ""},
	})
}
