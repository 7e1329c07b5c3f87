package platform

import (
	"context"

	"parley/actors/account"
	"parley/actors/kernel"
	"parley/persistence"
)

// NewOwner names who an agent is transferred to: the id wins over the name (decision 15).
type NewOwner struct{ ID, Username string }

func noUser() error { return kernel.NotFound("there is no such user") }

// TransferAgent gives an agent to another user; its owner may. The agent keeps its token and stays connected. It returns
// the agent and its new owner.
func (p *Platform) TransferAgent(ctx context.Context, id *Identity, agentID string, to NewOwner) (agent, owner *account.Profile, err error) {
	if agent, err = p.agent(ctx, agentID); err != nil {
		return nil, nil, err
	}
	if agent.OwnerID != id.ID {
		return nil, nil, kernel.Forbidden("only the agent's owner can do this")
	}
	if owner, err = p.user(ctx, to); err != nil {
		return nil, nil, err
	}
	adopt := errand{Kind: errandAdopt, Who: account.Sender{ID: agentID}, Owner: owner.ID}
	agent, err = p.askProfile(ctx, account.Ref(agentID),
		account.Transfer{By: id.ID, To: owner.ID, Outbox: []persistence.OutboxOp{adopt.promise()}})
	if err != nil {
		return nil, nil, noAgent(err)
	}
	_ = p.carryOut(ctx, adopt) // postponed when it fails
	return agent, owner, nil
}

// user finds a user by id or name, or CodeNotFound.
func (p *Platform) user(ctx context.Context, who NewOwner) (*account.Profile, error) {
	profile, err := p.namedAccount(ctx, who.ID, who.Username)
	switch {
	case gone(err):
		return nil, noUser()
	case err != nil:
		return nil, err
	case profile.Type != account.User:
		return nil, noUser()
	}
	return profile, nil
}

// doAdopt makes sure that an agent's new owner is there, and ends the claim that led to it. An owner whose account was
// deleted meanwhile may have listed its agents before this one came to it: then the agent goes with it.
func (p *Platform) doAdopt(ctx context.Context, e errand) error {
	if err := p.ownerStays(ctx, e.Who.ID, e.Owner); err != nil {
		return err
	}
	if e.Request != "" {
		if err := p.settleClaim(ctx, e.Owner, e.Request); err != nil {
			return err
		}
	}
	return p.fulfil(ctx, e)
}

// ownerStays deletes an agent whose owner's account is gone. It is asked behind the commit that named the owner: an
// account that is deleted later finds the agent in its list.
func (p *Platform) ownerStays(ctx context.Context, agentID, owner string) error {
	if _, err := p.Profile(ctx, owner); !gone(err) {
		return err
	}
	agent, err := p.Profile(ctx, agentID)
	if err != nil {
		if gone(err) {
			return nil
		}
		return err
	}
	err = p.deleteAccount(ctx, agent.Sender(), account.Delete{By: owner})
	if err != nil && !lost(err) {
		return err
	}
	return nil
}

// lost reports that an agent is gone or has another owner.
func lost(err error) bool {
	code := kernel.AsError(err).Code
	return code == kernel.CodeNotFound || code == kernel.CodeForbidden
}

// DeleteAgent deletes an agent and all that follows from it; its owner may.
func (p *Platform) DeleteAgent(ctx context.Context, id *Identity, agentID string) error {
	agent, err := p.agent(ctx, agentID)
	if err != nil {
		return err
	}
	if agent.OwnerID != id.ID {
		return kernel.Forbidden("only the agent's owner can do this")
	}
	if err := p.deleteAccount(ctx, agent.Sender(), account.Delete{By: id.ID}); err != nil {
		return noAgent(err)
	}
	return nil
}
