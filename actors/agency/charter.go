package agency

import (
	"context"
	"errors"

	"parley/actors/account"
	"parley/actors/kernel"
	"parley/persistence"
)

// NewAgency is what a caller gives of a new agency.
type NewAgency struct {
	Name    string
	Slug    string // empty: derived from the name
	Charter *string
	Private bool
}

// Found makes an agency with its first member. It answers with *Record; persistence.ErrExists (as CodeTaken) when the
// slug is taken.
type Found struct {
	NewAgency
	Kind  Kind
	Owner account.Sender // zero for the Lobby
	Done  string         // outbox entry that this fulfils, if any
}

// Creates implements kernel.Creator.
func (Found) Creates() {}

func (a *Agency) found(t *kernel.Turn, c Found) {
	if a.s.ID != "" {
		a.foundAgain(t, c)
		return
	}
	r := Record{ID: t.ID(), Slug: c.Slug, Private: c.Private, Kind: c.Kind, CreatedBy: c.Owner.ID, CreatedAt: t.Now().UnixMilli()}
	var err error
	if r.Name, err = CheckName(c.Name); err == nil {
		r.Charter, err = checkCharter(c.Charter)
	}
	if err != nil {
		t.Fail(err)
		return
	}
	if c.Owner.ID != "" {
		r.MemberCount = 1
	}
	by := wire(c.Owner)
	change := kernel.Change{
		Events:   []persistence.Event{event(evFounded, founding{Record: r, By: &by})},
		Claims:   []persistence.ClaimOp{slugClaim(&r)},
		Counters: []persistence.CounterOp{{Name: persistence.CountAgencies, Delta: 1}},
	}
	change.Documents = recordDocuments(nil, &r)
	if c.Owner.ID != "" {
		_, at := t.Next()
		m := MemberRecord{Role: Owner, JoinedAt: at}
		change.Events = append(change.Events, event(evJoined, movement{Member: by, Role: Owner, Count: 1}))
		change.Documents = append(change.Documents, memberDocuments(r.ID, c.Owner.ID, &m)...)
		change.Counters = append(change.Counters, persistence.CounterOp{Name: persistence.CountMemberships, Delta: 1})
		a.members.Add(c.Owner.ID, m)
	}
	fulfil(&change, c.Done)
	a.commit(t, change, func() { a.settleIn(t, c.Owner, &r) }, func(err error) error {
		if errors.Is(err, persistence.ErrExists) {
			return ErrSlugTaken(r.Slug)
		}
		return err
	})
}

// ErrSlugTaken says that another agency has a slug.
func ErrSlugTaken(slug string) error {
	return kernel.Fail(kernel.CodeTaken, "the slug %q is taken", slug)
}

// Check applies the rules that name and charter must keep. Whoever means to found an agency applies them first: an actor
// that is woken to create something and refuses leaves its name in the store.
func (n NewAgency) Check() error {
	_, err := CheckName(n.Name)
	if err == nil {
		_, err = checkCharter(n.Charter)
	}
	return err
}

// foundAgain answers a repetition: promised work may be done twice.
func (a *Agency) foundAgain(t *kernel.Turn, c Found) {
	var change kernel.Change
	fulfil(&change, c.Done)
	r := a.s.Record
	t.Commit(change, func() { t.Reply(&r) }, nil)
}

// fulfil removes the outbox entry that a change carries out.
func fulfil(c *kernel.Change, id string) {
	if id != "" {
		c.Outbox = append(c.Outbox, persistence.OutboxOp{ID: id, Done: true})
	}
}

func slugClaim(r *Record) persistence.ClaimOp {
	return persistence.ClaimOp{Index: persistence.ClaimSlug, Key: r.Slug, Owner: r.ID}
}

// memberDocuments keeps both sides of a membership; nil ends it.
func memberDocuments(agency, account string, m *MemberRecord) []persistence.DocumentOp {
	var data []byte
	if m != nil {
		data = m.Encode()
	}
	return []persistence.DocumentOp{
		{Collection: persistence.CollectionMember, Key: persistence.Key(agency, account), Data: data},
		{Collection: persistence.CollectionMembership, Key: persistence.Key(account, agency), Data: data},
	}
}

// Update changes charter, name or privacy; admins and owners may. It answers with *Record.
type Update struct {
	By      account.Sender
	Name    *string
	Charter *string // empty clears it
	Private *bool
}

func (a *Agency) update(t *kernel.Turn, c Update) {
	a.withMember(t, c.By.ID, func(m MemberRecord) {
		if err := a.mayManage(m, Admin); err != nil {
			t.Fail(err)
			return
		}
		r := a.s.Record
		if err := c.apply(&r); err != nil {
			t.Fail(err)
			return
		}
		body := change{Record: r, By: wire(c.By), Charter: c.Charter, Private: c.Private}
		a.commit(t, kernel.Change{Events: []persistence.Event{event(evUpdated, body)}, Documents: recordDocuments(&a.s.Record, &r)},
			func() { t.Reply(&r) }, nil)
	})
}

func (c *Update) apply(r *Record) (err error) {
	if c.Name != nil {
		if r.Name, err = CheckName(*c.Name); err != nil {
			return err
		}
	}
	if c.Charter != nil {
		if r.Charter, err = checkCharter(c.Charter); err != nil {
			return err
		}
	}
	if c.Private != nil {
		if r.Kind == Lobby && *c.Private {
			return kernel.Forbidden("the Lobby can't be made private")
		}
		r.Private = *c.Private
	}
	return nil
}

