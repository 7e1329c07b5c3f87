package rest

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

func TestCredentials(t *testing.T) {
	h := func(pairs ...string) map[string]string {
		m := map[string]string{}
		for i := 0; i < len(pairs); i += 2 {
			m[pairs[i]] = pairs[i+1]
		}
		return m
	}
	const me = "/api/auth/me"
	refused := h("WWW-Authenticate", "Bearer")
	run(t, nil, []check{
		{step{Name: "bearer", URL: me, Token: userToken, Status: 200}, ""},
		{step{Name: "PAT", URL: me, Token: patToken, Status: 200}, ""},
		{step{Name: "scheme in any case", URL: me, Header: h("Authorization", "bEaReR   "+userToken), Status: 200}, ""},
		{step{Name: "none", URL: me, Status: 401, WantHeader: refused}, "-"},
		{step{Name: "stale", URL: me, Token: "stale", Status: 401, WantHeader: refused}, "-"},
		{step{Name: "too long", URL: me, Token: strings.Repeat("x", MaxCredential+1), Status: 401, WantHeader: refused}, "-"},
		{step{Name: "empty bearer", URL: me, Header: h("Authorization", "Bearer"), Status: 401, WantHeader: refused}, "-"},
		{step{Name: "other scheme", URL: me, Header: h("Authorization", "Basic "+userToken), Status: 401, WantHeader: refused}, "-"},
		{step{Name: "cookie", URL: me, Header: h("Cookie", "acme_token="+userToken), Status: 200}, ""},
		{step{Name: "second vendor's cookie", URL: me, Header: h("Cookie", "service_token="+userToken), Status: 200}, ""},
		{step{Name: "foreign cookie", URL: me, Header: h("Cookie", "token="+userToken), Status: 401}, "-"},
		{step{Name: "cookie beside a proxy's Basic", URL: me, Header: h("Authorization", "Basic eA==", "Cookie", "acme_token="+userToken), Status: 200}, ""},
		{step{Name: "a bad bearer is not saved by the cookie", URL: me, Header: h("Authorization", "Bearer stale", "Cookie", "acme_token="+userToken), Status: 401}, "-"},
		{step{Name: "the store is away", URL: me, Token: "down", Status: 503}, "-"},
		{step{Name: "an optional one, the store is away", URL: "/api/auth/logout", Token: "down", Status: 503}, "-"},
	})
}

// TestEveryRouteKeepsItsRule asks each protected route without a credential, and counts that there are public ones.
func TestEveryRouteKeepsItsRule(t *testing.T) {
	var checks []check
	rules := map[Auth]int{}
	for _, r := range Routes() {
		rules[r.Auth]++
		if r.Auth == Required {
			checks = append(checks, check{step{Method: r.Method, URL: strings.NewReplacer("{", "", "}", "").Replace(r.Path), Status: 401}, "-"})
		}
	}
	if rules[Required] != 62 || rules[Optional] != 9 || rules[Public] != 19 || rules[AgentToken] != 1 {
		t.Errorf("the table has %v", rules)
	}
	run(t, nil, checks)
}

