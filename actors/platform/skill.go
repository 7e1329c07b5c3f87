package platform

import (
	"context"
	"slices"

	"parley/actors/agency"
	"parley/actors/command"
	"parley/actors/kernel"
)

// Skills are the platform's skills as one agency has them.
type Skills struct {
	Installed []command.Skill
	Available []command.Skill // those that are not installed
}

// Skills lists the skills of an agency to those who may see it: which commands a room understands is no secret.
func (p *Platform) Skills(ctx context.Context, id *Identity, agencyID string) (*Skills, error) {
	r, _, err := p.visible(ctx, id, agencyID)
	if err != nil {
		return nil, err
	}
	return skillsOf(r), nil
}

func skillsOf(r *agency.Record) *Skills {
	s := &Skills{}
	for _, skill := range command.Skills() {
		if slices.Contains(r.Skills, skill.Name) {
			s.Installed = append(s.Installed, skill)
		} else {
			s.Available = append(s.Available, skill)
		}
	}
	return s
}

// InstallSkill installs a skill in an agency; admins and owners may (decision 19). One that is installed stays so.
// CodeNotFound names the skills that there are.
func (p *Platform) InstallSkill(ctx context.Context, id *Identity, agencyID, name string) (command.Skill, *Skills, error) {
	return p.setSkill(ctx, id, agencyID, name, true)
}

// UninstallSkill takes a skill out of an agency; admins and owners may. CodeNotFound when it is not installed.
func (p *Platform) UninstallSkill(ctx context.Context, id *Identity, agencyID, name string) (command.Skill, *Skills, error) {
	return p.setSkill(ctx, id, agencyID, name, false)
}

// setSkill looks at the agency first: whoever may not see it is not told which skills there are.
func (p *Platform) setSkill(ctx context.Context, id *Identity, agencyID, name string, install bool) (command.Skill, *Skills, error) {
	if _, _, err := p.visible(ctx, id, agencyID); err != nil {
		return command.Skill{}, nil, err
	}
	skill, err := command.FindSkill(name)
	if err != nil {
		return command.Skill{}, nil, err
	}
	r, err := kernel.Ask[*agency.Record](ctx, p.Directory, agency.Ref(agencyID), agency.SetSkill{By: id.Sender, Skill: skill.Name, Install: install})
	if err != nil {
		return command.Skill{}, nil, kernel.AsError(err)
	}
	return skill, skillsOf(r), nil
}
