package agency_test

import (
	"fmt"
	"strings"
	"testing"

	"parley/actors/actortest"
	"parley/actors/agency"
	"parley/actors/kernel"
	"parley/actors/platform"
	"parley/persistence"
)

// agent registers an agent of its own.
func agent(w *actortest.World, name string) *platform.Identity {
	w.T.Helper()
	r, err := w.Platform.RegisterAgent(ctx, platform.SelfRegistration{Name: name})
	if err != nil {
		w.T.Fatal(err)
	}
	return &platform.Identity{Sender: r.Agent.Sender()}
}

// roleOf is an account's committed role; empty for strangers.
func roleOf(w *actortest.World, room string, who *platform.Identity) agency.Role {
	w.T.Helper()
	doc, err := w.Store.Document(ctx, persistence.CollectionMember, persistence.Key(room, who.ID))
	if err != nil {
		return ""
	}
	m, err := agency.DecodeMember(doc)
	if err != nil {
		w.T.Fatal(err)
	}
	return m.Role
}

// stage is a room in which accounts are given the roles that a test wants to begin with.
type stage struct {
	*actortest.World
	room string
	boss *platform.Identity // an owner throughout
}

const banned = "banned" // instead of a role

func (s *stage) isBanned(who *platform.Identity) bool {
	_, err := s.Store.Document(ctx, persistence.CollectionBan, persistence.Key(s.room, who.ID))
	return err == nil
}

func (s *stage) must(err error) {
	s.T.Helper()
	if err != nil {
		s.T.Fatal(err)
	}
}

// cast makes an account what it is to be.
func (s *stage) cast(who *platform.Identity, as string) {
	s.T.Helper()
	is := string(roleOf(s.World, s.room, who))
	if s.isBanned(who) {
		if as == banned {
			return
		}
		s.must(s.Platform.Unban(ctx, s.boss, s.room, who.ID))
	}
	if is == as {
		return
	}
	if is == string(agency.Owner) {
		_, err := s.Platform.SetRole(ctx, who, s.room, who.ID, string(agency.Member))
		s.must(err)
	}
	switch as {
	case banned:
		_, err := s.Platform.Ban(ctx, s.boss, s.room, who.ID, "", "")
		s.must(err)
		return
	case "":
		s.must(s.Platform.Kick(ctx, s.boss, s.room, who.ID, ""))
		return
	}
	s.Join(s.room, who)
	_, err := s.Platform.SetRole(ctx, s.boss, s.room, who.ID, as)
	s.must(err)
}

// codes are the letters of the matrix.
var codes = map[rune]kernel.Code{'F': kernel.CodeForbidden, 'N': kernel.CodeNotFound, 'I': kernel.CodeInvalid}

// matrix says what comes of each act of each role: + it is done, F forbidden, N not found, I invalid. The columns are the
// targets in the order of matrixTargets.
const matrix = `
owner      kick       F + + + + N N
admin      kick       F F + + + N N
moderator  kick       F F F + + N N
member     kick       F F F F F F F
agent      kick       F F F F F F F
stranger   kick       F F F F F F F
banned     kick       F F F F F F F
owner      ban        F + + + + + +
admin      ban        F F + + + + +
moderator  ban        F F F + + + +
member     ban        F F F F F F F
agent      ban        F F F F F F F
stranger   ban        F F F F F F F
banned     ban        F F F F F F F
owner      unban      N N N N N N +
admin      unban      N N N N N N +
moderator  unban      N N N N N N +
member     unban      F F F F F F F
agent      unban      F F F F F F F
stranger   unban      F F F F F F F
banned     unban      F F F F F F F
owner      owner      F + + + + N N
admin      owner      F F F F F F F
moderator  owner      F F F F F F F
member     owner      F F F F F F F
agent      owner      F F F F F F F
stranger   owner      F F F F F F F
banned     owner      F F F F F F F
owner      admin      F + + + + N N
admin      admin      F F F F F F F
moderator  admin      F F F F F F F
member     admin      F F F F F F F
agent      admin      F F F F F F F
stranger   admin      F F F F F F F
banned     admin      F F F F F F F
owner      moderator  F + + + + N N
admin      moderator  F F + + + N N
moderator  moderator  F F F F F F F
member     moderator  F F F F F F F
agent      moderator  F F F F F F F
stranger   moderator  F F F F F F F
banned     moderator  F F F F F F F
owner      member     F + + + + N N
admin      member     F F + + + N N
moderator  member     F F F F F F F
member     member     F F F F F F F
agent      member     F F F F F F F
stranger   member     F F F F F F F
banned     member     F F F F F F F
owner      agent      I I I I + I I
admin      agent      I I I I + I I
moderator  agent      I I I I F I I
member     agent      I I I I F I I
agent      agent      I I I I F I I
stranger   agent      I I I I F I I
banned     agent      I I I I F I I
owner      transfer   + + + + + N N
admin      transfer   F F F F F F F
moderator  transfer   F F F F F F F
member     transfer   F F F F F F F
agent      transfer   F F F F F F F
stranger   transfer   F F F F F F F
banned     transfer   F F F F F F F
`

var matrixTargets = []string{"owner", "admin", "moderator", "member", "agent", "", banned}

