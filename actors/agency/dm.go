package agency

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"

	"github.com/google/uuid"

	"parley/actors/account"
	"parley/actors/kernel"
	"parley/persistence"
)

// A direct message is an agency of the kind DM: two members of equal rank, private, without name, slug or owner. It is
// found by its id, which follows from the two accounts, and listed by documents of its own (CollectionDM): to those who
// list agencies or memberships it does not exist, and no total of agencies or memberships counts it, since those are about
// rooms (decision 19). Its messages count like all others.

// dmSpace keeps the ids of direct messages apart from all others.
var dmSpace = uuid.MustParse("7a4e3f0c-51a7-4f27-9f0e-6d9c1d2b8e55")

// DMID is the id of the direct message between two accounts, in whatever order.
func DMID(a, b string) string {
	if a > b {
		a, b = b, a
	}
	return uuid.NewHash(sha256.New(), dmSpace, []byte(a+"/"+b), 8).String()
}

// Names of accounts that are gone (decision 9).
const (
	DeletedUsername    = "deleted"
	DeletedDisplayName = "Deleted account"
)

// Peer is one of the two sides of a direct message. A side whose account was deleted keeps its id.
type Peer struct {
	ID       string       `json:"id"`
	Username string       `json:"u"` // DeletedUsername when it is gone
	Type     account.Type `json:"t"`
}

func peer(s account.Sender) Peer { return Peer{ID: s.ID, Username: s.Username, Type: s.Type} }

// other returns the side that an account faces.
func (r *Record) other(accountID string) Peer {
	for _, p := range r.Pair {
		if p.ID != accountID {
			return p
		}
	}
	return Peer{}
}

// withoutPeer returns the pair after one side was deleted.
func (r *Record) withoutPeer(accountID string) []Peer {
	pair := append([]Peer(nil), r.Pair...)
	for i := range pair {
		if pair[i].ID == accountID {
			pair[i].Username = DeletedUsername
		}
	}
	return pair
}

// NameFor is the agency's name as an account sees it: that of a direct message is "DM:" and the other's username
// (clients.md 4.3).
func (r *Record) NameFor(accountID string) string {
	if r.Kind != DM {
		return r.Name
	}
	return "DM:" + r.other(accountID).Username
}

// DMRecord is the document of a direct message as one side sees it.
type DMRecord struct {
	Other     string       `json:"o"` // account id
	Type      account.Type `json:"t"` // of the other
	CreatedAt int64        `json:"c"` // ms
	// Hidden is the end of the log when this side hid the direct message: it is listed again once a later message is
	// there. 0: not hidden.
	Hidden uint64 `json:"h,omitempty"`
}

// Encode returns the document.
func (d DMRecord) Encode() []byte {
	b, err := json.Marshal(d)
	if err != nil {
		panic(err) // strings and numbers always encode
	}
	return b
}

// DecodeDM reads a document.
func DecodeDM(doc []byte) (DMRecord, error) {
	var d DMRecord
	if err := json.Unmarshal(doc, &d); err != nil {
		return d, fmt.Errorf("direct message record: %w", err)
	}
	return d, nil
}

// dmDocument is what one side lists.
func dmDocument(r *Record, accountID string, hidden uint64) persistence.DocumentOp {
	other := r.other(accountID)
	d := DMRecord{Other: other.ID, Type: other.Type, CreatedAt: r.CreatedAt, Hidden: hidden}
	return persistence.DocumentOp{Collection: persistence.CollectionDM, Key: persistence.Key(accountID, r.ID), Data: d.Encode()}
}

// OpenDM makes the direct message between two accounts, or finds it. It is sent to the agency of their DMID, and answers
// with *OpenedDM; CodeNotFound when the direct message has ended with both its accounts.
type OpenDM struct {
	Who, Other account.Sender
	Show       bool                   // list it again, if Who hid it
	Outbox     []persistence.OutboxOp // what is promised if it is made
}

// Creates implements kernel.Creator.
func (OpenDM) Creates() {}

// OpenedDM is the answer to OpenDM.
type OpenedDM struct {
	Record Record
	Made   bool
}

func (a *Agency) openDM(t *kernel.Turn, c OpenDM) {
	switch {
	case a.s.ID == "":
		a.foundDM(t, c)
	case a.s.exists() && a.s.Kind == DM:
		a.withParticipant(t, c.Who.ID, func() {
			opened := &OpenedDM{Record: a.s.Record}
			if !c.Show {
				t.AfterCommits(func() { t.Reply(opened) })
				return
			}
			row := dmDocument(&a.s.Record, c.Who.ID, 0)
			t.Commit(kernel.Change{Documents: []persistence.DocumentOp{row}}, func() { t.Reply(opened) }, nil)
		})
	default:
		t.Fail(errNotFound())
	}
}

