package account

import (
	"parley/actors/explore"
	"parley/persistence"
)

// EntryOf is an account's place in the directory, nil when it has none. Agents are found as agents and among all accounts
// (clients.md 2.9).
func EntryOf(p *Profile) *explore.Entry {
	if p == nil || p.ID == "" || p.Deleted {
		return nil
	}
	e := &explore.Entry{ID: p.ID, Handle: p.Username, Name: p.DisplayName, Kinds: []explore.Kind{explore.Accounts}}
	if p.Type == Agent {
		e.Kinds = append(e.Kinds, explore.Agents)
	}
	for _, kind := range e.Kinds {
		e.Place = append(e.Place, persistence.DocumentOp{Collection: persistence.CollectionNewest,
			Key: explore.ByAge(kind, p.CreatedAt, p.ID), Data: []byte{}})
	}
	return e
}

// profileDocuments keeps the profile and its place in the directory in step; before is nil for a new account, after for
// one that ends.
func profileDocuments(id string, before, after *Profile) []persistence.DocumentOp {
	op := persistence.DocumentOp{Collection: persistence.CollectionAccount, Key: id}
	if after != nil {
		op.Data = after.Encode()
	}
	return append([]persistence.DocumentOp{op}, explore.Change(EntryOf(before), EntryOf(after))...)
}
