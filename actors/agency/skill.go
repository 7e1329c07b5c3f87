package agency

import (
	"slices"

	"parley/actors/account"
	"parley/actors/kernel"
	"parley/persistence"
)

// MaxSkills is the number of skills that an agency can have installed.
const MaxSkills = 100

// skillChange is the body of evSkill.
type skillChange struct {
	Skill     string     `json:"skill"`
	Installed bool       `json:"installed"`
	By        WireSender `json:"by"`
}

// apply returns the skills after the change. What was there is not touched, since records may still be made of it.
func (c *skillChange) apply(skills []string) []string {
	next := slices.DeleteFunc(slices.Clone(skills), func(s string) bool { return s == c.Skill })
	if c.Installed {
		next = append(next, c.Skill)
		slices.Sort(next)
	}
	return next
}

// SetSkill installs or uninstalls a skill; admins and owners may (decision 19). The caller knows that there is such a
// skill. It answers with *Record, also when nothing changes by an installation; CodeNotFound when what is to be
// uninstalled is not installed.
type SetSkill struct {
	By      account.Sender
	Skill   string
	Install bool
}

func (a *Agency) setSkill(t *kernel.Turn, c SetSkill) {
	if a.s.Kind == Lobby {
		t.Fail(kernel.Forbidden("the Lobby has no owner and no admins, so nobody can change its skills"))
		return
	}
	a.withMember(t, c.By.ID, func(m MemberRecord) {
		if err := a.mayManage(m, Admin); err != nil {
			t.Fail(err)
			return
		}
		installed := slices.Contains(a.s.Skills, c.Skill)
		r := a.s.Record
		switch {
		case c.Install && installed:
			t.AfterCommits(func() { t.Reply(&r) })
			return
		case !c.Install && !installed:
			t.Fail(kernel.NotFound("the skill %s is not installed here", c.Skill))
			return
		case c.Install && len(a.s.Skills) >= MaxSkills:
			t.Fail(kernel.Fail(kernel.CodeTaken, "an agency can have %d skills at most", MaxSkills))
			return
		}
		body := skillChange{Skill: c.Skill, Installed: c.Install, By: wire(c.By)}
		r.Skills = body.apply(r.Skills)
		a.commit(t, kernel.Change{Events: []persistence.Event{event(evSkill, body)}, Documents: recordDocuments(&a.s.Record, &r)},
			func() { t.Reply(&r) }, nil)
	})
}
