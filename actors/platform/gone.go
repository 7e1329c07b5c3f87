package platform

import (
	"context"

	"parley/actors/agency"
)

// present are accounts that one request has looked up: whether they are there.
type present map[string]bool

// nameActor shows who did something long ago as a deleted account if that one has ended since (decision 9): what is kept of
// an act has the names of then.
func (p *Platform) nameActor(ctx context.Context, who *agency.WireSender, seen present) error {
	here, known := seen[who.ID]
	if !known {
		_, err := p.Profile(ctx, who.ID)
		if err != nil && !gone(err) {
			return err
		}
		here = err == nil
		seen[who.ID] = here
	}
	if !here {
		who.Username, who.DisplayName = deletedName, agency.DeletedDisplayName
	}
	return nil
}
