package platform_test

import (
	"fmt"
	"testing"

	"parley/actors/account"
	"parley/actors/actortest"
	"parley/actors/agency"
	"parley/persistence"
)

// BenchmarkMembers lists the members of an agency: a page of 100, and all of them as existing clients do, while no
// profile changes and while one changes before every list.
func BenchmarkMembers(b *testing.B) {
	w := actortest.New(b)
	w.FillDirectory(100_000)
	ann := w.User("ann")
	for _, members := range []int{1000, 10_000, 100_000} {
		room := w.Room(ann, fmt.Sprint("Room of ", members), false)
		enroll(b, w, room, members)
		for _, c := range []struct {
			name    string
			limit   int
			changes bool
		}{{"page", 100, false}, {"all", 0, false}, {"page, profiles change", 100, true}, {"all, profiles change", 0, true}} {
			b.Run(fmt.Sprintf("members=%d/%s", members, c.name), func(b *testing.B) {
				for i := 0; b.Loop(); i++ {
					if c.changes {
						b.StopTimer()
						if _, err := w.Platform.UpdateProfile(ctx, ann, account.ProfileUpdate{DisplayName: text(fmt.Sprint("Ann ", i))}); err != nil {
							b.Fatal(err)
						}
						b.StartTimer()
					}
					if found, err := w.Platform.Members(ctx, ann, room, c.limit, ""); err != nil || len(found) < 100 {
						b.Fatal(len(found), err)
					}
				}
			})
		}
	}
}

// enroll makes accounts of FillDirectory members of an agency.
func enroll(b *testing.B, w *actortest.World, room string, n int) {
	b.Helper()
	stream := persistence.Stream(persistence.StreamUpgrade, "test")
	lease, err := w.Store.Acquire(ctx, stream, 0)
	if err != nil {
		b.Fatal(err)
	}
	doc := agency.MemberRecord{Role: agency.Member, JoinedAt: 1}.Encode()
	for from := 0; from < n; from += 5000 {
		batch := &persistence.Batch{Stream: stream, Epoch: lease.Epoch}
		for i := from; i < min(n, from+5000); i++ {
			batch.Documents = append(batch.Documents, persistence.DocumentOp{Collection: persistence.CollectionMember,
				Key: persistence.Key(room, fmt.Sprintf("b0000000-0000-4000-8000-%012d", i)), Data: doc})
		}
		if err := w.Store.Append(ctx, []*persistence.Batch{batch})[0]; err != nil {
			b.Fatal(err)
		}
	}
}
