package platform

import (
	"context"
	"strings"
)

func (p *Platform) commandSkillInstall(ctx context.Context, c *commandCall) (string, error) {
	skill, _, err := p.InstallSkill(ctx, c.Who, c.AgencyID, c.args.Word(0))
	if err != nil {
		return "", err
	}
	c.acted = true
	return "The skill " + skill.Name + " is installed: " + strings.Join(skill.Commands, ", "), nil
}

func (p *Platform) commandSkillUninstall(ctx context.Context, c *commandCall) (string, error) {
	skill, _, err := p.UninstallSkill(ctx, c.Who, c.AgencyID, c.args.Word(0))
	if err != nil {
		return "", err
	}
	c.acted = true
	return "The skill " + skill.Name + " is removed.", nil
}

func (p *Platform) commandSkillList(ctx context.Context, c *commandCall) (string, error) {
	s, err := p.Skills(ctx, c.Who, c.AgencyID)
	if err != nil {
		return "", err
	}
	var lines []string
	for _, skill := range s.Installed {
		lines = append(lines, skill.Name+" — installed: "+skill.Description)
	}
	for _, skill := range s.Available {
		lines = append(lines, skill.Name+" — "+skill.Description)
	}
	return strings.Join(lines, "\n"), nil
}
