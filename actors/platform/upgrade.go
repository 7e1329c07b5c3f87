package platform

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"parley/actors/account"
	"parley/actors/agency"
	"parley/actors/explore"
	"parley/persistence"
)

// The directory of a store that was made without it is filled once, before any actor wakes: then nothing changes what it
// is made of.
const (
	directoryStep = "directory" // the document of CollectionUpgrade that tells how far it is
	// fillPage is how many records one step reads: what follows from them fits into one batch however many words they have.
	fillPage = 100
)

// progress is how far a step of bringing a store up to date has come. It changes in the batch that it tells of.
type progress struct {
	Part  string `json:"part"`            // the collection that is read; empty when all is done
	After string `json:"after,omitempty"` // the last key that is done
}

// parts are what the directory is made of: collections, and what the directory has of a row.
var parts = []struct {
	collection string
	entry      func(ctx context.Context, s persistence.Store, d persistence.Document) (*explore.Entry, error)
}{
	{persistence.CollectionPublic, func(ctx context.Context, s persistence.Store, d persistence.Document) (*explore.Entry, error) {
		doc, err := s.Document(ctx, persistence.CollectionAgency, d.Key)
		if err != nil {
			return nil, absent(err)
		}
		r, err := agency.DecodeRecord(doc)
		if err != nil {
			return nil, err
		}
		return agency.EntryOf(r), nil
	}},
	{persistence.CollectionAccount, func(_ context.Context, _ persistence.Store, d persistence.Document) (*explore.Entry, error) {
		p, err := account.DecodeProfile(d.Data)
		if err != nil {
			return nil, err
		}
		return account.EntryOf(p), nil
	}},
}

// fillDirectory goes on where an earlier start of the server has stopped.
func (p *Platform) fillDirectory(ctx context.Context) error {
	at, err := p.progress(ctx)
	if err != nil || at.Part == "" {
		return err
	}
	stream := persistence.Stream(persistence.StreamUpgrade, directoryStep)
	lease, err := p.Store.Acquire(ctx, stream, 0)
	if err != nil {
		return err
	}
	if at, err = p.progress(ctx); err != nil { // another server may have gone on until now
		return err
	}
	for rows := 0; at.Part != ""; {
		ops, next, n, err := p.fillStep(ctx, at)
		if err != nil {
			return err
		}
		doc, err := json.Marshal(next)
		if err != nil {
			return err
		}
		ops = append(ops, persistence.DocumentOp{Collection: persistence.CollectionUpgrade, Key: directoryStep, Data: doc})
		batch := &persistence.Batch{Stream: stream, Epoch: lease.Epoch, Expect: lease.Last, Documents: ops}
		err = p.Store.Append(ctx, []*persistence.Batch{batch})[0]
		if errors.Is(err, persistence.ErrFenced) {
			return p.fillDirectory(ctx) // another server is at it; each takes at least a step, so this ends
		}
		if err != nil {
			return err
		}
		if rows += n; next.Part == "" && rows > 0 {
			p.Log.Info("the directory is filled", "records", rows)
		}
		at = next
	}
	return nil
}

// progress reads how far the directory is.
func (p *Platform) progress(ctx context.Context) (at progress, err error) {
	doc, err := p.Store.Document(ctx, persistence.CollectionUpgrade, directoryStep)
	if errors.Is(err, persistence.ErrNotFound) {
		return progress{Part: parts[0].collection}, nil
	}
	if err == nil {
		err = json.Unmarshal(doc, &at)
	}
	return at, err
}

// fillStep works out what one page of records adds to the directory, and where the next one begins.
func (p *Platform) fillStep(ctx context.Context, at progress) (ops []persistence.DocumentOp, next progress, n int, err error) {
	for i, part := range parts {
		if part.collection != at.Part {
			continue
		}
		rows, err := p.Store.Documents(ctx, part.collection, persistence.Range{After: at.After, Limit: fillPage})
		if err != nil {
			return nil, at, 0, err
		}
		if len(rows) == 0 {
			if i+1 < len(parts) {
				next.Part = parts[i+1].collection
			}
			return nil, next, 0, nil
		}
		for _, d := range rows {
			e, err := part.entry(ctx, p.Store, d)
			if err != nil && errors.Is(err, persistence.ErrUnavailable) {
				return nil, at, 0, err
			}
			if err != nil { // nobody can read it anywhere: it need not keep the others from being served
				p.Log.Error("a record can't be put into the directory", "collection", part.collection, "key", d.Key, "error", err)
			}
			ops = append(ops, explore.Change(nil, e)...)
		}
		return ops, progress{Part: at.Part, After: rows[len(rows)-1].Key}, len(rows), nil
	}
	return nil, at, 0, fmt.Errorf("unknown part %q", at.Part)
}
