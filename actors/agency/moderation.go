package agency

import (
	"parley/actors/account"
	"parley/actors/kernel"
)

// MaxReason is the length of the reason of a kick or ban, in characters.
const MaxReason = 500

// errNotMember is told to those who may know who is in the agency.
func errNotMember() error { return kernel.NotFound("this account is not a member of the agency") }

// moderated begins an act of one account on another (which may be the same) with both memberships, current at that
// moment; the zero record is a stranger's. Strangers can't act, and nobody can in the Lobby: it has no owner.
func (a *Agency) moderated(t *kernel.Turn, by, target string, next func(by, target MemberRecord)) {
	if a.s.Kind == Lobby {
		t.Fail(errLobby())
		return
	}
	a.withMember(t, by, func(m MemberRecord) {
		if err := a.mayManage(m, Member); err != nil {
			t.Fail(err)
			return
		}
		a.withMember(t, target, func(other MemberRecord) {
			now, known := a.members.Get(by) // the actor may have been demoted while the target was read
			switch {
			case !known:
				a.moderated(t, by, target, next)
			case now.Role == "":
				t.Fail(a.mayManage(now, Member))
			default:
				next(now, other)
			}
		})
	})
}

// SetRole promotes or demotes a member, by the rules of mayGive. It answers with MemberRecord: the new one; CodeTaken
// when the last owner would step down, CodeNotFound when the target is no member.
type SetRole struct {
	By, Target account.Sender
	Role       Role
}

func (a *Agency) setRole(t *kernel.Turn, c SetRole) {
	role, err := roleFor(c.Target.Type, c.Role)
	if err != nil {
		a.refuse(t, c.By.ID, err)
		return
	}
	a.moderated(t, c.By.ID, c.Target.ID, func(by, target MemberRecord) {
		err := mayGive(by.Role, target.Role, role, c.By.ID == c.Target.ID)
		switch {
		case err != nil:
			t.Fail(err)
		case target.Role == "":
			t.Fail(errNotMember())
		case target.Role == role:
			t.AfterCommits(func() { t.Reply(target) })
		case target.Role == Owner && a.s.owners() == 1:
			t.Fail(kernel.Fail(kernel.CodeTaken, "the last owner can't step down: transfer the agency or delete it"))
		default:
			var change kernel.Change
			m := a.appoint(t, &change, c.By, c.Target, target, role)
			a.commit(t, change, func() { t.Reply(m) }, nil)
		}
	})
}

// appoint adds to a change that a member gets another role.
func (a *Agency) appoint(t *kernel.Turn, change *kernel.Change, by, target account.Sender, was MemberRecord, role Role) MemberRecord {
	m := MemberRecord{Role: role, JoinedAt: was.JoinedAt}
	actor := wire(by)
	change.Events = append(change.Events, event(evRole, movement{Member: wire(target), Role: role, Was: was.Role,
		Count: a.s.MemberCount, By: &actor}))
	change.Documents = append(change.Documents, memberDocuments(t.ID(), target.ID, &m)...)
	a.members.Add(target.ID, m)
	return m
}

// Kick ends a membership, by the rules of mayRemove; the account may come back. It answers with kernel.Done;
// CodeNotFound when the target is no member.
type Kick struct {
	By, Target account.Sender
	Reason     string // up to MaxReason characters; empty for none
}

func (a *Agency) kick(t *kernel.Turn, c Kick) {
	reason, err := account.CheckText("reason", c.Reason, MaxReason)
	if err != nil {
		t.Fail(err)
		return
	}
	a.moderated(t, c.By.ID, c.Target.ID, func(by, target MemberRecord) {
		err := mayRemove(by.Role, target.Role)
		switch {
		case c.By.ID == c.Target.ID:
			t.Fail(kernel.Invalid("you can't kick yourself; leave the agency instead"))
		case err != nil:
			t.Fail(err)
		case target.Role == "":
			t.Fail(errNotMember())
		default:
			actor := wire(c.By)
			change := a.departure(t, evKicked, target, movement{Member: wire(c.Target), By: &actor, Reason: reason})
			a.commit(t, change, func() { t.Reply(kernel.Done{}) }, nil)
		}
	})
}

// Transfer makes a member an owner and the owner who asks an admin (decision 41). It answers with *Record.
type Transfer struct{ By, To account.Sender }

func (a *Agency) transfer(t *kernel.Turn, c Transfer) {
	a.moderated(t, c.By.ID, c.To.ID, func(by, to MemberRecord) {
		err := a.mayManage(by, Owner)
		switch {
		case err != nil:
			t.Fail(err)
		case c.By.ID == c.To.ID:
			t.Fail(kernel.Invalid("you own this agency already"))
		case to.Role == "":
			t.Fail(errNotMember())
		default:
			var change kernel.Change
			if to.Role != Owner {
				a.appoint(t, &change, c.By, c.To, to, Owner)
			}
			a.appoint(t, &change, c.By, c.By, by, Admin)
			r := a.s.Record
			a.commit(t, change, func() { t.Reply(&r) }, nil)
		}
	})
}
