package platform

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"parley/actors/account"
	"parley/actors/agency"
	"parley/actors/kernel"
	"parley/persistence"
)

// Kinds of errands.
const (
	errandJoin   = "join"   // make an account a member of an agency
	errandFound  = "found"  // make a self-registered agent's agency
	errandForget = "forget" // end what a deleted account leaves behind
	errandPurge  = "purge"  // clean up after a dissolved agency
	errandAdopt  = "adopt"  // see whether an agent's new owner is still there
	errandUnask  = "unask"  // end a request to claim an agent when its time is over
	errandMail   = "mail"   // send the mail of such a request; see courier.go
	errandMeet   = "meet"   // see whether both sides of a new direct message are still there

	errandClear   = "clear"   // delete the messages of a direct message
	errandUnreact = "unreact" // drop the reactions to a deleted message
)

// Errands that did not end with the request that made them are tried again by the runner.
const (
	errandEvery   = 15 * time.Second
	errandPage    = 500
	errandTimeout = 60 * time.Second
)

// errand is work in one actor that follows from a commit in another. It is promised in the outbox of that commit, done
// before the caller is answered if all goes well, and otherwise when the server runs again. Each can be done twice.
type errand struct {
	Kind    string         `json:"k"`
	Agency  string         `json:"a,omitempty"`
	Who     account.Sender `json:"w"`
	Name    string         `json:"n,omitempty"`
	Charter string         `json:"c,omitempty"`
	Owner   string         `json:"o,omitempty"` // account id
	Request string         `json:"r,omitempty"` // of a claim
	Due     int64          `json:"d,omitempty"` // not before; ms, 0 for at once
	Tries   int            `json:"t,omitempty"` // made already
}

func joinLobby(account_ string) errand {
	return errand{Kind: errandJoin, Agency: agency.LobbyID, Who: account.Sender{ID: account_}}
}

func (e errand) entry() string {
	switch e.Kind {
	case errandPurge:
		return agency.PurgeEntry(e.Agency)
	case errandJoin:
		return e.Kind + "/" + e.Who.ID + "/" + e.Agency
	case errandAdopt:
		return e.Kind + "/" + e.Who.ID + "/" + e.Owner
	case errandMeet:
		return e.Kind + "/" + e.Who.ID + "/" + e.Agency
	case errandClear:
		return agency.ClearEntry(e.Agency)
	case errandUnreact:
		return e.Request
	case errandUnask, errandMail:
		return e.Kind + "/" + e.Who.ID + "/" + e.Request
	default:
		return e.Kind + "/" + e.Who.ID
	}
}

// promise is the outbox entry of an errand.
func (e errand) promise() persistence.OutboxOp {
	data, err := json.Marshal(e)
	if err != nil {
		panic(err) // plain structs always encode
	}
	return persistence.OutboxOp{ID: e.entry(), Data: data}
}

// carryOut does an errand now. One that fails stays in the outbox and is tried again by the runner.
func (p *Platform) carryOut(ctx context.Context, e errand) error {
	var err error
	switch e.Kind {
	case errandJoin:
		err = p.doJoin(ctx, e)
	case errandFound:
		err = p.doFound(ctx, e)
	case errandForget:
		err = p.doForget(ctx, e)
	case errandPurge:
		err = p.inSteps(ctx, e.Agency, agency.Purge{})
	case errandAdopt:
		err = p.doAdopt(ctx, e)
	case errandUnask:
		err = p.settleClaim(ctx, e.Who.ID, e.Request)
	case errandMeet:
		err = p.doMeet(ctx, e)
	case errandClear:
		err = p.inSteps(ctx, e.Agency, agency.ClearMessages{})
	case errandUnreact:
		err = p.inSteps(ctx, e.Agency, agency.DropReactions{Entry: e.Request})
	default:
		err = fmt.Errorf("unknown errand %q", e.Kind)
	}
	if err != nil {
		p.Log.Warn("errand postponed", "errand", e.entry(), "error", err)
		return kernel.AsError(err)
	}
	return nil
}

// fulfil removes an errand that turned out to have nothing to do.
func (p *Platform) fulfil(ctx context.Context, e errand) error {
	return p.tell(ctx, account.Ref(e.Who.ID), account.Fulfil{Entry: e.entry()})
}

func (p *Platform) doJoin(ctx context.Context, e errand) error {
	profile, err := p.Profile(ctx, e.Who.ID)
	if gone(err) {
		return p.fulfil(ctx, e)
	}
	if err != nil {
		return err
	}
	if profile.OwnerID != "" {
		if err := p.ownerStays(ctx, profile.ID, profile.OwnerID); err != nil {
			return err
		}
	}
	_, err = p.addMember(ctx, e.Agency, agency.AddMember{Who: profile.Sender(), Done: e.entry()})
	if gone(err) || err != nil && kernel.AsError(err).Code == kernel.CodeForbidden { // dissolved, or banned meanwhile
		return p.fulfil(ctx, e)
	}
	return err
}

