package agency_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"

	"parley/actors/actortest"
	"parley/actors/agency"
	"parley/actors/kernel"
	"parley/actors/platform"
	"parley/persistence"
)

// promote gives a member a role, by an event of the log that a sleeping actor finds when it wakes.
func promote(w *actortest.World, room string, who *platform.Identity, role agency.Role) {
	w.T.Helper()
	w.Sleep(agency.Ref(room))
	stream := persistence.Stream(persistence.StreamAgency, room)
	lease, err := w.Store.Acquire(ctx, stream, 0)
	if err != nil {
		w.T.Fatal(err)
	}
	rows, err := w.Store.Documents(ctx, persistence.CollectionMember, persistence.Range{Prefix: room + "/"})
	if err != nil {
		w.T.Fatal(err)
	}
	data, err := json.Marshal(map[string]any{"member": agency.WireSender(who.Sender), "role": role, "count": len(rows)})
	if err != nil {
		w.T.Fatal(err)
	}
	events, err := w.Store.Events(ctx, stream, lease.Last-1, 1)
	if err != nil || len(events) != 1 {
		w.T.Fatal(len(events), err)
	}
	m := agency.MemberRecord{Role: role, JoinedAt: events[0].At + 1}
	err = w.Store.Append(ctx, []*persistence.Batch{{Stream: stream, Epoch: lease.Epoch, Expect: lease.Last,
		Events: []persistence.Event{{Seq: lease.Last + 1, At: events[0].At + 1, Kind: "role", Data: data}},
		Documents: []persistence.DocumentOp{{Collection: persistence.CollectionMember, Key: persistence.Key(room, who.ID), Data: m.Encode()},
			{Collection: persistence.CollectionMembership, Key: persistence.Key(who.ID, room), Data: m.Encode()}}}})[0]
	if err != nil {
		w.T.Fatal(err)
	}
}

func TestJoinAndLeave(t *testing.T) {
	w := actortest.New(t)
	ann, bob := w.User("ann"), w.User("bob")
	room := w.Room(ann, "Room", false)
	for range 2 { // a member stays one
		v, err := w.Platform.Join(ctx, bob, room)
		if err != nil || v.MemberCount != 2 || *v.Role != agency.Member {
			t.Fatal(v, err)
		}
	}
	actortest.Wants(t, "the last owner", w.Platform.Leave(ctx, ann, room), kernel.CodeTaken)
	if err := w.Platform.Leave(ctx, bob, room); err != nil {
		t.Fatal(err)
	}
	actortest.Wants(t, "a stranger", w.Platform.Leave(ctx, bob, room), kernel.CodeForbidden)
	_, _, err := w.Platform.Post(ctx, bob, room, agency.NewMessage{Content: "x"})
	actortest.Wants(t, "post after leaving", err, kernel.CodeForbidden)
	_, err = w.Platform.Messages(ctx, bob, room, platform.History{})
	actortest.Wants(t, "read after leaving", err, kernel.CodeForbidden)
	promote(w, room, func() *platform.Identity { w.Join(room, bob); return bob }(), agency.Owner)
	if err := w.Platform.Leave(ctx, ann, room); err != nil {
		t.Errorf("one of two owners: %v", err)
	}
	actortest.Wants(t, "the last owner now", w.Platform.Leave(ctx, bob, room), kernel.CodeTaken)
	w.Crash()
	if v, err := w.Platform.Agency(ctx, bob, room); err != nil || v.MemberCount != 1 || *v.Role != agency.Owner {
		t.Error(v, err)
	}
}