func (a *Agency) foundDM(t *kernel.Turn, c OpenDM) {
	r := Record{ID: t.ID(), Name: "DM", Slug: "dm-" + t.ID(), Private: true, Kind: DM, MemberCount: 2, CreatedBy: c.Who.ID,
		CreatedAt: t.Now().UnixMilli(), Pair: []Peer{peer(c.Who), peer(c.Other)}}
	_, at := t.Next()
	by := wire(c.Who)
	change := kernel.Change{Events: []persistence.Event{event(evFounded, founding{Record: r, By: &by})}, Outbox: c.Outbox}
	change.Documents = append(recordDocuments(nil, &r),
		persistence.DocumentOp{Collection: persistence.CollectionOpenedDM, Key: persistence.Key(c.Who.ID, r.ID), Data: []byte{}})
	for _, p := range r.Pair {
		m := MemberRecord{Role: Member, JoinedAt: at}
		if p.Type == account.Agent {
			m.Role = AgentRole
		}
		a.members.Add(p.ID, m)
		change.Documents = append(change.Documents, dmDocument(&r, p.ID, 0),
			persistence.DocumentOp{Collection: persistence.CollectionMember, Key: persistence.Key(r.ID, p.ID), Data: m.Encode()})
	}
	a.commit(t, change, func() { t.Reply(&OpenedDM{Record: r, Made: true}) }, nil)
}

// withParticipant admits the two sides of a direct message. To everybody else, and in other agencies, there is none.
func (a *Agency) withParticipant(t *kernel.Turn, accountID string, next func()) {
	a.withMember(t, accountID, func(m MemberRecord) {
		if m.Role == "" || a.s.Kind != DM {
			t.Fail(errNotFound())
			return
		}
		next()
	})
}

// errAlone is told to who speaks to a deleted account.
func errAlone() error {
	return kernel.Forbidden("the other account of this direct message was deleted; nobody would read it")
}

// HideDM takes a direct message out of one side's list until a later message is there. It answers with kernel.Done.
type HideDM struct{ Who account.Sender }

func (a *Agency) hideDM(t *kernel.Turn, c HideDM) {
	a.withParticipant(t, c.Who.ID, func() {
		row := dmDocument(&a.s.Record, c.Who.ID, a.last(t))
		t.Commit(kernel.Change{Documents: []persistence.DocumentOp{row}}, func() { t.Reply(kernel.Done{}) }, nil)
	})
}

// forgetDM ends the side of a deleted account. The other keeps the direct message; with both gone it ends.
func (a *Agency) forgetDM(t *kernel.Turn, who account.Sender, m MemberRecord) {
	r := a.s.Record
	r.MemberCount--
	r.Pair = r.withoutPeer(who.ID)
	a.members.Add(who.ID, MemberRecord{})
	left := wire(who)
	change := kernel.Change{
		Events: []persistence.Event{event(evLeft, movement{Member: left, Role: m.Role, Count: r.MemberCount, Silent: true})},
		Documents: []persistence.DocumentOp{
			{Collection: persistence.CollectionMember, Key: persistence.Key(t.ID(), who.ID)},
			{Collection: persistence.CollectionDM, Key: persistence.Key(who.ID, t.ID())},
			{Collection: persistence.CollectionOpenedDM, Key: persistence.Key(who.ID, t.ID())},
			countDocuments(&a.s.Record, &r)[0],
		},
	}
	if r.MemberCount == 0 {
		a.end(t, &left, change, func() { t.Reply(kernel.Done{}) })
		return
	}
	a.commit(t, change, func() { t.Reply(kernel.Done{}) }, nil)
}

// refuseInDM refuses what makes no sense between two, and reports whether it did. Strangers are told that there is nothing.
func (a *Agency) refuseInDM(t *kernel.Turn, command any) bool {
	var by string
	why := "this can't be done in a direct message: it is between two, without owner, name or charter"
	switch c := command.(type) {
	case Leave:
		by, why = c.Who.ID, "a direct message can't be left; hide it instead"
	case AddMember:
		by, why = c.By, "nobody can be added to a direct message"
		if by == "" { // the server itself
			t.Fail(kernel.Forbidden("%s", why))
			return true
		}
	case CreateInvite:
		by, why = c.By.ID, "a direct message has no invites"
	case ListInvites:
		by, why = c.By.ID, "a direct message has no invites"
	case RevokeInvite:
		by, why = c.By.ID, "a direct message has no invites"
	case Dissolve:
		by, why = c.By.ID, "a direct message can't be deleted; hide or purge it instead"
	case SetRole:
		by = c.By.ID
	case Kick:
		by = c.By.ID
	case Ban:
		by = c.By.ID
	case Unban:
		by = c.By.ID
	case Transfer:
		by = c.By.ID
	case Update:
		by = c.By.ID
	default:
		return false
	}
	a.withParticipant(t, by, func() { t.Fail(kernel.Forbidden("%s", why)) })
	return true
}