func (p *Platform) doFound(ctx context.Context, e errand) error {
	profile, err := p.Profile(ctx, e.Who.ID)
	if gone(err) {
		return p.fulfil(ctx, e)
	}
	if err != nil {
		return err
	}
	n := agency.NewAgency{Name: e.Name}
	if e.Charter != "" {
		n.Charter = &e.Charter
	}
	_, err = p.foundFree(ctx, e.Agency, n, profile.Sender(), e.entry())
	return err
}

// doForget ends the memberships and agents of a deleted account.
func (p *Platform) doForget(ctx context.Context, e errand) error {
	prefix := e.Who.ID + "/"
	for _, collection := range []string{persistence.CollectionMembership, persistence.CollectionDM} {
		if err := p.forgetIn(ctx, e, collection, prefix); err != nil {
			return err
		}
	}
	if err := p.forgetAgents(ctx, e, prefix); err != nil {
		return err
	}
	return p.fulfil(ctx, e)
}

// forgetIn ends the memberships that a collection lists.
func (p *Platform) forgetIn(ctx context.Context, e errand, collection, prefix string) error {
	after := ""
	for {
		// Each row is looked at once: that of a dissolved agency stays until the clean-up of the agency comes to it.
		rows, err := p.Store.Documents(ctx, collection, persistence.Range{Prefix: prefix, After: after, Limit: errandPage})
		if err != nil || len(rows) == 0 {
			return err
		}
		for _, r := range rows {
			after = r.Key
			err := p.tell(ctx, agency.Ref(strings.TrimPrefix(r.Key, prefix)), agency.Forget{Who: e.Who})
			if err != nil && !gone(err) {
				return err
			}
		}
	}
}

// forgetAgents deletes the agents of a deleted account, a page at a time.
func (p *Platform) forgetAgents(ctx context.Context, e errand, prefix string) error {
	after := ""
	for {
		agents, err := p.Store.Documents(ctx, persistence.CollectionOwned, persistence.Range{Prefix: prefix, After: after, Limit: errandPage})
		if err != nil || len(agents) == 0 {
			return err
		}
		after = agents[len(agents)-1].Key
		if err := p.forgetPage(ctx, e, prefix, agents); err != nil {
			return err
		}
	}
}

func (p *Platform) forgetPage(ctx context.Context, e errand, prefix string, agents []persistence.Document) error {
	for _, r := range agents {
		agent, err := p.Profile(ctx, strings.TrimPrefix(r.Key, prefix))
		if gone(err) {
			continue
		}
		if err != nil {
			return err
		}
		// One that has another owner by now stays.
		if err := p.deleteAccount(ctx, agent.Sender(), account.Delete{By: e.Who.ID}); err != nil && !lost(err) {
			return err
		}
	}
	return nil
}

func gone(err error) bool { return err != nil && kernel.AsError(err).Code == kernel.CodeNotFound }

// errandRunner carries out what was promised and not done: first what an earlier run of the server left behind, then
// whatever is still there after errandEvery.
func (p *Platform) errandRunner() {
	defer p.tasks.Done()
	seen := p.runErrands(nil)
	tick := time.NewTicker(errandEvery)
	defer tick.Stop()
	for {
		select {
		case <-p.ended:
			return
		case <-tick.C:
			seen = p.runErrands(seen)
		}
	}
}

// runErrands carries out the entries that were seen before (nil: all), and returns those that are there now.
func (p *Platform) runErrands(seen map[string]bool) map[string]bool {
	ctx, cancel := context.WithTimeout(context.Background(), errandTimeout)
	defer cancel()
	go func() {
		select {
		case <-p.ended:
			cancel()
		case <-ctx.Done():
		}
	}()
	now := map[string]bool{}
	for after := ""; ; {
		entries, err := p.Store.Outbox(ctx, after, errandPage)
		if err != nil {
			p.Log.Warn("outbox can't be read", "error", err)
			return now
		}
		if len(entries) == 0 {
			return now
		}
		for _, entry := range entries {
			after = entry.ID
			now[entry.ID] = true
			if ctx.Err() == nil {
				p.runErrand(ctx, entry, seen == nil || seen[entry.ID])
			}
		}
	}
}

// runErrand carries out one entry of the outbox: one that was there before, or one that is due at a certain time.
func (p *Platform) runErrand(ctx context.Context, entry persistence.OutboxEntry, before bool) {
	e, known := agencyErrand(entry.ID)
	if !known {
		if err := json.Unmarshal(entry.Data, &e); err != nil {
			p.Log.Error("errand can't be read", "entry", entry.ID, "error", err)
			return
		}
	}
	if e.Kind == errandMail || e.Due > p.Now().UnixMilli() || e.Due == 0 && !before {
		return
	}
	_ = p.carryOut(ctx, e) // logged there, and tried again
}
