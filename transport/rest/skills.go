package rest

import (
	"net/http"

	"parley/actors/command"
	"parley/actors/platform"
)

func (a *API) bindSkills(t *table) {
	t.add(http.MethodGet, "/api/agencies/{id}/skills", Required, a.skills)
	t.add(http.MethodPost, "/api/agencies/{id}/skills", Required, a.installSkill)
	t.add(http.MethodDelete, "/api/agencies/{id}/skills/{name}", Required, a.uninstallSkill)
}

// skillLists are the skills of an agency (clients.md 1.4).
type skillLists struct {
	Installed []command.Skill `json:"installed"`
	Available []command.Skill `json:"available"`
}

func newSkillLists(s *platform.Skills) skillLists {
	return skillLists{list(s.Installed), list(s.Available)}
}

func (a *API) skills(c *call) error {
	s, err := a.o.Service.Skills(c.ctx(), c.id, c.param("id"))
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, newSkillLists(s))
}

func (a *API) installSkill(c *call) error {
	name := c.form.Required("skillName", "skill_name", "name")
	if err := c.form.Err(); err != nil {
		return err
	}
	return answerSkill(c, func() (command.Skill, *platform.Skills, error) {
		return a.o.Service.InstallSkill(c.ctx(), c.id, c.param("id"), name)
	})
}

func (a *API) uninstallSkill(c *call) error {
	return answerSkill(c, func() (command.Skill, *platform.Skills, error) {
		return a.o.Service.UninstallSkill(c.ctx(), c.id, c.param("id"), c.param("name"))
	})
}

// answerSkill answers a change with the skill that it is about and with what there is behind it.
func answerSkill(c *call, change func() (command.Skill, *platform.Skills, error)) error {
	skill, s, err := change()
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, with{struct {
		OK    bool          `json:"ok"`
		Skill command.Skill `json:"skill"`
	}{true, skill}, newSkillLists(s)})
}
