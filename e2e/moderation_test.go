package e2e

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/e2e/client"
)

// invitation is an invite as far as the tests read it.
type invitation struct {
	Code    string `json:"code"`
	Invite  string `json:"invite_code"`
	MaxUses *int   `json:"max_uses"`
	Uses    int    `json:"uses"`
	Expires string `json:"expires_at"`
	Active  bool   `json:"active"`
}

// changes waits until a socket was told of a change of the members.
func changes(t *testing.T, s *client.Socket, change, account string) {
	t.Helper()
	for {
		m := event[struct {
			Change string
			Member client.Member
		}](t, s, "members-updated")
		if m.Change == change && m.Member.ID == account {
			return
		}
	}
}

// TestModeration: a private agency from its first invite to its new owner, over a kill of the server in the middle.
func TestModeration(t *testing.T) {
	t.Parallel()
	server := own(t)
	api := client.API{Base: server.URL()}
	ann, bob, eve, dan := user(t, api, "ann"), user(t, api, "bob"), user(t, api, "eve"), user(t, api, "dan")
	g := ann.room(t, "room", true)
	at := "/api/agencies/" + g.ID
	inv := must[invitation](t, ann.API, http.MethodPost, at+"/invites", map[string]any{"maxUses": 2, "expires": "24h"})
	if inv.Code == "" || inv.Invite != inv.Code || *inv.MaxUses != 2 || inv.Expires == "" || !inv.Active {
		t.Fatalf("%+v", inv)
	}
	code := map[string]string{"code": inv.Code}
	redeem := func(p person) {
		t.Helper()
		r := must[struct {
			OK       bool   `json:"ok"`
			AgencyID string `json:"agencyId"`
			Other    string `json:"agency_id"`
			Agency   client.Agency
		}](t, p.API, http.MethodPost, "/api/agencies/invite/redeem", code)
		if !r.OK || r.AgencyID != g.ID || r.Other != g.ID || r.Agency.Slug != g.Slug {
			t.Errorf("redeemed %+v", r)
		}
	}
	redeem(bob)
	redeem(bob) // a member uses nothing up
	redeem(eve)
	refused(t, dan.API, http.MethodPost, "/api/agencies/invite/redeem", code, http.StatusGone)
	refused(t, dan.API, http.MethodGet, at+"/invites", nil, http.StatusNotFound)
	refused(t, bob.API, http.MethodGet, at+"/invites", nil, http.StatusForbidden)

	watcher, socket := ann.socketIO(t), eve.plain(t)
	joined(t, watcher, g)
	joined(t, socket, g)
	m := must[client.Member](t, ann.API, http.MethodPatch, at+"/members/"+bob.ID, map[string]string{"role": "moderator"})
	if m.Role != "moderator" || m.ID != bob.ID {
		t.Errorf("%+v", m)
	}
	changes(t, watcher, "role", bob.ID)
	refused(t, bob.API, http.MethodPatch, at+"/members/"+eve.ID, map[string]string{"role": "moderator"}, http.StatusForbidden)
	refused(t, bob.API, http.MethodPost, at+"/members/"+ann.ID+"/ban", nil, http.StatusForbidden)
	must[json.RawMessage](t, bob.API, http.MethodPost, at+"/members/"+eve.ID+"/ban", map[string]string{"reason": "spam", "expires": "7d"})
	event[json.RawMessage](t, socket, "agency-left")
	changes(t, watcher, "banned", eve.ID)
	ann.post(t, g, "without eve")
	message(t, watcher, "without eve")
	for _, f := range socket.Log() {
		if f.Event == "message" {
			t.Errorf("the banned got %s", f.Data)
		}
	}

	if err := server.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := server.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if bans := must[[]struct{ ID, Reason string }](t, bob.API, http.MethodGet, at+"/bans", nil); len(bans) != 1 || bans[0].ID != eve.ID || bans[0].Reason != "spam" {
		t.Errorf("%+v", bans)
	}
	code["code"] = must[invitation](t, ann.API, http.MethodPost, at+"/invites", nil).Code
	if said := refused(t, eve.API, http.MethodPost, "/api/agencies/invite/redeem", code, http.StatusForbidden); !strings.Contains(said, "spam") || !strings.Contains(said, "until 2") {
		t.Errorf("the banned are told %q", said)
	}
	must[json.RawMessage](t, bob.API, http.MethodPost, at+"/members/"+eve.ID+"/unban", nil)
	redeem(eve)
	refused(t, ann.API, http.MethodPost, at+"/leave", nil, http.StatusConflict)
	refused(t, ann.API, http.MethodPatch, at+"/members/"+ann.ID, map[string]string{"role": "member"}, http.StatusConflict)
	refused(t, ann.API, http.MethodPost, at+"/transfer", map[string]string{"newOwnerId": ann.ID}, http.StatusBadRequest)
	must[json.RawMessage](t, ann.API, http.MethodPost, at+"/transfer", map[string]string{"newOwnerUsername": eve.Username})
	must[json.RawMessage](t, eve.API, http.MethodPost, at+"/members/"+ann.ID+"/kick", map[string]string{"reason": "thank you"})
	must[json.RawMessage](t, eve.API, http.MethodDelete, at+"/invites/"+code["code"], nil)
	refused(t, ann.API, http.MethodPost, "/api/agencies/invite/redeem", code, http.StatusNotFound)
	refused(t, ann.API, http.MethodGet, at, nil, http.StatusNotFound)
}

// TestLastUse: of many who redeem the last use of an invite at once, one gets in.
func TestLastUse(t *testing.T) {
	t.Parallel()
	api := common(t)
	ann := user(t, api, "ann")
	g := ann.room(t, "room", true)
	inv := must[invitation](t, ann.API, http.MethodPost, "/api/agencies/"+g.ID+"/invites", map[string]any{"max_uses": 1, "expires_at": time.Now().Add(time.Hour).Format(time.RFC3339)})
	var wg sync.WaitGroup
	results := make([]error, 12)
	for i := range results {
		r, err := api.RegisterAgent(soon(t), fresh("bot"), "")
		if err != nil {
			t.Fatal(err)
		}
		s, err := api.Exchange(soon(t), r.Agent.Token)
		if err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			results[i] = api.As(s.Token).Call(soon(t), http.MethodPost, "/api/agencies/invite/redeem", map[string]string{"code": inv.Code}, nil)
		})
	}
	wg.Wait()
	in := 0
	for _, err := range results {
		if err == nil {
			in++
			continue
		}
		wantStatus(t, err, http.StatusGone)
	}
	members := must[[]client.Member](t, ann.API, http.MethodGet, "/api/agencies/"+g.ID+"/members", nil)
	if in != 1 || len(members) != 2 {
		t.Errorf("%d got in, %d members", in, len(members))
	}
}
