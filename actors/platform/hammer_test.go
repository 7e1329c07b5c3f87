package platform_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/actors/account"
	"parley/actors/actortest"
	"parley/actors/agency"
	"parley/actors/kernel"
	"parley/actors/platform"
	"parley/persistence"
	"parley/persistence/storetest"
)

// Everything at once, while commits fail and actors fall asleep: afterwards the counters, the lists and the log agree.
func TestEverythingAtOnce(t *testing.T) {
	const workers, steps = 8, 60
	w := actortest.New(t)
	boss := w.User("boss")
	rooms := []string{agency.LobbyID, w.Room(boss, "One", false), w.Room(boss, "Two", true)}
	stop := make(chan struct{})
	var trouble, work sync.WaitGroup
	trouble.Go(func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(5 * time.Millisecond):
			}
			w.Local.TellResident(agency.Ref(rooms[rand.IntN(len(rooms))]), kernel.Sweep{})
			if rand.IntN(4) == 0 {
				w.Faults.Script(storetest.Fault(1 + rand.IntN(2)))
			}
		}
	})
	for i := range workers {
		work.Go(func() { stroll(t, w, i, rooms, steps) })
	}
	work.Wait()
	close(stop)
	trouble.Wait()
	w.Restart()
	runErrands(w)
	checkBooks(t, w)
	checkDirectory(t, w)
}

// stroll does random things as a user of its own. Errors are fine as long as they are no bugs.
func stroll(t *testing.T, w *actortest.World, n int, rooms []string, steps int) {
	id := &platform.Identity{Sender: account.Sender{ID: fmt.Sprint("walker", n), Username: fmt.Sprint("walker", n), Type: account.User}, Session: "s", LoggedInAt: w.Clock.Now()}
	for {
		_, err := kernel.Ask[*account.Profile](ctx, w.Local, account.Ref(id.ID), account.RegisterUser{Username: id.Username, PasswordHash: "x",
			Session: account.NewSession{ID: "s", Hash: id.ID}})
		if code, failed := actortest.Code(err); !failed || code == kernel.CodeTaken {
			break
		}
	}
	var mine []string
	var last string
	for i := range steps {
		room := append(rooms, mine...)[rand.IntN(len(rooms)+len(mine))]
		var err error
		switch rand.IntN(14) {
		case 0, 1:
			_, err = w.Platform.Join(ctx, id, room)
		case 2:
			err = w.Platform.Leave(ctx, id, room)
		case 3:
			var v *agency.View
			if v, err = w.Platform.CreateAgency(ctx, id, agency.NewAgency{Name: "Walk"}); err == nil {
				mine = append(mine, v.ID)
			}
		case 4:
			err = w.Platform.DeleteAgency(ctx, id, room)
		case 5:
			_, _, err = w.Platform.CreateAgent(ctx, id, platform.NewAgent{Name: fmt.Sprint("bot", n, "-", i), AgencyID: room})
		case 6:
			_, err = w.Platform.EditMessage(ctx, id, room, last, "edited")
		case 7:
			err = w.Platform.DeleteMessage(ctx, id, room, last)
		case 8:
			_, err = w.Platform.Messages(ctx, id, room, platform.History{})
		case 9:
			_, err = w.Platform.Agencies(ctx, id, 0, 0)
		case 11:
			name, private := fmt.Sprint("Walk of ", rand.IntN(5)), rand.IntN(2) == 0
			_, err = w.Platform.UpdateAgency(ctx, id, room, agency.Update{Name: &name, Private: &private})
		case 12:
			name := fmt.Sprint("Walker ", rand.IntN(5))
			_, err = w.Platform.UpdateProfile(ctx, id, account.ProfileUpdate{DisplayName: &name})
		case 10:
			if i > steps/2 && n%2 == 0 {
				if err = w.Platform.DeleteAccount(ctx, id, nil); err != nil {
					_ = w.Platform.DeleteAccount(ctx, id, nil) // the first one may or may not have happened
				}
				return
			}
		default:
			for j := range 3 {
				doc, _, e := w.Platform.Post(ctx, id, room, agency.NewMessage{Content: "x", ClientID: fmt.Sprint(i, j)})
				if err = e; err == nil {
					m, _ := agency.DecodeMessage(doc)
					last = m.ID
				}
			}
		}
		if code, failed := actortest.Code(err); failed && code == kernel.CodeInternal {
			t.Errorf("step %d: %v", i, err)
		}
	}
}

// checkBooks compares what is counted with what is there.
func checkBooks(t *testing.T, w *actortest.World) {
	t.Helper()
	list := func(collection string) []persistence.Document {
		rows, err := w.Store.Documents(ctx, collection, persistence.Range{})
		if err != nil {
			t.Fatal(err)
		}
		return rows
	}
	members := map[string]int64{}
	for _, d := range list(persistence.CollectionMember) {
		room, who, _ := strings.Cut(d.Key, "/")
		members[room]++
		if doc, err := w.Store.Document(ctx, persistence.CollectionMembership, persistence.Key(who, room)); err != nil || string(doc) != string(d.Data) {
			t.Errorf("%s: the member's own list has %s, %v", d.Key, doc, err)
		}
		if _, err := w.Platform.Profile(ctx, who); err != nil {
			t.Errorf("%s is a member of %s: %v", who, room, err)
		}
	}
	for _, d := range list(persistence.CollectionAgency) {
		r, err := agency.DecodeRecord(d.Data)
		if err != nil || r.MemberCount != members[r.ID] {
			t.Errorf("%s counts %d members and has %d", r.Slug, r.MemberCount, members[r.ID])
		}
		delete(members, r.ID)
	}
	if len(members) != 0 {
		t.Errorf("members of agencies that are not there: %v", members)
	}
	users, agents := int64(0), int64(0)
	for _, d := range list(persistence.CollectionAccount) {
		p, err := account.DecodeProfile(d.Data)
		switch {
		case err != nil:
			t.Error(err)
		case p.Type == account.Agent:
			agents++
		default:
			users++
		}
	}
	c := counters(w)
	for name, n := range map[string]int64{persistence.CountUsers: users, persistence.CountAgents: agents,
		persistence.CountAgencies: int64(len(list(persistence.CollectionAgency))), persistence.CountMessages: int64(len(list(persistence.CollectionMessage))),
		persistence.CountMemberships: int64(len(list(persistence.CollectionMember)))} {
		if c[name] != n {
			t.Errorf("%s is %d, there are %d", name, c[name], n)
		}
	}
	if len(list(persistence.CollectionMembership)) != len(list(persistence.CollectionMember)) {
		t.Error("the two lists of memberships differ")
	}
}
