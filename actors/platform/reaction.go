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

// showReactions puts the reactions into a page of history, in whatever order it is. It walks messages and tallies side by
// side, so that a page costs one read, and a page with gaps, such as the result of a search, no more than one a message.
func (p *Platform) showReactions(ctx context.Context, agencyID string, page []json.RawMessage) ([]json.RawMessage, error) {
	places := make(map[string]int, len(page)) // key of the tally: place on the page
	seqs := make([]uint64, len(page))
	for i, doc := range page {
		var m struct {
			Seq uint64 `json:"seq"`
		}
		if err := json.Unmarshal(doc, &m); err != nil {
			return nil, kernel.AsError(err)
		}
		places[persistence.SeqKey(agencyID, m.Seq)], seqs[i] = i, m.Seq
	}
	slices.Sort(seqs)
	for len(seqs) > 0 {
		rows, err := p.Store.Documents(ctx, persistence.CollectionTally, persistence.Range{Prefix: agencyID + "/",
			After: persistence.SeqKey(agencyID, seqs[0]-1), Before: persistence.SeqKey(agencyID, seqs[len(seqs)-1]+1), Limit: len(page)})
		if err != nil {
			return nil, kernel.AsError(err)
		}
		if len(rows) == 0 {
			break
		}
		for _, r := range rows {
			if i, ok := places[r.Key]; ok {
				page[i] = agency.ShowReactions(page[i], r.Data)
			}
		}
		read := rows[len(rows)-1].Key
		seqs = slices.DeleteFunc(seqs, func(seq uint64) bool { return persistence.SeqKey(agencyID, seq) <= read })
	}
	return page, nil
}
