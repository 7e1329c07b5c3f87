package platform

import (
	"context"
	"encoding/json"

	"parley/actors/account"
	"parley/actors/agency"
	"parley/actors/kernel"
)

// EventAgencyInvited tells an agent's live connections that it was added to an agency (clients.md 3.3).
const EventAgencyInvited = "agency-invited"

// AddedAgent names an agent to be added to an agency: an existing one by id or, if that is empty, by name, else a new
// one.
type AddedAgent struct {
	AgentID, Username string
	New               NewAgent
}

// AgentAdded is the answer to an AddedAgent.
type AgentAdded struct {
	Agent  *account.Profile
	Token  string // of a new one, else empty
	Agency agency.View
}

// AddAgent makes an agent a member of an agency; members of the agency may, as far as decision 14 lets them. The agent's
// live connections are told.
func (p *Platform) AddAgent(ctx context.Context, id *Identity, agencyID string, a AddedAgent) (*AgentAdded, error) {
	if err := p.mayAddTo(ctx, id, agencyID); err != nil {
		return nil, err
	}
	if a.AgentID == "" && a.Username == "" {
		a.New.AgencyID = agencyID
		return p.addNewAgent(ctx, id, a.New)
	}
	agent, err := p.addable(ctx, id, a)
	if err != nil {
		return nil, err
	}
	entered, err := p.addMember(ctx, agencyID, agency.AddMember{Who: agent.Sender(), By: id.ID})
	if err != nil {
		return nil, kernel.AsError(err)
	}
	if entered.Joined {
		p.Live.Deliver(agent.ID, EventAgencyInvited, Invitation(&entered.Record))
	}
	role, err := p.role(ctx, id.ID, agencyID)
	if err != nil {
		return nil, err
	}
	return &AgentAdded{Agent: agent, Agency: agency.NewView(&entered.Record, role)}, nil
}

// mayAddTo admits members of an agency to which agents can be added at all.
func (p *Platform) mayAddTo(ctx context.Context, id *Identity, agencyID string) error {
	r, _, err := p.membership(ctx, id, agencyID)
	if err == nil && r.Kind == agency.DM {
		err = kernel.Forbidden("nobody can be added to a direct message")
	}
	return err
}

func (p *Platform) addNewAgent(ctx context.Context, id *Identity, n NewAgent) (*AgentAdded, error) {
	agent, token, err := p.CreateAgent(ctx, id, n)
	if err != nil {
		return nil, err
	}
	r, role, err := p.visible(ctx, id, n.AgencyID)
	if err != nil {
		return nil, err
	}
	return &AgentAdded{Agent: agent, Token: token, Agency: agency.NewView(r, role)}, nil
}

// addable finds the agent and applies decision 14.
func (p *Platform) addable(ctx context.Context, id *Identity, a AddedAgent) (*account.Profile, error) {
	agent, err := p.namedAccount(ctx, a.AgentID, a.Username)
	if err != nil {
		return nil, noAgent(err)
	}
	switch {
	case agent.Type != account.Agent:
		return nil, kernel.NotFound("there is no such agent")
	case agent.OwnerID == id.ID, agent.Addable != nil && *agent.Addable, agent.OwnerID == "" && agent.Addable == nil:
		return agent, nil
	default:
		return nil, kernel.Forbidden("this agent can be added by its owner alone, unless the owner sets agency_addable")
	}
}

// addMember makes an account a member, and takes that back when the account was deleted meanwhile: its memberships may
// have been listed before this one was there.
func (p *Platform) addMember(ctx context.Context, agencyID string, c agency.AddMember) (*agency.Entered, error) {
	entered, err := kernel.Ask[*agency.Entered](ctx, p.Directory, agency.Ref(agencyID), c)
	if err != nil || !entered.Joined {
		return entered, err
	}
	_, err = p.Profile(ctx, c.Who.ID)
	if !gone(err) {
		return entered, nil // a member now, whether it can be read or not
	}
	if err := p.tell(ctx, agency.Ref(agencyID), agency.Forget{Who: c.Who}); err != nil {
		return nil, err
	}
	return nil, err
}

// Invitation is the data of EventAgencyInvited.
func Invitation(r *agency.Record) []byte {
	data, err := json.Marshal(map[string]any{"agencyId": r.ID, "agency_id": r.ID,
		"agency": map[string]string{"id": r.ID, "name": r.Name, "slug": r.Slug}})
	if err != nil {
		panic(err) // texts always encode
	}
	return data
}
