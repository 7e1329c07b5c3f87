package mirror_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"parley/actors/actortest"
	"parley/actors/agency"
	"parley/actors/kernel"
	"parley/actors/mirror"
	"parley/actors/platform"
	"parley/actors/session"
	"parley/persistence/storetest"
)

func openDM(t testing.TB, w *actortest.World, a, b *platform.Identity) string {
	t.Helper()
	v, _, err := w.Platform.OpenDM(ctx, a, b.ID)
	if err != nil {
		t.Fatal(err)
	}
	return v.ID
}

// logged are the places of the events of a socket that come from the log, in the order of their coming.
func logged(s *actortest.Socket) (list []uint64) {
	for _, e := range s.Events() {
		if e.Seq != 0 && e.Name != mirror.EventAgencyJoined {
			list = append(list, e.Seq)
		}
	}
	return list
}

// Everything of a direct message reaches all connections of both sides, with the direct message made after they came and
// nothing joined; who has joined gets it once.
func TestDirectMessagesNeedNoJoin(t *testing.T) {
	w := actortest.New(t)
	ann, bob, eve := w.User("ann"), w.User("bob"), w.User("eve")
	_, one := w.Connect(ann)
	_, two := w.Connect(bob)
	s, three := w.Connect(bob)
	_, stranger := w.Connect(eve)
	dm := openDM(t, w, ann, bob)
	m := w.Post(ann, dm, "hello")
	j := enter(t, s, three, dm, at(0))
	if len(j.Missed) != 1 || j.Missed[0].Data.Seq != m.Seq {
		t.Errorf("recovery brings %+v", j.Missed)
	}
	if _, err := w.Platform.EditMessage(ctx, ann, dm, m.ID, "edited"); err != nil {
		t.Fatal(err)
	}
	if _, err := actortest.Do(s, session.React{AgencyID: dm, MessageID: m.ID, Emoji: "👍"}); err != nil {
		t.Fatal(err)
	}
	if err := w.Platform.DeleteMessage(ctx, ann, dm, m.ID); err != nil {
		t.Fatal(err)
	}
	for _, socket := range []*actortest.Socket{one, two, three} {
		w.Eventually("the deletion", func() bool { return len(socket.Named(agency.EventMessageDeleted)) == 1 })
		if got := fmt.Sprint(logged(socket)); got != fmt.Sprint([]uint64{m.Seq, m.Seq + 1, m.Seq + 2, m.Seq + 3}) {
			t.Errorf("it got %s from %d on", got, m.Seq)
		}
		for _, e := range socket.Events() {
			var d struct {
				DM       bool   `json:"dm"`
				AgencyID string `json:"agencyId"`
			}
			if err := json.Unmarshal(e.Data, &d); err != nil || !d.DM || d.AgencyID != dm {
				t.Errorf("%s is %s", e.Name, e.Data)
			}
		}
	}
	if n := len(stranger.Events()); n != 0 {
		t.Errorf("a stranger got %d events", n)
	}
	if _, err := actortest.Do(s, session.Leave{AgencyID: dm}); err != nil {
		t.Fatal(err)
	}
	last := w.Post(bob, dm, "after leaving")
	for _, socket := range []*actortest.Socket{one, two, three} {
		w.Eventually("the last message", func() bool { list := logged(socket); return list[len(list)-1] == last.Seq })
	}
	for _, ref := range []kernel.Ref{mirror.Ref(dm), agency.Ref(dm)} {
		w.Sleep(ref)
	}
	again := w.Post(ann, dm, "both asleep")
	w.Eventually("a message after their sleep", func() bool { list := logged(two); return list[len(list)-1] == again.Seq })
}

