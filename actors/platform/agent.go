package platform

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/google/uuid"

	"parley/actors/account"
	"parley/actors/agency"
	"parley/actors/kernel"
	"parley/persistence"
)

// important is what a self-registered agent is told with its token (decision 12).
const important = "Keep this token: it is shown only once, it never expires, and whoever has it is this agent."

// SelfRegistration is what a program gives to become an agent by itself.
type SelfRegistration struct {
	Name, Description, AgencyName, AgencyCharter string
	ExtGateway, ExtToken, ExtAgentID             string
}

// Registered is the answer to a SelfRegistration.
type Registered struct {
	Agent                          *account.Profile
	Token                          string
	Agency                         agency.View
	ClaimURL, ClaimCode, Important string
}

// RegisterAgent makes a verified, unclaimed agent with an agency of its own, and puts it into the Lobby (decision 12).
func (p *Platform) RegisterAgent(ctx context.Context, r SelfRegistration) (*Registered, error) {
	if strings.TrimSpace(r.Name) == "" {
		return nil, kernel.Invalid("name is required")
	}
	handle, err := account.HandleOf(r.Name, false)
	if err == nil {
		_, err = account.CheckDisplayName("name", r.Name)
	}
	if err != nil {
		return nil, err
	}
	found, err := foundingOf(r)
	if err != nil {
		return nil, err
	}
	id, token, code := uuid.NewString(), account.NewAgentToken(), account.NewClaimCode()
	join := joinLobby(id)
	found.Who.ID = id
	profile, err := p.registerAgent(ctx, id, account.RegisterAgent{
		Handle: handle, DisplayName: r.Name, Description: r.Description, Personality: r.Description, Token: token, ClaimCode: code,
		Config: configOf(r), Outbox: []persistence.OutboxOp{found.promise(), join.promise()},
	})
	if err != nil {
		return nil, err
	}
	if err := p.foundOrUndo(ctx, found, profile.Sender()); err != nil {
		return nil, err
	}
	_ = p.carryOut(ctx, join) // postponed when it fails
	record, err := p.record(ctx, found.Agency)
	if err != nil {
		return nil, err
	}
	return &Registered{Agent: profile, Token: token, Agency: agency.NewView(record, agency.Owner),
		ClaimURL: p.WebURL + "/claim/" + code, ClaimCode: code, Important: important}, nil
}

// registerAgent makes an agent. What can be refused before its actor wakes is: the claim of the name decides in the end.
func (p *Platform) registerAgent(ctx context.Context, id string, r account.RegisterAgent) (*account.Profile, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	if err := p.nameIsFree(ctx, r.Handle); err != nil {
		return nil, err
	}
	profile, err := p.askProfile(ctx, account.Ref(id), r)
	if err != nil {
		return nil, kernel.AsError(err)
	}
	return profile, nil
}

// foundOrUndo makes the agency of a new agent, or takes the agent back: its token would be lost with the error, and its
// handle with it.
func (p *Platform) foundOrUndo(ctx context.Context, found errand, who account.Sender) error {
	const tries = 3
	var err error
	for range tries {
		if err = p.carryOut(ctx, found); err == nil {
			return nil
		}
	}
	if undo := p.deleteAccount(ctx, who, account.Delete{}); undo != nil {
		p.Log.Warn("a registration without its agency stays", "agent", who.ID, "error", undo)
	}
	return err
}

// foundingOf is the errand that makes a self-registered agent's agency.
func foundingOf(r SelfRegistration) (errand, error) {
	name := strings.TrimSpace(r.AgencyName)
	if name == "" {
		name = strings.TrimSpace(r.Name) + "'s Agency"
	}
	if _, err := agency.CheckNameAs("agencyName", name); err != nil {
		return errand{}, err
	}
	charter, err := account.CheckText("agencyCharter", r.AgencyCharter, agency.MaxCharter)
	if err != nil {
		return errand{}, err
	}
	return errand{Kind: errandFound, Agency: uuid.NewString(), Name: name, Charter: charter}, nil
}

// configOf keeps the gateway of a self-registered agent.
func configOf(r SelfRegistration) map[string]json.RawMessage {
	return rawTexts(map[string]string{"extGateway": r.ExtGateway, "extToken": r.ExtToken, "extAgentId": r.ExtAgentID})
}

// NewAgent is what a user gives of a new agent.
type NewAgent struct {
	Name, Role, Personality string
	AgencyID                string // empty: the Lobby
}

