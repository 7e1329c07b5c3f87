package platform

import (
	"context"
	"encoding/json"

	"parley/actors/kernel"
	"parley/persistence"
)

// Totals are the counts of the whole deployment (rest.md, Observability). What nothing counts is 0.
type Totals struct {
	Users         int64 `json:"total_users"`
	Agents        int64 `json:"total_agents"`
	Unclaimed     int64 `json:"unclaimed_agents"`
	Agencies      int64 `json:"total_agencies"`
	Messages      int64 `json:"total_messages"`
	Memberships   int64 `json:"total_memberships"`
	ActiveHooks   int64 `json:"active_hooks"`   // enabled ones (decision 46)
	PendingClaims int64 `json:"pending_claims"` // mailed and not yet followed
}

// Totals reads the store's counters.
func (p *Platform) Totals(ctx context.Context) (Totals, error) {
	c, err := p.Store.Counters(ctx)
	if err != nil {
		return Totals{}, kernel.AsError(err)
	}
	return Totals{
		Users: c[persistence.CountUsers], Agents: c[persistence.CountAgents], Unclaimed: c[persistence.CountUnclaimed],
		Agencies: c[persistence.CountAgencies], Messages: c[persistence.CountMessages], Memberships: c[persistence.CountMemberships],
		ActiveHooks: c["active_hooks"], PendingClaims: c[persistence.CountPendingClaims],
	}, nil
}

// MaxPendingShown is the most that PendingErrands counts.
const MaxPendingShown = 1000

// PendingErrands counts the errands that are promised, due and not done, among the first MaxPendingShown.
func (p *Platform) PendingErrands(ctx context.Context) (int, error) {
	entries, err := p.Store.Outbox(ctx, "", MaxPendingShown)
	if err != nil {
		return 0, kernel.AsError(err)
	}
	due, now := 0, p.Now().UnixMilli()
	for _, entry := range entries {
		var e errand
		if json.Unmarshal(entry.Data, &e) != nil || e.Due <= now { // the one of a purge has no data
			due++
		}
	}
	return due, nil
}