// Sockets of a direct message join and leave while others post and actors fail and fall asleep: each socket gets each
// event once, in order, whether it was joined at the time or not.
func TestDirectMessagesComeOnce(t *testing.T) {
	const posts = 150
	w := actortest.New(t)
	ann, bob := w.User("ann"), w.User("bob")
	dm := openDM(t, w, ann, bob)
	var sockets []*actortest.Socket
	var joiners []*session.Session
	for i := range 6 {
		s, socket := w.Connect([]*platform.Identity{ann, bob}[i%2])
		sockets = append(sockets, socket)
		if i < 4 {
			joiners = append(joiners, s)
		}
	}
	first := w.Post(ann, dm, "first")
	stop := make(chan struct{})
	var posting, joining sync.WaitGroup
	for p, who := range []*platform.Identity{ann, bob, ann} {
		posting.Go(func() {
			for i := range posts {
				m := agency.NewMessage{Content: "x", ClientID: fmt.Sprint(p, "-", i)}
				for try := 0; try < 50; try++ {
					if _, _, err := w.Platform.Post(ctx, who, dm, m); err == nil {
						break
					}
				}
				if rand.IntN(10) == 0 {
					time.Sleep(time.Millisecond)
				}
			}
		})
	}
	for _, s := range joiners {
		joining.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				case <-time.After(time.Duration(rand.IntN(3000)) * time.Microsecond):
				}
				if i%2 == 0 {
					_, _ = actortest.Do(s, session.Join{AgencyID: dm})
				} else {
					_, _ = actortest.Do(s, session.Leave{AgencyID: dm})
				}
			}
		})
	}
	joining.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			case <-time.After(5 * time.Millisecond):
			}
			switch i % 3 {
			case 0:
				w.Faults.Script(storetest.LoseReply)
			case 1:
				w.Local.TellResident(agency.Ref(dm), kernel.Sweep{})
			case 2:
				w.Local.TellResident(mirror.Ref(dm), kernel.Sweep{})
			}
		}
	})
	posting.Wait()
	close(stop)
	joining.Wait()
	for try := 0; ; try++ { // a fault may still wait for it
		_, _, err := w.Platform.Post(ctx, ann, dm, agency.NewMessage{Content: "last", ClientID: "last"})
		if err == nil {
			break
		}
		if try > 50 {
			t.Fatal(err)
		}
	}
	want := hard(t, w, dm, first.Seq-1)
	for i, socket := range sockets {
		w.Eventually("the last message", func() bool { list := logged(socket); return len(list) > 0 && list[len(list)-1] >= want[len(want)-1] })
		if got := logged(socket); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("socket %d got %d events, the log has %d\n%v\n%v", i, len(got), len(want), got, want)
		}
	}
}

// A mirror that fails no longer knows who has got what: all connections of a direct message's sides come back.
func TestDirectMirrorFailure(t *testing.T) {
	w := actortest.New(t)
	ann, bob := w.User("ann"), w.User("bob")
	dm := openDM(t, w, ann, bob)
	_, one := w.Connect(ann)
	_, two := w.Connect(bob)
	two.FailNext()
	w.Post(ann, dm, "hello")
	w.Eventually("restarts", func() bool { return one.Restarts() == 1 && two.Restarts() == 1 })
	m := w.Post(ann, dm, "again")
	w.Eventually("the next message", func() bool { list := logged(two); return len(list) > 0 && list[len(list)-1] == m.Seq })
}

// An account with a thousand direct messages connects like any other, and hears each of them.
func TestManyDirectMessages(t *testing.T) {
	w := actortest.New(t)
	ann := w.User("ann")
	peers := make([]*platform.Identity, 40)
	ids := make([]string, len(peers))
	for i := range peers {
		peers[i] = w.User(fmt.Sprint("peer", i))
		ids[i] = openDM(t, w, peers[i], ann)
	}
	awake := w.Local.Awake()
	_, socket := w.Connect(ann)
	if n := w.Local.Awake(); n > awake {
		t.Errorf("%d actors woke because an account connected", n-awake)
	}
	for i, p := range peers {
		w.Post(p, ids[i], "hello")
	}
	w.Eventually("all of them", func() bool { return len(socket.Named(agency.EventMessage)) == len(peers) })
}
