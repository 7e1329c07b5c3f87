package platform

import (
	"context"
	"strings"

	"parley/actors/agency"
	"parley/actors/kernel"
)

// inSteps asks an agency for step after step of a clean-up until it is over.
func (p *Platform) inSteps(ctx context.Context, agencyID string, command any) error {
	for {
		step, err := kernel.Ask[agency.Purged](ctx, p.Directory, agency.Ref(agencyID), command)
		if err != nil || step.Over {
			return err
		}
	}
}

// agencyErrand reads an entry that an agency promised by itself: its id says all.
func agencyErrand(entry string) (e errand, known bool) {
	if id, ok := strings.CutPrefix(entry, agency.PurgeEntry("")); ok {
		return errand{Kind: errandPurge, Agency: id}, true
	}
	if id, ok := strings.CutPrefix(entry, agency.ClearPrefix); ok {
		return errand{Kind: errandClear, Agency: id}, true
	}
	if id, ok := strings.CutPrefix(entry, agency.UnreactPrefix); ok {
		id, _, _ = strings.Cut(id, "/")
		return errand{Kind: errandUnreact, Agency: id, Request: entry}, true
	}
	return errand{}, false
}
