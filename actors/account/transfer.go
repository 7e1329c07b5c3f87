package account

import (
	"parley/actors/kernel"
	"parley/persistence"
)

// Transfer gives an agent to another owner (decision 15). Its token and its sessions stay. It answers with a *Profile.
// That the new owner still exists is for the outbox to find out: it is another actor.
type Transfer struct {
	By     string
	To     string
	Outbox []persistence.OutboxOp
}

// ClaimAgent gives an agent that registered itself to the user who followed the link of a claim's mail (decision 16). The
// first one gets it. It answers with a *Claimed; CodeTaken when somebody else has claimed it, CodeGone when the request
// has expired.
type ClaimAgent struct {
	By      string
	Request string
	Expired bool // the request was too old when the link was followed
	Outbox  []persistence.OutboxOp
}

// Claimed is the answer to ClaimAgent.
type Claimed struct {
	Profile *Profile
	Again   bool // the same link was followed before
}

// newOwner is the body of the event owned.
type newOwner struct {
	Owner   string `json:"o"`
	Request string `json:"r,omitempty"` // of a claim
}

func (a *Account) transfer(t *kernel.Turn, c Transfer) {
	if err := a.ownedBy(c.By); err != nil {
		t.Fail(err)
		return
	}
	if c.By == c.To {
		t.Fail(kernel.Invalid("the agent is yours already"))
		return
	}
	change, p := a.changeOwner(t.ID(), newOwner{Owner: c.To})
	change.Outbox = c.Outbox
	t.Commit(change, func() { t.Reply(p) }, nil)
}

func (a *Account) claimAgent(t *kernel.Turn, c ClaimAgent) {
	switch {
	case a.s.Type != Agent:
		t.Fail(kernel.NotFound("there is no such agent"))
		return
	case a.s.OwnerID != "" && a.s.OwnerID == c.By && a.s.ClaimedWith == c.Request:
		p := a.profile()
		t.AfterCommits(func() { t.Reply(&Claimed{Profile: p, Again: true}) })
		return
	case a.s.OwnerID != "":
		t.Fail(errClaimed())
		return
	case c.Expired:
		t.Fail(kernel.Fail(kernel.CodeGone, "this link has expired; claim the agent again"))
		return
	}
	change, p := a.changeOwner(t.ID(), newOwner{Owner: c.By, Request: c.Request})
	change.Counters = append(change.Counters, persistence.CounterOp{Name: persistence.CountUnclaimed, Delta: -1})
	change.Outbox = c.Outbox
	t.Commit(change, func() { t.Reply(&Claimed{Profile: p}) }, nil)
}

func errClaimed() error { return kernel.Fail(kernel.CodeTaken, "this agent has been claimed already") }

// changeOwner keeps the profile and the lists of both owners in step, in one commit of the agent's.
func (a *Account) changeOwner(id string, to newOwner) (kernel.Change, *Profile) {
	p := a.profile()
	p.OwnerID = to.Owner
	change := kernel.Change{
		Events: []persistence.Event{event(owned, to)},
		Documents: []persistence.DocumentOp{
			{Collection: persistence.CollectionAccount, Key: id, Data: p.Encode()},
			{Collection: persistence.CollectionOwned, Key: persistence.Key(to.Owner, id), Data: []byte{}},
		},
	}
	if a.s.OwnerID != "" {
		change.Documents = append(change.Documents, persistence.DocumentOp{Collection: persistence.CollectionOwned,
			Key: persistence.Key(a.s.OwnerID, id)})
	}
	return change, p
}
