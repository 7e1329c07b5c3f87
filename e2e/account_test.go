package e2e

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/e2e/client"
)

// token is a personal access token as it is created and listed.
type token struct {
	ID        string   `json:"id"`
	Name      string   `json:"name"`
	Token     string   `json:"token"`
	Prefix    string   `json:"tokenPrefix"`
	Scopes    []string `json:"scopes"`
	Expires   *string  `json:"expires_at"`
	Expires2  *string  `json:"expiresAt"`
	Created   string   `json:"created_at"`
	LastUsed  *string  `json:"last_used_at"`
	LastUsed2 *string  `json:"lastUsedAt"`
}

var patForm = regexp.MustCompile(`^cru_[0-9a-f]{48}$`)

func TestAccessTokens(t *testing.T) {
	t.Parallel()
	api := common(t)
	ann, bob := user(t, api, "ann"), user(t, api, "bob")
	made := map[string]token{}
	for term, days := range map[string]int{"30d": 30, "365d": 365, "1y": 365, "never": 0} {
		p := must[token](t, ann.API, http.MethodPost, "/api/auth/tokens", map[string]string{"name": term, "expires": term})
		if !patForm.MatchString(p.Token) || len(p.Scopes) != 1 || p.Scopes[0] != "all" || !strings.HasPrefix(p.Token, strings.TrimSuffix(p.Prefix, "…")) {
			t.Fatalf("made %+v", p)
		}
		checkExpiry(t, p, days)
		made[term] = p
	}
	for _, p := range must[[]token](t, ann.API, http.MethodGet, "/api/auth/tokens", nil) {
		if p.Token != "" || made[p.Name].ID != p.ID || p.Created == "" || p.LastUsed != nil {
			t.Fatalf("listed %+v", p)
		}
	}
	pat := api.As(made["never"].Token)
	if got := me(t, pat); got.ID != ann.ID {
		t.Fatalf("the token belongs to %+v", got)
	}
	s := opened(t, client.DialPlain, api.Base, pat.Token)
	joined(t, s, must[client.Agency](t, pat, http.MethodGet, "/api/agencies/lookup/lobby", nil))
	eventually(t, "noting the token's use", func() bool {
		for _, p := range must[[]token](t, ann.API, http.MethodGet, "/api/auth/tokens", nil) {
			if p.ID == made["never"].ID && p.LastUsed != nil && p.LastUsed2 != nil {
				return true
			}
		}
		return false
	})

	revoke := "/api/auth/tokens/" + made["never"].ID
	refused(t, bob.API, http.MethodDelete, revoke, nil, 403)
	refused(t, ann.API, http.MethodDelete, "/api/auth/tokens/none", nil, 404)
	must[json.RawMessage](t, ann.API, http.MethodDelete, revoke, nil)
	refused(t, pat, http.MethodGet, "/api/auth/me", nil, 401)
	wantClose(t, s, 4401)
	refused(t, ann.API, http.MethodDelete, revoke, nil, 404)

	for i := len(made) - 1; i < 10; i++ {
		must[token](t, ann.API, http.MethodPost, "/api/auth/tokens", map[string]string{"name": "more"})
	}
	refused(t, ann.API, http.MethodPost, "/api/auth/tokens", map[string]string{"name": "eleventh"}, 400)
}

// checkExpiry compares the end of a token with its term; 0 days is never.
func checkExpiry(t *testing.T, p token, days int) {
	t.Helper()
	if days == 0 {
		if p.Expires != nil || p.Expires2 != nil {
			t.Fatalf("a token without end ends: %+v", p)
		}
		return
	}
	if p.Expires == nil || p.Expires2 == nil || *p.Expires != *p.Expires2 {
		t.Fatalf("a token of %d days: %+v", days, p)
	}
	at, err := time.Parse("2006-01-02T15:04:05.000Z", *p.Expires)
	if off := time.Until(at) - time.Duration(days)*24*time.Hour; err != nil || off.Abs() > time.Minute {
		t.Fatalf("a token of %d days ends at %s, %v", days, *p.Expires, err)
	}
}