// Joins and leaves of the same accounts at the same time keep the count and the documents in step.
func TestMembershipRaces(t *testing.T) {
	const accounts = 6
	w := actortest.New(t)
	ann := w.User("ann")
	room := w.Room(ann, "Room", false)
	var wg sync.WaitGroup
	for i := range accounts {
		who := w.UserAs(fmt.Sprint("m", i))
		for range 3 {
			wg.Go(func() {
				for j := range 20 {
					if j%2 == 0 {
						_, _ = w.Platform.Join(ctx, who, room)
					} else {
						_ = w.Platform.Leave(ctx, who, room)
					}
					if j%7 == 0 {
						w.Local.TellResident(agency.Ref(room), kernel.Sweep{})
					}
				}
			})
		}
	}
	wg.Wait()
	rows, err := w.Store.Documents(ctx, persistence.CollectionMember, persistence.Range{Prefix: room + "/"})
	if err != nil {
		t.Fatal(err)
	}
	mirrored := 0
	for i := range accounts {
		own, err := w.Store.Documents(ctx, persistence.CollectionMembership, persistence.Range{Prefix: fmt.Sprint("m", i, "/")})
		if err != nil {
			t.Fatal(err)
		}
		mirrored += len(own)
	}
	v, err := w.Platform.Agency(ctx, ann, room)
	c, _ := w.Store.Counters(ctx)
	if err != nil || v.MemberCount != int64(len(rows)) || mirrored+1 != len(rows) || c[persistence.CountMemberships] != int64(len(rows)) {
		t.Errorf("%d members in the list, %d in their own, %d in the record, %d counted", len(rows), mirrored+1, v.MemberCount, c[persistence.CountMemberships])
	}
	checkLog(t, w, room)
}

// An agency passes to the longest-standing admin, else moderator, else member, else it ends.
func TestOwnershipPasses(t *testing.T) {
	w := actortest.New(t)
	for i, c := range []struct {
		roles []agency.Role // of the members in the order of their joining; none: stays a member
		heir  int           // -1: the agency ends
	}{
		{nil, -1},
		{[]agency.Role{"", ""}, 0},
		{[]agency.Role{"", agency.Moderator, agency.Moderator}, 1},
		{[]agency.Role{"", agency.Moderator, agency.Admin, agency.Admin}, 2},
		{[]agency.Role{agency.Moderator, agency.Owner, agency.Admin}, 1},
	} {
		owner := w.User(fmt.Sprint("owner", i))
		room := w.Room(owner, "Room", true)
		var members []*platform.Identity
		for j, role := range c.roles {
			m := w.User(fmt.Sprint("m", i, "-", j))
			members = append(members, m)
			w.Join(room, m)
			if role != "" {
				promote(w, room, m, role)
			}
		}
		for range 2 { // done twice it is done once
			if _, err := ask[kernel.Done](w, room, agency.Forget{Who: owner.Sender}); err != nil {
				t.Fatal(err)
			}
		}
		if c.heir < 0 {
			_, err := w.Platform.Agency(ctx, owner, room)
			actortest.Wants(t, "an agency without heirs", err, kernel.CodeNotFound)
			continue
		}
		v, err := w.Platform.Agency(ctx, members[c.heir], room)
		if err != nil || *v.Role != agency.Owner || v.MemberCount != int64(len(members)) {
			t.Errorf("case %d: %+v, %v", i, v, err)
		}
		if _, err := w.Platform.UpdateAgency(ctx, members[c.heir], room, agency.Update{Name: text("Mine")}); err != nil {
			t.Errorf("case %d: the heir: %v", i, err)
		}
		w.Sleep(agency.Ref(room))
		actortest.Wants(t, "the heir is the last owner", w.Platform.Leave(ctx, members[c.heir], room), kernel.CodeTaken)
	}
}

