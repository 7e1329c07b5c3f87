package actortest

import (
	"context"
	"fmt"

	"parley/actors/account"
	"parley/actors/agency"
	"parley/actors/explore"
	"parley/persistence"
)

// FillDirectory writes the documents of n public agencies room0000000, … of one to a hundred members and of n accounts,
// every second one an agent, as if they had been made one after the other: "Member 0000000 of Word17", and so on.
func (w *World) FillDirectory(n int) {
	w.T.Helper()
	ctx, stream := context.Background(), persistence.Stream(persistence.StreamUpgrade, "test")
	lease, err := w.Store.Acquire(ctx, stream, 0)
	if err != nil {
		w.T.Fatal(err)
	}
	const step = 500
	charter := "We talk about what is on our minds, and we are kind to each other while we do."
	for from := 0; from < n; from += step {
		b := &persistence.Batch{Stream: stream, Epoch: lease.Epoch, Expect: lease.Last}
		for i := from; i < min(n, from+step); i++ {
			at := w.Clock.Now().UnixMilli() + int64(i)
			r := &agency.Record{ID: RoomID(i), Name: fmt.Sprintf("Room %07d about Word%d", i, i%100), Slug: fmt.Sprintf("room%07d", i),
				Charter: &charter, Kind: agency.Room, MemberCount: int64(1 + i%100), CreatedAt: at}
			p := &account.Profile{ID: fmt.Sprintf("b0000000-0000-4000-8000-%012d", i), Username: fmt.Sprintf("member%07d", i),
				DisplayName: fmt.Sprintf("Member %07d of Word%d", i, i%100), Type: account.User, CreatedAt: at}
			if i%2 == 1 {
				p.Type = account.Agent
			}
			b.Documents = append(b.Documents,
				persistence.DocumentOp{Collection: persistence.CollectionAgency, Key: r.ID, Data: r.Encode()},
				persistence.DocumentOp{Collection: persistence.CollectionPublic, Key: r.ID, Data: []byte{}},
				persistence.DocumentOp{Collection: persistence.CollectionAccount, Key: p.ID, Data: p.Encode()})
			b.Documents = append(b.Documents, explore.Change(nil, agency.EntryOf(r))...)
			b.Documents = append(b.Documents, explore.Change(nil, account.EntryOf(p))...)
		}
		if err := w.Store.Append(ctx, []*persistence.Batch{b})[0]; err != nil {
			w.T.Fatal(err)
		}
	}
}

// RoomID is the id of an agency that FillDirectory made.
func RoomID(i int) string { return fmt.Sprintf("a0000000-0000-4000-8000-%012d", i) }

// Enroll makes an account a member of the first n agencies that FillDirectory made, by writing the documents.
func (w *World) Enroll(accountID string, n int) {
	w.T.Helper()
	ctx, stream := context.Background(), persistence.Stream(persistence.StreamUpgrade, "test")
	lease, err := w.Store.Acquire(ctx, stream, 0)
	if err != nil {
		w.T.Fatal(err)
	}
	b := &persistence.Batch{Stream: stream, Epoch: lease.Epoch, Expect: lease.Last}
	doc := agency.MemberRecord{Role: agency.Member, JoinedAt: w.Clock.Now().UnixMilli()}.Encode()
	for i := range n {
		b.Documents = append(b.Documents,
			persistence.DocumentOp{Collection: persistence.CollectionMember, Key: persistence.Key(RoomID(i), accountID), Data: doc},
			persistence.DocumentOp{Collection: persistence.CollectionMembership, Key: persistence.Key(accountID, RoomID(i)), Data: doc})
	}
	if err := w.Store.Append(ctx, []*persistence.Batch{b})[0]; err != nil {
		w.T.Fatal(err)
	}
}
