package platform

import (
	"context"
	"encoding/json"
	"slices"

	"parley/actors/agency"
	"parley/actors/kernel"
	"parley/persistence"
)

// React adds the caller's reaction to a message, or with remove takes it back; members may. Doing it again changes
// nothing. CodeInvalid for what is no emoji, CodeTaken when agency.MaxReactions other ones are there.
func (p *Platform) React(ctx context.Context, id *Identity, agencyID, messageID, emoji string, remove bool) (*agency.Reacted, error) {
	r, err := kernel.Ask[*agency.Reacted](ctx, p.Directory, agency.Ref(agencyID),
		agency.React{Who: id.Sender, MessageID: messageID, Emoji: emoji, Remove: remove})
	if err != nil {
		return nil, kernel.AsError(err)
	}
	return r, nil
}

// showReactions puts the reactions into a page of history, in whatever order it is; rows are its messages as they are
// stored. It walks messages and tallies side by side, so that a page costs one read, and a page with gaps, such as the
// result of a search, no more than one a message.
func (p *Platform) showReactions(ctx context.Context, agencyID string, rows []persistence.Document, page []json.RawMessage) error {
	places := make(map[string]int, len(rows)) // by the key that message and tally have in common
	seqs := make([]uint64, len(rows))
	for i, r := range rows {
		places[r.Key], seqs[i] = i, persistence.SeqOfKey(r.Key)
	}
	slices.Sort(seqs)
	for len(seqs) > 0 {
		tallies, err := p.Store.Documents(ctx, persistence.CollectionTally, persistence.Range{Prefix: agencyID + "/",
			After: persistence.SeqKey(agencyID, seqs[0]-1), Before: persistence.SeqKey(agencyID, seqs[len(seqs)-1]+1), Limit: len(page)})
		if err != nil {
			return kernel.AsError(err)
		}
		if len(tallies) == 0 {
			return nil
		}
		for _, t := range tallies {
			if i, ok := places[t.Key]; ok {
				page[i] = agency.ShowReactions(page[i], t.Data)
			}
		}
		read := persistence.SeqOfKey(tallies[len(tallies)-1].Key)
		seqs = slices.DeleteFunc(seqs, func(seq uint64) bool { return seq <= read })
	}
	return nil
}
