package platform

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"parley/actors/account"
	"parley/actors/agency"
	"parley/actors/kernel"
)

// namedIn finds an account by a name that was typed, with or without @.
func (p *Platform) namedIn(ctx context.Context, typed string) (*account.Profile, error) {
	name := strings.TrimPrefix(typed, "@")
	if account.CheckUsername(name) != nil {
		return nil, kernel.NotFound("there is nobody called %.40q", typed)
	}
	profile, err := p.namedAccount(ctx, "", name)
	if gone(err) {
		return nil, kernel.NotFound("there is nobody called %s", name)
	}
	return profile, err
}

// namedAgent finds an agent by its handle, or by a name that becomes it.
func (p *Platform) namedAgent(ctx context.Context, typed string) (*account.Profile, error) {
	agent, err := p.namedIn(ctx, typed)
	if handle, bad := account.HandleOf(typed, true); gone(err) && bad == nil {
		agent, err = p.namedIn(ctx, handle)
	}
	switch {
	case gone(err), err == nil && agent.Type != account.Agent:
		return nil, kernel.NotFound("there is no agent called %.40q", typed)
	default:
		return agent, err
	}
}

func (p *Platform) commandAgentCreate(ctx context.Context, c *commandCall) (string, error) {
	persona, _, args := c.args.Take("persona")
	if args.Len() == 0 {
		return "", c.usage()
	}
	return p.makeAgent(ctx, c, NewAgent{Name: args.Word(0), Role: args.Rest(1), Personality: persona.Value})
}

func (p *Platform) commandBoot(ctx context.Context, c *commandCall) (string, error) {
	persona, given, args := c.args.Take("persona")
	role, _, args := args.Take("role")
	n := NewAgent{Name: args.Word(0), Role: role.Value, Personality: persona.Value}
	if !given {
		n.Personality = args.Rest(1)
	}
	if args.Len() == 0 || n.Personality == "" {
		return "", c.usage()
	}
	return p.makeAgent(ctx, c, n)
}

func (p *Platform) makeAgent(ctx context.Context, c *commandCall, n NewAgent) (string, error) {
	if c.room.Kind != agency.DM { // where nobody can be added: it goes to the Lobby
		n.AgencyID = c.AgencyID
	}
	agent, token, err := p.CreateAgent(ctx, c.Who, n)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("Created the agent %s. It can connect once you have verified it: /agent verify %s\nAgent token: %s", agent.Username,
		agent.Username, token), nil
}

func (p *Platform) commandAgentVerify(ctx context.Context, c *commandCall) (string, error) {
	agent, err := p.namedAgent(ctx, c.args.Rest(0))
	if err != nil {
		return "", err
	}
	agent, token, err := p.VerifyAgent(ctx, c.Who, agent.ID)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("The agent %s is verified.\n%s", agent.Username, tokenLine(agent, token)), nil
}

func tokenLine(agent *account.Profile, token string) string {
	if token == "" {
		return "Its token is not kept any more; /agent token " + agent.Username + " makes a new one."
	}
	return "Agent token: " + token
}

func (p *Platform) commandAgentList(ctx context.Context, c *commandCall) (string, error) {
	agents, err := p.Agents(ctx, c.Who)
	if err != nil {
		return "", err
	}
	if len(agents) == 0 {
		return "You have no agents.", nil
	}
	lines := make([]string, len(agents))
	for i, a := range agents {
		lines[i] = a.Profile.Username + " [agent] — " + a.status()
		if role := inLine(a.Profile.Role); role != "" {
			lines[i] += ", " + role
		}
	}
	return strings.Join(lines, "\n"), nil
}

// AgentToken returns an agent's token as long as it is kept, else an empty text; its owner may ask (decision 10).
func (p *Platform) AgentToken(ctx context.Context, id *Identity, agentID string) (string, error) {
	token, err := kernel.Ask[string](ctx, p.Directory, account.Ref(agentID), account.ShowToken{By: id.ID})
	if err != nil {
		return "", noAgent(err)
	}
	return token, nil
}

func (p *Platform) commandAgentDetails(ctx context.Context, c *commandCall) (string, error) {
	agent, err := p.namedAgent(ctx, c.args.Rest(0))
	if err != nil {
		return "", err
	}
	token, err := p.AgentToken(ctx, c.Who, agent.ID)
	if err != nil {
		return "", err
	}
	v := AgentView{agent, p.Live.Online(agent.ID)}
	lines := []string{"Name: " + agent.Username, "Id: " + agent.ID, "Status: " + v.status()}
	for _, f := range []struct{ name, text string }{
		{"Display name", agent.DisplayName}, {"Role", agent.Role}, {"Description", agent.Description}, {"Persona", agent.Personality},
	} {
		if f.text != "" {
			lines = append(lines, f.name+": "+inLine(f.text))
		}
	}
	return strings.Join(append(lines, tokenLine(agent, token)), "\n"), nil
}

func (p *Platform) commandAgentToken(ctx context.Context, c *commandCall) (string, error) {
	agent, err := p.namedAgent(ctx, c.args.Rest(0))
	if err != nil {
		return "", err
	}
	token, err := p.RegenerateAgentToken(ctx, c.Who, agent.ID)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("The old token of %s is dead. Keep the new one: it is shown only now.\nAgent token: %s", agent.Username, token), nil
}

// commandAgentCustomize sets any key, or without a value clears it (clients.md 5.2). The value is not repeated: it may be
// a secret.
func (p *Platform) commandAgentCustomize(ctx context.Context, c *commandCall) (string, error) {
	here, args := c.args.TakeBare("agency")
	if args.Len() < c.form.Least {
		return "", c.usage()
	}
	agent, err := p.namedAgent(ctx, args.Word(0))
	if err != nil {
		return "", err
	}
	key, value, scope, where := args.Word(1), args.Rest(2), "", "."
	if here {
		scope, where = c.AgencyID, " for this agency."
	}
	_, err = p.SetAgentConfig(ctx, c.Who, agent.ID, scope, map[string]json.RawMessage{key: account.TypedSetting(key, value)})
	switch {
	case err != nil:
		return "", err
	case value == "":
		return fmt.Sprintf("Cleared %s of %s%s", key, agent.Username, where), nil
	default:
		return fmt.Sprintf("Set %s of %s%s", key, agent.Username, where), nil
	}
}

func (p *Platform) commandInviteAgent(ctx context.Context, c *commandCall) (string, error) {
	agent, err := p.namedAgent(ctx, c.args.Rest(0))
	if err != nil {
		return "", err
	}
	if _, err := p.AddAgent(ctx, c.Who, c.AgencyID, AddedAgent{AgentID: agent.ID}); err != nil {
		return "", err
	}
	c.acted = true
	return fmt.Sprintf("Added %s to %s.", agent.Username, inLine(c.room.Name)), nil
}

// roleOf is the role of a member; CodeNotFound for others.
func (p *Platform) roleOf(ctx context.Context, c *commandCall, who *account.Profile) (agency.Role, error) {
	role, err := p.role(ctx, who.ID, c.AgencyID)
	if err == nil && role == "" {
		err = kernel.NotFound("this account is not a member of the agency")
	}
	return role, err
}
