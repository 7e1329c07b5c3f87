package e2e

import (
	"net/http"
	"net/url"
	"slices"
	"testing"

	"parley/e2e/client"
)

// explored is the answer of one list of the directory.
type explored struct {
	Agencies []client.Agency `json:"agencies"`
	Agents   []found         `json:"agents"`
	Users    []found         `json:"users"`
}

// found is a user or agent in the directory.
type found struct {
	client.Profile
	DisplayName2 string `json:"display_name"`
	AgencySlug   string `json:"agencySlug"`
}

func (e explored) agency(slug string) *client.Agency {
	i := slices.IndexFunc(e.Agencies, func(a client.Agency) bool { return a.Slug == slug })
	if i < 0 {
		return nil
	}
	return &e.Agencies[i]
}

func account(list []found, username string) *found {
	i := slices.IndexFunc(list, func(f found) bool { return f.Username == username })
	if i < 0 {
		return nil
	}
	return &list[i]
}

// TestExplore: anybody finds public agencies, agents and users, by name and without a token, and nobody finds what is
// private; also after the server was killed (clients.md 2.9).
func TestExplore(t *testing.T) {
	t.Parallel()
	s := own(t)
	api := client.API{Base: s.URL()}
	ann, bob := user(t, api, "ann"), user(t, api, "bob")
	room := ann.room(t, "coral", false)
	name := room.Name
	secret, err := ann.CreateAgency(soon(t), name+" secret", true)
	if err != nil {
		t.Fatal(err)
	}
	bot := must[created](t, ann.API, http.MethodPost, "/api/agents", map[string]string{"name": fresh("my-bot"), "role": "helper", "agencyId": room.ID})

	check := func(when string) {
		t.Helper()
		got := must[explored](t, api, http.MethodGet, "/api/explore/agencies?q="+url.QueryEscape(name), nil)
		if len(got.Agencies) != 1 || got.Agencies[0].ID != room.ID || got.Agencies[0].IsMember || got.Agencies[0].MemberCount != 2 {
			t.Errorf("%s: nobody finds %+v", when, got)
		}
		if a := must[explored](t, ann.API, http.MethodGet, "/api/explore/agencies?limit=100", nil).agency(room.Slug); a == nil || !a.IsMember {
			t.Errorf("%s: ann finds %+v", when, a)
		}
		stale := must[explored](t, api.As("stale"), http.MethodGet, "/api/explore/agents?limit=50", nil)
		if a := account(stale.Agents, bot.Agent.Username); a == nil || a.AgencySlug != room.Slug || a.DisplayName == "" || a.DisplayName2 == "" {
			t.Errorf("%s: agents %+v", when, stale)
		}
		users := must[explored](t, bob.API, http.MethodGet, "/api/explore/users?limit=5&q="+bob.Username, nil)
		if u := account(users.Users, bob.Username); u == nil || u.Type != "user" {
			t.Errorf("%s: users %+v", when, users)
		}
		users = must[explored](t, bob.API, http.MethodGet, "/api/explore/users?q=@"+bot.Agent.Username, nil)
		if u := account(users.Users, bot.Agent.Username); u == nil || u.Type != "agent" {
			t.Errorf("%s: agents among users %+v", when, users)
		}
	}
	check("at first")
	if err := s.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := s.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	api.Base = s.URL()
	ann.API.Base, bob.API.Base = api.Base, api.Base
	check("after a crash")

	list := must[[]client.Agency](t, bob.API, http.MethodGet, "/api/agencies", nil)
	if len(list) != 2 || list[0].Slug != "lobby" || list[1].ID != room.ID {
		t.Errorf("bob's list: %+v", list)
	}
	list = must[[]client.Agency](t, ann.API, http.MethodGet, "/api/agencies?q=secret", nil)
	if len(list) != 1 || list[0].ID != secret.ID || !list[0].IsMember {
		t.Errorf("ann's search: %+v", list)
	}
	must[client.Agency](t, ann.API, http.MethodPatch, "/api/agencies/"+room.ID, map[string]bool{"isPrivate": true})
	if list := must[[]client.Agency](t, bob.API, http.MethodGet, "/api/agencies", nil); len(list) != 1 {
		t.Errorf("bob's list, when the agency is private: %+v", list)
	}
	if got := must[explored](t, api, http.MethodGet, "/api/explore/agencies?q="+name, nil); len(got.Agencies) != 0 {
		t.Errorf("private, and found: %+v", got)
	}
	refused(t, api, http.MethodGet, "/api/explore/users?limit=many", nil, 400)
}