// TestMatrix tries every cell: whether it is allowed, and that it then has happened and otherwise has not.
func TestMatrix(t *testing.T) {
	w := actortest.New(t)
	s := &stage{World: w, boss: w.User("boss")}
	s.room = w.Room(s.boss, "Room", false)
	users := [2]*platform.Identity{w.User("by"), w.User("target")}
	agents := [2]*platform.Identity{agent(w, "By Bot"), agent(w, "Target Bot")}
	pick := func(i int, role string) *platform.Identity {
		if role == string(agency.AgentRole) {
			return agents[i]
		}
		return users[i]
	}
	cells := 0
	for _, line := range strings.Split(strings.TrimSpace(matrix), "\n") {
		f := strings.Fields(line)
		actor, act, wants := strings.TrimSuffix(f[0], "stranger"), f[1], f[2:]
		if len(wants) != len(matrixTargets) {
			t.Fatalf("%s: %d cells", line, len(wants))
		}
		for i, as := range matrixTargets {
			by, target := pick(0, actor), pick(1, as)
			s.cast(by, actor)
			s.cast(target, as)
			s.cell(fmt.Sprintf("%s: %s %q", f[0], act, as), by, target, act, as, rune(wants[i][0]))
			cells++
		}
	}
	if cells != 7*9*7 {
		t.Errorf("%d cells", cells)
	}
	checkLog(t, w, s.room)
}

func (s *stage) cell(name string, by, target *platform.Identity, act, as string, want rune) {
	s.T.Helper()
	was := roleOf(s.World, s.room, by)
	var err error
	after, bannedAfter := roleOf(s.World, s.room, target), as == banned
	byAfter := was
	done := want == '+'
	switch act {
	case "kick":
		err = s.Platform.Kick(ctx, by, s.room, target.ID, "why")
		after = outcome(done, "", after)
	case "ban":
		_, err = s.Platform.Ban(ctx, by, s.room, target.ID, "why", "1h")
		after, bannedAfter = outcome(done, "", after), bannedAfter || done
	case "unban":
		err = s.Platform.Unban(ctx, by, s.room, target.ID)
		bannedAfter = bannedAfter && !done
	case "transfer":
		_, _, err = s.Platform.TransferAgency(ctx, by, s.room, target.ID, "")
		after, byAfter = outcome(done, agency.Owner, after), outcome(done, agency.Admin, byAfter)
	default:
		_, err = s.Platform.SetRole(ctx, by, s.room, target.ID, act)
		next := agency.Role(act)
		if next == agency.Member && as == string(agency.AgentRole) {
			next = agency.AgentRole
		}
		after = outcome(done, next, after)
	}
	if done && err != nil {
		s.T.Errorf("%s: %v", name, err)
	} else if !done {
		actortest.Wants(s.T, name, err, codes[want])
	}
	if got := roleOf(s.World, s.room, target); got != after {
		s.T.Errorf("%s: the target is %q, want %q", name, got, after)
	}
	if got := roleOf(s.World, s.room, by); got != byAfter {
		s.T.Errorf("%s: the actor is %q, want %q", name, got, byAfter)
	}
	if got := s.isBanned(target); got != bannedAfter {
		s.T.Errorf("%s: banned %v", name, got)
	}
}

func outcome(done bool, new, old agency.Role) agency.Role {
	if done {
		return new
	}
	return old
}

// TestMatrixWithoutTargets: what concerns the agency as a whole.
func TestMatrixWithoutTargets(t *testing.T) {
	w := actortest.New(t)
	s := &stage{World: w, boss: w.User("boss")}
	user, bot := w.User("by"), agent(w, "By Bot")
	for _, private := range []bool{false, true} {
		s.room = w.Room(s.boss, fmt.Sprint("Room ", private), private)
		inv, err := w.Platform.CreateInvite(ctx, s.boss, s.room, nil, "")
		s.must(err)
		for _, c := range []struct{ role, cells string }{ // update, invite, invites, revoke, bans
			{"owner", "+++N+"}, {"admin", "+++N+"}, {"moderator", "FFFF+"}, {"member", "FFFFF"}, {"agent", "FFFFF"}, {"", "FFFFF"},
		} {
			who := user
			if c.role == "agent" {
				who = bot
			}
			s.cast(who, c.role)
			_, update := w.Platform.UpdateAgency(ctx, who, s.room, agency.Update{Charter: text("x")})
			_, create := w.Platform.CreateInvite(ctx, who, s.room, nil, "")
			_, list := w.Platform.Invites(ctx, who, s.room)
			revoke := w.Platform.RevokeInvite(ctx, who, s.room, agency.NewInviteCode())
			_, bans := w.Platform.Bans(ctx, who, s.room, 0, "")
			for i, err := range []error{update, create, list, revoke, bans} {
				want := rune(c.cells[i])
				if private && c.role == "" {
					want = 'N' // it does not exist for outsiders
				}
				if name := fmt.Sprintf("%q, act %d, private %v", c.role, i, private); want != '+' {
					actortest.Wants(t, name, err, codes[want])
				} else if err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
		}
		if _, err := w.Platform.RedeemInvite(ctx, user, inv.Code); err != nil {
			t.Errorf("the invite did not outlive its strangers: %v", err)
		}
	}
}
