package platform

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"parley/actors/account"
	"parley/actors/agency"
	"parley/actors/command"
	"parley/actors/kernel"
)

// termForm is what a duration looks like, so that /ban can tell it from a reason.
var termForm = regexp.MustCompile(`^([0-9]+[smhd]|never)$`)

// reasonOf takes a reason out of a flag, or the words behind the first n.
func reasonOf(a command.Args, n int) (reason string, rest command.Args) {
	flag, given, rest := a.Take("reason")
	if given {
		return flag.Value, rest
	}
	return a.Rest(n), a
}

// because says why, in the room.
func because(reason string) string {
	if reason == "" {
		return "."
	}
	return ": " + inLine(reason)
}

func (p *Platform) commandKick(ctx context.Context, c *commandCall) (string, error) {
	reason, args := reasonOf(c.args, 1)
	who, err := p.namedIn(ctx, args.Word(0))
	if err != nil {
		return "", err
	}
	if err := p.Kick(ctx, c.Who, c.AgencyID, who.ID, reason); err != nil {
		return "", err
	}
	c.acted = true
	return "Kicked " + who.Username + because(reason), nil
}

func (p *Platform) commandBan(ctx context.Context, c *commandCall) (string, error) {
	expires, given, args := c.args.Take("expires")
	words := 1
	if term := args.Word(1); !given && termForm.MatchString(term) {
		expires.Value, words = term, 2
	}
	reason, args := reasonOf(args, words)
	who, err := p.namedIn(ctx, args.Word(0))
	if err != nil {
		return "", err
	}
	b, err := p.Ban(ctx, c.Who, c.AgencyID, who.ID, reason, expires.Value)
	if err != nil {
		return "", err
	}
	c.acted = true
	text := "Banned " + who.Username
	if b.ExpiresAt != nil {
		text += " until " + *b.ExpiresAt
	}
	return text + because(reason), nil
}

func (p *Platform) commandUnban(ctx context.Context, c *commandCall) (string, error) {
	who, err := p.namedIn(ctx, c.args.Word(0))
	if err != nil {
		return "", err
	}
	if err := p.Unban(ctx, c.Who, c.AgencyID, who.ID); err != nil {
		return "", err
	}
	c.acted = true
	return who.Username + " may come back.", nil
}

func (p *Platform) commandPromote(ctx context.Context, c *commandCall) (string, error) {
	return p.appoint(ctx, c, agency.Moderator, func(now, next agency.Role) bool { return next.Rank() > now.Rank() })
}

func (p *Platform) commandDemote(ctx context.Context, c *commandCall) (string, error) {
	return p.appoint(ctx, c, agency.Member, func(now, next agency.Role) bool { return next.Rank() < now.Rank() })
}

// appoint gives a role, if it leads in the direction that was asked for.
func (p *Platform) appoint(ctx context.Context, c *commandCall, next agency.Role, right func(now, next agency.Role) bool) (string, error) {
	who, err := p.namedIn(ctx, c.args.Word(0))
	if err != nil {
		return "", err
	}
	if word := c.args.Word(1); word != "" {
		if next, err = agency.ParseRole(strings.ToLower(word)); err != nil {
			return "", err
		}
	}
	now, err := p.roleOf(ctx, c, who)
	if err != nil {
		return "", err
	}
	if next == agency.Member && who.Type == account.Agent {
		next = agency.AgentRole
	}
	if !right(now, next) {
		return "", kernel.Invalid("the role of %s is %s; /%s can't make that %s", who.Username, now, c.builtin.Name, next)
	}
	m, err := p.SetRole(ctx, c.Who, c.AgencyID, who.ID, string(next))
	if err != nil {
		return "", err
	}
	c.acted = true
	return fmt.Sprintf("%s is %s now.", who.Username, m.Role), nil
}
