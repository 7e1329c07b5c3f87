package rest

import (
	"net/http"

	"parley/actors/command"
	"parley/actors/platform"
	"parley/transport/rest/openapi"
)

func (a *API) bindSkills(t *table) {
	t.add(http.MethodGet, "/api/agencies/{id}/skills", Required, a.skills).doc(op{
		Tag: tagSkills, Summary: "List skills", About: "For members.", Answers: ok(skillListsSchema), Errors: []answer{fails(http.StatusForbidden, "You are no member.")},
	})
	t.add(http.MethodPost, "/api/agencies/{id}/skills", Required, a.installSkill).doc(op{
		Tag: tagSkills, Summary: "Install a skill", About: "For the owner and admins.",
		Body:    openapi.Form(has("skillName skill_name name", textSchema.Like("dice"), "")),
		Answers: ok(skillChangeSchema), Errors: []answer{fails(http.StatusForbidden, "You are neither owner nor admin, or it is the Lobby.")},
	})
	t.add(http.MethodDelete, "/api/agencies/{id}/skills/{name}", Required, a.uninstallSkill).doc(op{
		Tag: tagSkills, Summary: "Uninstall a skill", About: "For the owner and admins.",
		Answers: ok(skillChangeSchema), Errors: []answer{fails(http.StatusForbidden, "You are neither owner nor admin, or it is the Lobby.")},
	})
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

// skillSchema is a command.Skill.
var skillSchema = openapi.Object(
	has("name", textSchema.Like("dice"), ""),
	has("description", textSchema, ""),
	has("commands", openapi.List(textSchema.Like("/roll")), "The commands that it brings."),
).Named("Skill", "Commands that an agency can have.")

var skillListsSchema = openapi.Object(
	has("installed", openapi.List(skillSchema), ""),
	has("available", openapi.List(skillSchema), "Those that are not installed."),
).Named("Skills", "The skills of an agency.")

var skillChangeSchema = skillListsSchema.With(has("ok", openapi.Bool(), "Always true."), has("skill", skillSchema, "The one that this was about."))
