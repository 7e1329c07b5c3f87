package e2e

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"parley/e2e/client"
)

// founding is what one worker began and what it was answered.
type founding struct {
	agents   map[string]client.RegisteredAgent // by handle, answered
	rooms    []client.Agency                   // answered
	users    map[string]client.Session         // by name, answered
	handles  []string                          // of agents, begun without an answer
	names    []string                          // of users, begun without an answer
	unwanted error                             // an answer that was a refusal
}

// TestKillFoundings: what follows from one registration in several places (the account, its agency, its memberships) is
// there as a whole after a kill, when the registration was answered; and a name without an answer is either free or taken
// by what was asked for.
func TestKillFoundings(t *testing.T) {
	t.Parallel()
	server := own(t)
	api := client.API{Base: server.URL()}
	ann := user(t, api, "ann")
	total := 0
	for round := range 4 {
		results := foundUntilKilled(t, ann, func() error { return server.Kill() }, round)
		if err := server.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, f := range results {
			if f.unwanted != nil {
				t.Fatal(f.unwanted)
			}
			checkFounding(t, api, ann, f)
			total += len(f.agents) + len(f.rooms) + len(f.users)
		}
		checkLobby(t, ann)
	}
	t.Logf("%d foundings were answered over 4 kills", total)
}

// foundUntilKilled registers agents and users and makes rooms, until the server is killed.
func foundUntilKilled(t *testing.T, ann person, kill func() error, round int) []*founding {
	t.Helper()
	api := client.API{Base: ann.Base}
	ctx, cancel := context.WithTimeout(t.Context(), wait)
	defer cancel()
	var workers sync.WaitGroup
	var answered atomic.Int64
	var results []*founding
	for i := range 6 {
		f := &founding{agents: map[string]client.RegisteredAgent{}, users: map[string]client.Session{}}
		results = append(results, f)
		workers.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				err := f.found(ctx, api, ann, fmt.Sprintf("r%dw%dn%d", round, i, n), (i+n)%6)
				var refusal *client.StatusError
				if errors.As(err, &refusal) {
					f.unwanted = err
				}
				if err != nil {
					return
				}
				answered.Add(1)
			}
		})
	}
	eventually(t, "founding enough to kill the server in the midst of it", func() bool { return answered.Load() > 60 })
	if err := kill(); err != nil {
		t.Fatal(err)
	}
	workers.Wait()
	return results
}

// found makes one thing: an agent mostly, since users cost a password hash.
func (f *founding) found(ctx context.Context, api client.API, ann person, name string, kind int) error {
	switch kind {
	case 0:
		s, err := api.Register(ctx, name, password, "")
		if err != nil {
			f.names = append(f.names, name)
			return err
		}
		f.users[name] = s
	case 1:
		g, err := ann.CreateAgency(ctx, name, false)
		if err != nil {
			return err
		}
		f.rooms = append(f.rooms, g)
	default:
		r, err := api.RegisterAgent(ctx, name, "")
		if err != nil {
			f.handles = append(f.handles, name)
			return err
		}
		f.agents[name] = r
	}
	return nil
}

func checkFounding(t *testing.T, api client.API, ann person, f *founding) {
	t.Helper()
	inLobby := func(a client.API) {
		t.Helper()
		eventually(t, "membership in the Lobby", func() bool {
			return must[client.Agency](t, a, http.MethodGet, "/api/agencies/lookup/lobby", nil).IsMember
		})
	}
	for name, r := range f.agents {
		s, err := api.Exchange(soon(t), r.Agent.Token)
		if err != nil || s.User.Username != name {
			t.Fatalf("agent %s: %+v, %v", name, s, err)
		}
		g := must[client.Agency](t, api.As(s.Token), http.MethodGet, "/api/agencies/"+r.Agency.ID, nil)
		if g.Role == nil || *g.Role != "owner" || g.MemberCount != 1 {
			t.Fatalf("agency of agent %s is %+v", name, g)
		}
		inLobby(api.As(s.Token))
	}
	for name, s := range f.users {
		if got := me(t, api.As(s.Token)); got.Username != name {
			t.Fatalf("user %s is %+v", name, got)
		}
		inLobby(api.As(s.Token))
	}
	for _, g := range f.rooms {
		got := must[client.Agency](t, ann.API, http.MethodGet, "/api/agencies/lookup/"+g.Slug, nil)
		if got.ID != g.ID || got.Role == nil || *got.Role != "owner" {
			t.Fatalf("room %s is %+v", g.Slug, got)
		}
	}
	for _, name := range f.names { // asked for, but never answered
		s, err := api.Login(soon(t), name, password)
		if err != nil {
			s, err = api.Register(soon(t), name, password, "")
		}
		if err != nil {
			t.Fatalf("name %s is neither usable nor free: %v", name, err)
		}
		inLobby(api.As(s.Token))
	}
	for _, handle := range f.handles {
		if _, err := api.RegisterAgent(soon(t), handle, ""); err != nil {
			wantStatus(t, err, 409)
		}
	}
}

// checkLobby compares the count of members with their list.
func checkLobby(t *testing.T, ann person) {
	t.Helper()
	eventually(t, "agreement of the Lobby's count with its list", func() bool {
		g := must[client.Agency](t, ann.API, http.MethodGet, "/api/agencies/lookup/lobby", nil)
		seen := map[string]bool{}
		for _, m := range must[[]client.Member](t, ann.API, http.MethodGet, "/api/agencies/"+g.ID+"/members", nil) {
			seen[m.ID] = true
		}
		return len(seen) == g.MemberCount
	})
}