func TestOriginOfCookieChanges(t *testing.T) {
	change := func(name string, status int, pairs ...string) check {
		header := map[string]string{"Cookie": "acme_token=" + userToken}
		for i := 0; i < len(pairs); i += 2 {
			header[pairs[i]] = pairs[i+1]
		}
		call := "Leave g1"
		if status != 200 {
			call = "-"
		}
		return check{step{Name: name, Method: "POST", URL: "/api/agencies/g1/leave", Header: header, Status: status}, call}
	}
	link := func(name string, status int, pairs ...string) check {
		c := change("link: "+name, status, pairs...)
		c.Method, c.URL, c.Call = "GET", "/api/auth/logout", "Logout s1"
		if status != 302 {
			c.Call = "-"
		}
		return c
	}
	run(t, nil, []check{
		change("own origin", 200, "Origin", "https://chat.example"),
		change("own origin with port", 200, "Origin", "https://chat.example:443"),
		change("front end", 200, "Origin", "https://WEB.example"),
		change("own referer", 200, "Referer", "https://web.example/app?x=1"),
		change("neither", 403),
		change("foreign", 403, "Origin", "https://evil.example"),
		change("plain http", 403, "Origin", "http://chat.example"),
		change("other port", 403, "Origin", "https://chat.example:444"),
		change("longer name", 403, "Origin", "https://chat.example.evil"),
		change("user part", 403, "Referer", "https://chat.example@evil.example/"),
		change("null", 403, "Origin", "null"),
		change("null with a good referer", 403, "Origin", "null", "Referer", "https://chat.example/"),
		change("foreign with a good referer", 403, "Origin", "https://evil.example", "Referer", "https://chat.example/"),
		change("malformed", 403, "Origin", "https://%zz"),
		change("fetch metadata do not suffice", 403, "Sec-Fetch-Site", "same-origin"),
		change("bearer needs none", 200, "Origin", "https://evil.example", "Authorization", "Bearer "+userToken),
		link("typed", 302, "Sec-Fetch-Site", "none"),
		link("same origin", 302, "Sec-Fetch-Site", "same-origin"),
		link("same site", 302, "Sec-Fetch-Site", "same-site"),
		link("front end elsewhere", 302, "Sec-Fetch-Site", "cross-site", "Referer", "https://web.example/"),
		link("foreign", 403, "Sec-Fetch-Site", "cross-site", "Referer", "https://evil.example/"),
		link("neither", 403),
		{step{Name: "reading needs none", URL: "/api/auth/me", Header: map[string]string{"Cookie": "acme_token=" + userToken, "Origin": "https://evil.example"}, Status: 200}, ""},
	})
}

func TestCrossOrigin(t *testing.T) {
	pre := func(origin string) map[string]string {
		return map[string]string{"Origin": origin, "Access-Control-Request-Method": "PATCH", "Access-Control-Request-Headers": "authorization,content-type"}
	}
	run(t, nil, []check{
		{step{Name: "own page", URL: "/healthz", Header: map[string]string{"Origin": "https://web.example"}, Status: 200,
			WantHeader: map[string]string{"Access-Control-Allow-Origin": "https://web.example", "Access-Control-Allow-Credentials": "true", "Vary": "Origin"}}, ""},
		{step{Name: "foreign page", URL: "/api/auth/me", Token: userToken, Header: map[string]string{"Origin": "https://other.example"}, Status: 200,
			WantHeader: map[string]string{"Access-Control-Allow-Origin": "*", "Access-Control-Allow-Credentials": "", "Access-Control-Expose-Headers": "Retry-After"}}, ""},
		{step{Name: "errors can be read", URL: "/api/auth/me", Header: map[string]string{"Origin": "https://other.example"}, Status: 401,
			WantHeader: map[string]string{"Access-Control-Allow-Origin": "*"}}, ""},
		{step{Name: "no page", URL: "/healthz", Status: 200, WantHeader: map[string]string{"Access-Control-Allow-Origin": ""}}, ""},
		{step{Name: "preflight of an own page", Method: "OPTIONS", URL: "/api/auth/me", Header: pre("https://chat.example"), Status: 204,
			WantHeader: map[string]string{"Access-Control-Allow-Origin": "https://chat.example", "Access-Control-Allow-Credentials": "true", "Access-Control-Allow-Methods": "PATCH"}}, "-"},
		{step{Name: "preflight of a foreign page", Method: "OPTIONS", URL: "/api/agents/register", Header: pre("https://other.example"), Status: 204,
			WantHeader: map[string]string{"Access-Control-Allow-Origin": "*", "Access-Control-Allow-Credentials": "", "Access-Control-Allow-Headers": "authorization"}}, "-"},
	})
}

func TestCookieWithoutTLS(t *testing.T) {
	plain := func(_ *bench, o *Options) {
		o.PublicURL, o.WebURL, o.Vendors = &url.URL{Scheme: "http", Host: "127.0.0.1:8080"}, nil, nil
	}
	run(t, plain, []check{
		{step{Name: "set", URL: "/api/auth/login", Body: `{"username":"a","password":"b"}`, Status: 200,
			WantHeader: map[string]string{"Set-Cookie": "service_token=new-token; Path=/; Max-Age=604800; HttpOnly; SameSite=Lax"}}, ""},
		{step{Name: "redirect", URL: "/api/auth/logout", Status: http.StatusFound, WantHeader: map[string]string{"Location": "http://127.0.0.1:8080"}}, ""},
	})
}