// An heir who leaves while it is chosen does not get the agency.
func TestHeirsThatLeave(t *testing.T) {
	w := actortest.New(t)
	for round := range 20 {
		owner := w.User(fmt.Sprint("owner", round))
		room := w.Room(owner, "Room", false)
		var members []*platform.Identity
		for i := range 4 {
			m := w.UserAs(fmt.Sprint("m", round, "-", i))
			members = append(members, m)
			w.Join(room, m)
		}
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := ask[kernel.Done](w, room, agency.Forget{Who: owner.Sender}); err != nil {
				t.Error(err)
			}
		})
		for _, m := range members[:3] {
			wg.Go(func() { _ = w.Platform.Leave(ctx, m, room) })
		}
		wg.Wait()
		rows, err := w.Store.Documents(ctx, persistence.CollectionMember, persistence.Range{Prefix: room + "/"})
		if err != nil {
			t.Fatal(err)
		}
		owners := 0
		for _, d := range rows {
			if m, err := agency.DecodeMember(d.Data); err == nil && m.Role == agency.Owner {
				owners++
			}
		}
		v, err := w.Platform.Agency(ctx, members[3], room)
		if err != nil || owners != 1 || v.MemberCount != int64(len(rows)) {
			t.Fatalf("round %d: %d owners among %d members, record %+v, %v", round, owners, len(rows), v, err)
		}
	}
}

func TestModeratorsDelete(t *testing.T) {
	w := actortest.New(t)
	ann, mod, peer, bob := w.User("ann"), w.User("mod"), w.User("peer"), w.User("bob")
	room := w.Room(ann, "Room", false)
	w.Join(room, mod, peer, bob)
	promote(w, room, mod, agency.Moderator)
	promote(w, room, peer, agency.Moderator)
	of := map[string]*agency.Message{}
	for _, who := range []*platform.Identity{ann, mod, peer, bob} {
		of[who.Username] = w.Post(who, room, "x")
	}
	actortest.Wants(t, "an owner's", w.Platform.DeleteMessage(ctx, mod, room, of["ann"].ID), kernel.CodeForbidden)
	actortest.Wants(t, "an equal's", w.Platform.DeleteMessage(ctx, mod, room, of["peer"].ID), kernel.CodeForbidden)
	_, err := w.Platform.UpdateAgency(ctx, mod, room, agency.Update{Name: text("Mine")})
	actortest.Wants(t, "a moderator manages", err, kernel.CodeForbidden)
	actortest.Wants(t, "a moderator dissolves", w.Platform.DeleteAgency(ctx, mod, room), kernel.CodeForbidden)
	for _, who := range []string{"bob", "mod"} {
		if err := w.Platform.DeleteMessage(ctx, mod, room, of[who].ID); err != nil {
			t.Errorf("a message of %s: %v", who, err)
		}
	}
}

// unread is a store whose documents of members cannot be read for a while.
type unread struct {
	persistence.Store
	bad *bool
	mu  *sync.Mutex
}

// A look-up that fails costs its own command only: nothing stays closed behind it.
func TestFailedLookUps(t *testing.T) {
	var mu sync.Mutex
	bad := false
	w := actortest.NewOver(t, func(s persistence.Store) persistence.Store { return unread{s, &bad, &mu} })
	set := func(v bool) {
		mu.Lock()
		defer mu.Unlock()
		bad = v
	}
	ann, bob := w.User("ann"), w.User("bob")
	room := w.Room(ann, "Room", false)
	w.Join(room, bob)
	m := w.Post(bob, room, "x")
	w.Sleep(agency.Ref(room))
	if _, err := w.Platform.UpdateAgency(ctx, ann, room, agency.Update{Name: text("Room")}); err != nil { // ann is remembered now
		t.Fatal(err)
	}
	set(true)
	for range 2 {
		actortest.Wants(t, "deletion", w.Platform.DeleteMessage(ctx, ann, room, m.ID), kernel.CodeUnavailable)
		_, _, err := w.Platform.Post(ctx, bob, room, agency.NewMessage{Content: "x"})
		actortest.Wants(t, "post", err, kernel.CodeUnavailable)
	}
	set(false)
	w.Post(bob, room, "y")
	if err := w.Platform.DeleteMessage(ctx, ann, room, m.ID); err != nil {
		t.Errorf("after a look-up that failed: %v", err)
	}
}

func (u unread) Document(c context.Context, collection, key string) ([]byte, error) {
	u.mu.Lock()
	bad := *u.bad && collection == persistence.CollectionMember
	u.mu.Unlock()
	if bad {
		return nil, persistence.ErrUnavailable
	}
	return u.Store.Document(c, collection, key)
}