func TestTokenNames(t *testing.T) {
	t.Parallel()
	ann := user(t, common(t), "ann")
	for _, body := range []string{`{}`, `{"name":""}`, `{"name":"x","expiresIn":"2w"}`, `{"name":"x","expires":5}`, `{"name":"` + strings.Repeat("x", 65) + `"}`} {
		refused(t, ann.API, http.MethodPost, "/api/auth/tokens", json.RawMessage(body), 400)
	}
}

// TestPasswordChange: every session ends, with its sockets, and PATs stay (decision 8).
func TestPasswordChange(t *testing.T) {
	t.Parallel()
	api := common(t)
	ann := user(t, api, "ann")
	second, err := api.Login(soon(t), strings.ToUpper(ann.Username), password)
	if err != nil {
		t.Fatal("login in another case:", err)
	}
	pat := must[token](t, ann.API, http.MethodPost, "/api/auth/tokens", map[string]string{"name": "keep"})
	first, other := ann.plain(t), opened(t, client.DialPlain, api.Base, second.Token)
	kept := opened(t, client.DialPlain, api.Base, pat.Token)

	path := "/api/auth/change-password"
	refused(t, ann.API, http.MethodPost, path, map[string]string{"currentPassword": "wrong", "newPassword": "battery staple"}, 403)
	refused(t, ann.API, http.MethodPost, path, map[string]string{"currentPassword": password, "newPassword": "short"}, 400)
	me(t, ann.API)
	must[json.RawMessage](t, ann.API, http.MethodPost, path, map[string]string{"currentPassword": password, "newPassword": "battery staple"})

	wantClose(t, first, 4401)
	wantClose(t, other, 4401)
	refused(t, ann.API, http.MethodGet, "/api/auth/me", nil, 401)
	refused(t, api.As(second.Token), http.MethodGet, "/api/auth/me", nil, 401)
	me(t, api.As(pat.Token))
	lobby := must[client.Agency](t, api.As(pat.Token), http.MethodGet, "/api/agencies/lookup/lobby", nil)
	joined(t, kept, lobby)
	_, err = api.Login(soon(t), ann.Username, password)
	wantStatus(t, err, 401)
	if _, err := api.Login(soon(t), ann.Username, "battery staple"); err != nil {
		t.Fatal(err)
	}
}

func TestLogout(t *testing.T) {
	t.Parallel()
	api := common(t)
	ann := user(t, api, "ann")
	second, err := api.Login(soon(t), ann.Username, password)
	if err != nil {
		t.Fatal(err)
	}
	here, there := ann.plain(t), opened(t, client.DialPlain, api.Base, second.Token)
	must[json.RawMessage](t, ann.API, http.MethodPost, "/api/auth/logout", nil)
	wantClose(t, here, 4401)
	refused(t, ann.API, http.MethodGet, "/api/auth/me", nil, 401)
	me(t, api.As(second.Token))
	joined(t, there, must[client.Agency](t, api.As(second.Token), http.MethodGet, "/api/agencies/lookup/lobby", nil))
}