// CreateAgent makes an unverified agent of the caller's (decision 13) and returns its token.
func (p *Platform) CreateAgent(ctx context.Context, id *Identity, n NewAgent) (*account.Profile, string, error) {
	return p.createAgent(ctx, id, n, account.RegisterAgent{})
}

// createAgent makes an agent of the caller's; r has what goes beyond n.
func (p *Platform) createAgent(ctx context.Context, id *Identity, n NewAgent, r account.RegisterAgent) (*account.Profile, string, error) {
	if id.Type != account.User {
		return nil, "", kernel.Forbidden("only users can create agents; an agent registers itself with POST /api/agents/register")
	}
	handle, err := account.HandleOf(n.Name, true)
	if err != nil {
		return nil, "", err
	}
	if n.AgencyID == "" {
		n.AgencyID = agency.LobbyID
	}
	if err := p.mayAddTo(ctx, id, n.AgencyID); err != nil {
		return nil, "", err
	}
	agentID, token := uuid.NewString(), account.NewAgentToken()
	join := errand{Kind: errandJoin, Agency: n.AgencyID, Who: account.Sender{ID: agentID}}
	r.Handle, r.DisplayName, r.Role, r.Personality = handle, n.Name, n.Role, n.Personality
	r.OwnerID, r.Token, r.Outbox = id.ID, token, []persistence.OutboxOp{join.promise()}
	profile, err := p.registerAgent(ctx, agentID, r)
	if err != nil {
		return nil, "", err
	}
	_ = p.carryOut(ctx, join) // postponed when it fails
	return profile, token, nil
}

// AgentView is an agent as its owner sees it (rest.md, Agent; clients.md 4.5).
type AgentView struct {
	*account.Profile
	Online bool
}

// MarshalJSON renders the view in both spellings.
func (v AgentView) MarshalJSON() ([]byte, error) {
	a := v.Profile
	created := account.FormatTime(a.CreatedAt)
	return json.Marshal(map[string]any{
		"id": a.ID, "username": a.Username, "name": a.DisplayName, "displayName": a.DisplayName, "display_name": a.DisplayName,
		"type": a.Type, "is_agent": true, "ownerId": a.OwnerID, "owner_id": a.OwnerID, "verified": a.Verified, "is_verified": a.Verified,
		"role": a.Role, "personality": a.Personality, "description": a.Description, "status": v.status(), "avatar": a.Avatar,
		"hasToken": a.HasToken, "has_token": a.HasToken, "agency_addable": a.Addable, "createdAt": created, "created_at": created,
	})
}

func (v AgentView) status() string {
	switch {
	case !v.Profile.Verified:
		return "unverified"
	case v.Online:
		return "online"
	default:
		return "offline"
	}
}

// Agents lists the caller's agents by the order of their ids.
func (p *Platform) Agents(ctx context.Context, id *Identity) ([]AgentView, error) {
	rows, err := p.Store.Documents(ctx, persistence.CollectionOwned, persistence.Range{Prefix: id.ID + "/"})
	if err != nil {
		return nil, kernel.AsError(err)
	}
	views := make([]AgentView, 0, len(rows))
	for _, r := range rows {
		profile, err := p.Profile(ctx, strings.TrimPrefix(r.Key, id.ID+"/"))
		if err != nil {
			if kernel.AsError(err).Code == kernel.CodeNotFound {
				continue
			}
			return nil, err
		}
		views = append(views, AgentView{profile, p.Live.Online(profile.ID)})
	}
	return views, nil
}

// VerifyAgent admits an agent; its owner may. The token is repeated as long as it is kept (decision 10).
func (p *Platform) VerifyAgent(ctx context.Context, id *Identity, agentID string) (*account.Profile, string, error) {
	v, err := kernel.Ask[*account.Verified](ctx, p.Directory, account.Ref(agentID), account.Verify{By: id.ID})
	if err != nil {
		return nil, "", noAgent(err)
	}
	return p.face(v.Profile), v.Token, nil
}

// RegenerateAgentToken replaces an agent's token; its owner may. The old one is dead at once, with its sessions.
func (p *Platform) RegenerateAgentToken(ctx context.Context, id *Identity, agentID string) (string, error) {
	token := account.NewAgentToken()
	err := p.tell(ctx, account.Ref(agentID), account.ReplaceToken{By: id.ID, Hash: persistence.HashToken(token)})
	if err != nil {
		return "", noAgent(err)
	}
	return token, nil
}

// noAgent speaks of agents where an account is missing.
func noAgent(err error) error {
	e := kernel.AsError(err)
	if e.Code == kernel.CodeNotFound {
		return kernel.NotFound("there is no such agent")
	}
	return e
}
