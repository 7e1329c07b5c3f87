package platform

import (
	"context"
	"errors"
	"time"

	"parley/actors/agency"
	"parley/actors/kernel"
	"parley/actors/search"
	"parley/persistence"
)

// indexRetry is when a search that met an index in the making may be tried again.
const indexRetry = 2 * time.Second

// search returns the documents of a page of hits. No page ends early unsaid: what is too much work is an error.
func (p *Platform) search(ctx context.Context, agencyID string, h History, b bounds) ([]persistence.Document, error) {
	handle := ""
	if h.Mentions != "" {
		var ok bool
		if handle, ok = search.Handle(h.Mentions); !ok {
			return nil, kernel.Invalid("mentions must be a username")
		}
	}
	q, err := search.Parse(h.Query, handle)
	switch {
	case errors.Is(err, search.ErrNoWords):
		return nil, kernel.Invalid("q must have a word to look for: letters, digits or symbols")
	case errors.Is(err, search.ErrManyWords):
		return nil, kernel.Invalid("q must have at most %d words", search.MaxQuery)
	case err != nil:
		return nil, err
	}
	r := search.Request{Store: p.Store, Agency: agencyID, Query: q, Limit: h.Limit, Ascending: h.Ascending, Content: agency.ContentOf}
	if b.after != nil {
		r.After = *b.after
	}
	if b.before != nil {
		if r.Before = *b.before; r.Before <= 1 {
			return nil, nil // nothing is before the first
		}
	}
	found, err := search.Find(ctx, r)
	if found.Behind {
		p.Directory.Call(agency.Ref(agencyID), agency.Index{}, func(any, error) {}) // the next search finds more of it done
	}
	var broad *search.BroadError
	switch {
	case errors.Is(err, search.ErrBehind):
		return nil, &kernel.Error{Code: kernel.CodeOverloaded, RetryAfter: indexRetry,
			Message: "the messages of this agency are still being indexed; try again shortly"}
	case errors.As(err, &broad):
		return nil, p.tooBroad(ctx, agencyID, h, broad)
	}
	return found.Messages, err
}

// tooBroad says from where on a search that was given up can go on.
func (p *Platform) tooBroad(ctx context.Context, agencyID string, h History, e *search.BroadError) error {
	r := persistence.Range{Prefix: agencyID + "/", After: persistence.SeqKey(agencyID, e.Reached), Limit: 1}
	cursor, other := "before", "after"
	if h.Ascending {
		r.After, r.Before, r.Reverse = "", persistence.SeqKey(agencyID, e.Reached), true
		cursor, other = other, cursor
	}
	seen, err := p.Store.Documents(ctx, persistence.CollectionMessage, r)
	if err != nil {
		return err
	}
	if len(seen) == 0 {
		return kernel.Invalid("q asks for too much in one request; give rarer words, or bounds with before and after")
	}
	m, err := agency.DecodeMessage(seen[0].Data)
	if err != nil {
		return err
	}
	return kernel.Invalid("q asks for too much in one request; give rarer words, or go on with %s=%s (the %d hits up to there come with %s=%s)",
		cursor, m.ID, e.Found, other, m.CreatedAt)
}