// mayManage admits members from a rank on; strangers to a private agency are told that it does not exist.
func (a *Agency) mayManage(m MemberRecord, least Role) error {
	switch {
	case m.Role.Rank() >= least.Rank():
		return nil
	case m.Role == "" && a.s.Private:
		return errNotFound()
	default:
		return kernel.Forbidden("this needs the role %s or higher in the agency", least)
	}
}

// Dissolve deletes the agency; its owner may. It answers with kernel.Done; members and messages go with it.
type Dissolve struct {
	By account.Sender
}

// PurgeEntry is the id of the outbox entry that promises the clean-up after an agency.
func PurgeEntry(agency string) string { return "purge/" + agency }

func (a *Agency) dissolve(t *kernel.Turn, c Dissolve) {
	a.withMember(t, c.By.ID, func(m MemberRecord) {
		err := a.mayManage(m, Owner)
		if a.s.Kind == Lobby {
			err = kernel.Forbidden("the Lobby can't be deleted")
		}
		if err != nil {
			t.Fail(err)
			return
		}
		by := wire(c.By)
		a.end(t, &by, kernel.Change{}, func() { t.Reply(kernel.Done{}) })
	})
}

// end commits the agency's end together with what led to it, and goes on with the clean-up.
func (a *Agency) end(t *kernel.Turn, by *WireSender, c kernel.Change, answer func()) {
	c.Events = append(c.Events, event(evDissolved, movement{Member: *by}))
	if a.s.Kind != DM { // which has no slug and is not counted
		slug := slugClaim(&a.s.Record)
		slug.Release = true
		c.Claims = append(append(c.Claims, slug), inviteClaims(t.ID(), a.s.Invites, true)...)
		c.Counters = append(c.Counters, persistence.CounterOp{Name: persistence.CountAgencies, Delta: -1})
	}
	c.Documents = append(c.Documents, endDocuments(&a.s.Record, c.Documents)...)
	c.Outbox = append(c.Outbox, persistence.OutboxOp{ID: PurgeEntry(t.ID()), Data: []byte("{}")})
	a.commit(t, c, answer, nil)
}

// purgePage is the number of documents of a kind that one step of a clean-up deletes, purgeWords that of the index of
// words, which has many small ones.
const (
	purgePage  = 200
	purgeWords = 2000
)

// Purge takes one step of the clean-up after a dissolved agency. It answers with Purged; the caller asks until all is gone.
type Purge struct{}

// Creates implements kernel.Creator: the promise of a clean-up is fulfilled in any case.
func (Purge) Creates() {}

// Purged says whether the clean-up is over.
type Purged struct{ Over bool }

func (a *Agency) purge(t *kernel.Turn, _ Purge) {
	if !a.s.Dissolved || a.s.Purged {
		a.purgeOver(t)
		return
	}
	a.purges.Enter(struct{}{}, func() { t.AfterCommits(func() { a.purgeStep(t) }) })
}

// purgeStep works on what is committed, one step at a time: no row may be counted as gone twice.
func (a *Agency) purgeStep(t *kernel.Turn) {
	id := t.ID()
	kernel.Load(t, func(ctx context.Context, s persistence.Store) (map[string][]persistence.Document, error) {
		found := map[string][]persistence.Document{}
		for _, collection := range purged {
			page := purgePage
			if collection == persistence.CollectionWord {
				page = purgeWords
			}
			rows, err := s.Documents(ctx, collection, persistence.Range{Prefix: id + "/", Limit: page})
			if err != nil {
				return nil, err
			}
			if len(rows) > 0 {
				found[collection] = rows
			}
		}
		return found, nil
	}, func(found map[string][]persistence.Document, err error) {
		defer a.purges.Leave(struct{}{})
		switch {
		case err != nil:
			t.Fail(err)
		case len(found) == 0:
			a.purgeOver(t)
		default:
			a.purgeRows(t, found)
		}
	})
}

// purged are the collections with an agency's documents, whose keys begin with its id.
var purged = []string{persistence.CollectionMember, persistence.CollectionMessage, persistence.CollectionBan,
	persistence.CollectionTally, persistence.CollectionReaction, persistence.CollectionAlias, persistence.CollectionWord, persistence.CollectionNote}

func (a *Agency) purgeRows(t *kernel.Turn, found map[string][]persistence.Document) {
	var c kernel.Change
	for collection, rows := range found {
		c.Documents = append(c.Documents, drop(collection, rows)...)
	}
	for _, d := range found[persistence.CollectionMember] {
		c.Documents = append(c.Documents, persistence.DocumentOp{Collection: persistence.CollectionMembership,
			Key: persistence.Key(d.Key[len(t.ID())+1:], t.ID())})
	}
	c.Counters = []persistence.CounterOp{
		{Name: persistence.CountMemberships, Delta: -int64(len(found[persistence.CollectionMember]))},
		{Name: persistence.CountMessages, Delta: -int64(len(found[persistence.CollectionMessage]))},
	}
	t.Commit(c, func() { t.Reply(Purged{}) }, nil)
}

func (a *Agency) purgeOver(t *kernel.Turn) {
	var c kernel.Change
	if a.s.Dissolved && !a.s.Purged {
		c.Events = []persistence.Event{event(evPurged, struct{}{})}
	}
	c.Final = a.s.Dissolved
	fulfil(&c, PurgeEntry(t.ID()))
	t.Commit(c, func() { t.Reply(Purged{Over: true}) }, nil)
}
