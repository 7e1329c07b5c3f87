package agency

import (
	"math/rand/v2"
	"slices"
	"testing"

	"parley/actors/account"
)

var allRoles = []Role{"", Member, AgentRole, Moderator, Admin, Owner}

// The rules of decision 19 for every combination of ranks.
func TestRankRules(t *testing.T) {
	for _, by := range allRoles {
		for _, target := range allRoles {
			removes := mayRemove(by, target) == nil
			if want := by.Rank() >= Moderator.Rank() && by.Rank() > target.Rank(); removes != want {
				t.Errorf("%s removes %s: %v", by, target, removes)
			}
			for _, next := range allRoles[1:] {
				gives := mayGive(by, target, next, false) == nil
				switch {
				case gives && target.Rank() >= by.Rank():
					t.Errorf("%s acts on %s", by, target)
				case gives && by != Owner && (by != Admin || next.Rank() > Moderator.Rank()):
					t.Errorf("%s makes somebody %s", by, next)
				case !gives && by == Owner && target != Owner, !gives && by == Admin && target.Rank() < Admin.Rank() && next.Rank() < Admin.Rank():
					t.Errorf("%s can't make %s %s", by, target, next)
				}
				for _, higher := range allRoles {
					if gives && higher.Rank() >= by.Rank() && mayGive(higher, target, next, false) != nil {
						t.Errorf("%s may make %s %s, but %s may not", by, target, next, higher)
					}
				}
				if steps := mayGive(by, by, next, true) == nil; steps != (next.Rank() <= by.Rank()) {
					t.Errorf("%s makes itself %s: %v", by, next, steps)
				}
			}
		}
	}
}

// Whatever a room's people do in whatever order: nobody below the owner ever touches the owner, nobody rises except by
// the hand of somebody who ranks higher, and nobody rises as high as a hand that is not an owner's.
func TestRankRulesHoldTogether(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		room := []Role{Owner, Admin, Admin, Moderator, Moderator, Member, AgentRole, ""}
		for range 60 {
			by, target := 1+rng.IntN(len(room)-1), rng.IntN(len(room)) // the owner, 0, looks on
			was := slices.Clone(room)
			if rng.IntN(3) == 0 {
				if by != target && mayRemove(room[by], room[target]) == nil {
					room[target] = ""
				}
			} else if next := allRoles[1+rng.IntN(5)]; mayGive(room[by], room[target], next, by == target) == nil {
				room[target] = next
			}
			if room[0] != Owner {
				t.Fatalf("%s made the owner %q", was[by], room[0])
			}
			if rises := room[target].Rank() > was[target].Rank(); rises && (by == target || room[target].Rank() >= was[by].Rank()) {
				t.Fatalf("%s raised %s to %s", was[by], was[target], room[target])
			}
		}
		if n := len(slices.DeleteFunc(room, func(r Role) bool { return r.Rank() < Admin.Rank() })); n > 3 {
			t.Fatalf("%d of rank admin and above, but nobody could appoint one", n)
		}
	}
}

func TestParseRole(t *testing.T) {
	for _, r := range allRoles[1:] {
		if got, err := ParseRole(string(r)); err != nil || got != r {
			t.Error(got, err)
		}
	}
	for _, s := range []string{"", "Owner", "root", "member "} {
		if got, err := ParseRole(s); err == nil {
			t.Errorf("%q is %s", s, got)
		}
	}
	for _, c := range []struct {
		kind account.Type
		role Role
		want Role // empty: refused
	}{{account.Agent, Member, AgentRole}, {account.Agent, AgentRole, AgentRole}, {account.Agent, Moderator, Moderator},
		{account.User, Member, Member}, {account.User, AgentRole, ""}, {account.User, Owner, Owner}} {
		if got, err := roleFor(c.kind, c.role); got != c.want || (err != nil) != (c.want == "") {
			t.Errorf("%s as %s: %s, %v", c.kind, c.role, got, err)
		}
	}
}
