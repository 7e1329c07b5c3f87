package platform

import (
	"context"
	"errors"
	"strings"

	"parley/actors/agency"
	"parley/actors/kernel"
	"parley/persistence"
)

// Note is a text that the members of an agency keep under a key.
type Note struct {
	Key string
	agency.NoteRecord
}

// SaveNote keeps a text under a key, in place of an earlier one; members may.
func (p *Platform) SaveNote(ctx context.Context, id *Identity, agencyID, key, value string) error {
	return p.tell(ctx, agency.Ref(agencyID), agency.SaveNote{By: id.Sender, Key: key, Value: value})
}

// ClearNote deletes a note; members may. CodeNotFound when there is none.
func (p *Platform) ClearNote(ctx context.Context, id *Identity, agencyID, key string) error {
	return p.tell(ctx, agency.Ref(agencyID), agency.ClearNote{By: id.Sender, Key: key})
}

// Note returns what is kept under a key; members may read it. CodeNotFound when there is nothing.
func (p *Platform) Note(ctx context.Context, id *Identity, agencyID, key string) (*Note, error) {
	if _, _, err := p.membership(ctx, id, agencyID); err != nil {
		return nil, err
	}
	if agency.CheckNoteKey(key) != nil {
		return nil, agency.ErrNoNote()
	}
	doc, err := p.Store.Document(ctx, persistence.CollectionNote, persistence.Key(agencyID, key))
	if errors.Is(err, persistence.ErrNotFound) {
		return nil, agency.ErrNoNote()
	}
	if err != nil {
		return nil, kernel.AsError(err)
	}
	n, err := agency.DecodeNote(doc)
	if err != nil {
		return nil, kernel.AsError(err)
	}
	return &Note{key, n}, nil
}

// Notes lists an agency's notes by key; members may read them.
func (p *Platform) Notes(ctx context.Context, id *Identity, agencyID string) ([]Note, error) {
	if _, _, err := p.membership(ctx, id, agencyID); err != nil {
		return nil, err
	}
	list := []Note{}
	of := persistence.Range{Prefix: agencyID + "/", Limit: agency.MaxNotes}
	for len(list) < agency.MaxNotes { // long notes take more than one read
		rows, err := p.Store.Documents(ctx, persistence.CollectionNote, of)
		if err != nil {
			return nil, kernel.AsError(err)
		}
		if len(rows) == 0 {
			break
		}
		for _, d := range rows {
			n, err := agency.DecodeNote(d.Data)
			if err != nil {
				return nil, kernel.AsError(err)
			}
			list = append(list, Note{strings.TrimPrefix(d.Key, agencyID+"/"), n})
		}
		of.After = rows[len(rows)-1].Key
	}
	return list, nil
}
