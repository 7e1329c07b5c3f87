package agency

import (
	"parley/actors/explore"
	"parley/persistence"
)

// Listed says whether anybody may find the agency: public rooms and the Lobby. Agencies of other kinds, direct messages
// among them, never are (decision 19).
func (r *Record) Listed() bool {
	return r != nil && r.ID != "" && !r.Private && r.Kind.listed()
}

// listed says whether agencies of a kind appear in lists at all.
func (k Kind) listed() bool { return k == Room || k == Lobby }

// EntryOf is the agency's place in the directory, nil when it has none.
func EntryOf(r *Record) *explore.Entry {
	if !r.Listed() {
		return nil
	}
	return &explore.Entry{ID: r.ID, Handle: r.Slug, Name: r.Name, Kinds: []explore.Kind{explore.Agencies},
		Place: []persistence.DocumentOp{{Collection: persistence.CollectionListing, Key: listingKey(r), Data: r.Encode()}}}
}

func listingKey(r *Record) string { return explore.BySize(r.MemberCount, r.CreatedAt, r.ID) }

// recordDocuments keeps the lookup, the listing and the search of an agency in step with its record; before is nil for a
// new one.
func recordDocuments(before, after *Record) []persistence.DocumentOp {
	public := persistence.DocumentOp{Collection: persistence.CollectionPublic, Key: after.ID}
	if after.Listed() {
		public.Data = []byte{}
	}
	docs := []persistence.DocumentOp{{Collection: persistence.CollectionAgency, Key: after.ID, Data: after.Encode()}, public}
	return append(docs, explore.Change(EntryOf(before), EntryOf(after))...)
}

// countDocuments is recordDocuments for a change of the number of members alone.
func countDocuments(before, after *Record) []persistence.DocumentOp {
	data := after.Encode()
	docs := []persistence.DocumentOp{{Collection: persistence.CollectionAgency, Key: after.ID, Data: data}}
	if !after.Listed() {
		return docs
	}
	key, old := listingKey(after), listingKey(before)
	if key != old {
		docs = append(docs, persistence.DocumentOp{Collection: persistence.CollectionListing, Key: old})
	}
	return append(docs, persistence.DocumentOp{Collection: persistence.CollectionListing, Key: key, Data: data})
}

// endDocuments takes an agency out of everything; what led to its end may have moved it in the list.
func endDocuments(r *Record, earlier []persistence.DocumentOp) []persistence.DocumentOp {
	docs := []persistence.DocumentOp{{Collection: persistence.CollectionAgency, Key: r.ID}, {Collection: persistence.CollectionPublic, Key: r.ID}}
	docs = append(docs, explore.Change(EntryOf(r), nil)...)
	for _, op := range earlier {
		if op.Collection == persistence.CollectionListing && op.Data != nil {
			docs = append(docs, persistence.DocumentOp{Collection: op.Collection, Key: op.Key})
		}
	}
	return docs
}