// TestAccountDeletion: what follows from the end of an account (decision 9).
func TestAccountDeletion(t *testing.T) {
	t.Parallel()
	api := common(t)
	ann, bob, eve := user(t, api, "ann"), user(t, api, "bob"), user(t, api, "eve")
	shared, lonely := ann.room(t, "shared", false), ann.room(t, "lonely", false)
	bob.enter(t, shared)
	eve.enter(t, shared)
	said := ann.post(t, shared, "I was here")
	pat := must[token](t, ann.API, http.MethodPost, "/api/auth/tokens", map[string]string{"name": "pat"})
	agent := must[created](t, ann.API, http.MethodPost, "/api/agents", map[string]string{"name": fresh("bot"), "agencyId": shared.ID})
	live := ann.plain(t)
	watcher := bob.plain(t)
	joined(t, watcher, shared)

	refused(t, ann.API, http.MethodDelete, "/api/auth/account", map[string]string{"password": "wrong"}, 403)
	refused(t, api.As(pat.Token), http.MethodDelete, "/api/auth/account", nil, 403) // a PAT is no fresh login
	must[json.RawMessage](t, ann.API, http.MethodDelete, "/api/auth/account", map[string]string{"password": password})

	wantClose(t, live, 4401)
	refused(t, ann.API, http.MethodGet, "/api/auth/me", nil, 401)
	refused(t, api.As(pat.Token), http.MethodGet, "/api/auth/me", nil, 401)
	_, err := api.Login(soon(t), ann.Username, password)
	wantStatus(t, err, 401)
	eventually(t, "passing the ownership to the longest-standing member", func() bool {
		g := must[client.Agency](t, bob.API, http.MethodGet, "/api/agencies/"+shared.ID, nil)
		return g.Role != nil && *g.Role == "owner" && g.MemberCount == 2
	})
	eventually(t, "deleting the agency that nobody else was in", func() bool {
		return bob.Call(soon(t), http.MethodGet, "/api/agencies/"+lonely.ID, nil, nil) != nil
	})
	refused(t, bob.API, http.MethodGet, "/api/agencies/lookup/"+lonely.Slug, nil, 404)
	_, err = api.Exchange(soon(t), agent.AgentToken)
	wantStatus(t, err, 401)
	history, err := bob.History(soon(t), shared.ID)
	if err != nil || len(history) != 1 || history[0].ID != said.ID || history[0].Content != "I was here" ||
		history[0].SenderUsername == ann.Username || !strings.Contains(strings.ToLower(history[0].SenderName), "deleted") {
		t.Fatalf("the history is %+v, %v", history, err)
	}
	if m := event[struct{ Change string }](t, watcher, "members-updated"); m.Change == "" {
		t.Fatal("members-updated says nothing")
	}
}

// TestAccountDeletionWithoutPassword: a login within the last ten minutes suffices, and the name is free again.
func TestAccountDeletionWithoutPassword(t *testing.T) {
	t.Parallel()
	api := common(t)
	ann := user(t, api, "ann")
	must[json.RawMessage](t, ann.API, http.MethodDelete, "/api/auth/account", nil)
	refused(t, ann.API, http.MethodGet, "/api/auth/me", nil, 401)
	again, err := api.Register(soon(t), ann.Username, password, "")
	if err != nil || again.User.ID == ann.ID {
		t.Fatalf("the name again: %+v, %v", again, err)
	}
}

// TestAccountDeletionWhileItActs: requests that are under way when an account ends leave nothing of it behind but
// messages of a deleted account.
func TestAccountDeletionWhileItActs(t *testing.T) {
	t.Parallel()
	api := common(t)
	bob := user(t, api, "bob")
	rooms := []client.Agency{bob.room(t, "one", false), bob.room(t, "two", false)}
	for range 4 {
		ann := user(t, api, "ann")
		ann.enter(t, rooms[0])
		s := ann.plain(t)
		joined(t, s, rooms[0])
		var acting sync.WaitGroup
		gone := make(chan struct{})
		for i := range 4 {
			acting.Go(func() {
				for ended := false; !ended; {
					select {
					case <-gone:
						ended = true // and once more
					default:
					}
					if i%2 == 0 {
						_ = ann.Join(soon(t), rooms[1].ID)
					} else {
						_, _ = ann.Post(soon(t), rooms[0].ID, "still here", "")
					}
				}
			})
		}
		must[json.RawMessage](t, ann.API, http.MethodDelete, "/api/auth/account", map[string]string{"password": password})
		close(gone)
		acting.Wait()
		wantClose(t, s, 4401)
	}
	for _, g := range rooms {
		eventually(t, "the end of every membership", func() bool {
			members := must[[]client.Member](t, bob.API, http.MethodGet, "/api/agencies/"+g.ID+"/members", nil)
			now := must[client.Agency](t, bob.API, http.MethodGet, "/api/agencies/"+g.ID, nil)
			return len(members) == 1 && now.MemberCount == 1
		})
	}
	history, err := bob.History(soon(t), rooms[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range history {
		if m.SenderUsername != "deleted" {
			t.Fatalf("%+v", m)
		}
	}
}
