package platform

import (
	"context"
	"errors"
	"strings"

	"parley/actors/agency"
	"parley/actors/explore"
	"parley/actors/kernel"
	"parley/persistence"
)

// Limits of one search.
const (
	// MaxFound is the largest number of results of one search.
	MaxFound = 1000
	// maxCandidates is how many records one search reads at most to judge them.
	maxCandidates = 1000
	// maxWalked is how many places of the index it looks at, those before the offset included.
	maxWalked = 2*MaxExploreOffset + maxCandidates
	// leastPage and mostPage bound one read of the index.
	leastPage = 32
	mostPage  = 1000
)

// loader reads what an id of the index stands for; nil when it is not there or does not match.
type loader[T any] func(ctx context.Context, id string) (*T, error)

// searching is one search on its way.
type searching[T any] struct {
	load  loader[T]
	skip  int
	limit int
	seen  map[string]bool
	found []*T
	read  int
}

func (s *searching[T]) over() bool { return len(s.found) >= s.limit || s.read >= maxCandidates }

// take looks at one candidate. Each counts once, under however many words it is found.
func (s *searching[T]) take(ctx context.Context, id string, sure bool) error {
	if s.seen[id] {
		return nil
	}
	s.seen[id] = true
	if sure && s.skip > 0 {
		s.skip--
		return nil
	}
	s.read++
	it, err := s.load(ctx, id)
	switch {
	case err != nil || it == nil:
		return err
	case s.skip > 0:
		s.skip--
	default:
		s.found = append(s.found, it)
	}
	return nil
}

// search finds what matches a query: what bears it as its handle, then the others in the order of the words that they are
// found under. Its cost does not depend on how many things there are.
func search[T any](ctx context.Context, p *Platform, kind explore.Kind, q explore.Query, limit, offset int, load loader[T]) ([]*T, error) {
	s := &searching[T]{load: load, skip: offset, limit: limit, seen: map[string]bool{}}
	if q.Empty() {
		return nil, nil
	}
	id, err := p.bearer(ctx, kind, q.Handle)
	if err == nil && id != "" {
		err = s.take(ctx, id, false)
	}
	walked := 0
	for _, prefix := range q.Prefixes(kind) {
		for after := ""; err == nil && !s.over() && walked < maxWalked; {
			var page []persistence.Document
			page, err = p.Store.Documents(ctx, persistence.CollectionTerm, persistence.Range{Prefix: prefix, After: after,
				Limit: min(max(s.skip+s.limit-len(s.found), leastPage), mostPage)})
			if err != nil || len(page) == 0 {
				break
			}
			walked += len(page)
			after = page[len(page)-1].Key
			for i := 0; i < len(page) && err == nil && !s.over(); i++ {
				err = s.take(ctx, explore.IDOf(page[i].Key), q.Exact())
			}
		}
	}
	if err != nil {
		return nil, kernel.AsError(err)
	}
	return s.found, nil
}

// bearer finds who has exactly this handle, empty for nobody.
func (p *Platform) bearer(ctx context.Context, kind explore.Kind, handle string) (string, error) {
	index := persistence.ClaimUsername
	if kind == explore.Agencies {
		index = persistence.ClaimSlug
	}
	if handle == "" || len(handle) > agency.MaxSlug {
		return "", nil
	}
	claim, err := p.Store.Claim(ctx, index, strings.ToLower(handle))
	return claim.Owner, absent(err)
}

// absent takes what is not there for no error.
func absent(err error) error {
	if errors.Is(err, persistence.ErrNotFound) {
		return nil
	}
	return err
}
