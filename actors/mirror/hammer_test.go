package mirror_test

import (
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

// life is what one client did: connections one after the other, each with a socket of its own.
type life struct {
	sockets []*actortest.Socket
	since   [][]*uint64 // of the joins of each socket
}

// Sockets come and go, with and without since, while posters post, actors fail and fall asleep: what each sees between
// its joins is the log, each event once and in order.
func TestEverySocketSeesTheLog(t *testing.T) {
	const clients, posters, posts = 12, 4, 120
	w := actortest.New(t)
	ann := w.User("ann")
	room := w.Room(ann, "Room", false)
	var users []*platform.Identity
	for i := range clients {
		users = append(users, w.User(fmt.Sprint("user", i)))
	}
	w.Join(room, users...)
	stop := make(chan struct{})
	var trouble, posting, living sync.WaitGroup
	trouble.Go(func() { makeTrouble(w, room, stop) })
	for p := range posters {
		posting.Go(func() {
			for i := range posts {
				m := agency.NewMessage{Content: "x", ClientID: fmt.Sprint(p, "-", i)}
				for try := 0; ; try++ {
					_, _, err := w.Platform.Post(ctx, ann, room, m)
					if err == nil {
						break
					}
					if try > 50 {
						t.Errorf("post: %v", err)
						return
					}
				}
				time.Sleep(time.Duration(rand.IntN(3)) * time.Millisecond)
			}
		})
	}
	lives := make([]life, clients)
	for c := range clients {
		living.Go(func() { lives[c].run(t, w, users[c], room, stop) })
	}
	posting.Wait()
	close(stop)
	trouble.Wait()
	living.Wait()
	for c := range lives {
		checkLife(t, w, room, &lives[c])
	}
}

// makeTrouble breaks actors and puts them to sleep.
func makeTrouble(w *actortest.World, room string, stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			return
		case <-time.After(time.Duration(rand.IntN(25)) * time.Millisecond):
		}
		switch rand.IntN(5) {
		case 0:
			w.Publisher.FailNext()
		case 1:
			w.Faults.Script(storetest.LoseReply)
		case 2:
			w.Faults.Script(storetest.FailBefore)
		case 3:
			w.Local.TellResident(mirror.Ref(room), kernel.Sweep{})
		case 4:
			w.Local.TellResident(agency.Ref(room), kernel.Sweep{})
		}
	}
}

func (l *life) run(t *testing.T, w *actortest.World, who *platform.Identity, room string, stop <-chan struct{}) {
	for last := false; !last; {
		socket := &actortest.Socket{}
		s, err := w.Open(who, socket)
		if err != nil {
			t.Error(err)
			return
		}
		l.sockets, l.since = append(l.sockets, socket), append(l.since, nil)
		for range 1 + rand.IntN(4) {
			if l.join(s, room) && rand.IntN(3) == 0 {
				_, _ = actortest.Do(s, session.Leave{AgencyID: room})
			}
			time.Sleep(time.Duration(rand.IntN(10)) * time.Millisecond)
		}
		select {
		case <-stop:
			last = true
			actortest.Eventually(t, "a last join", func() bool { return l.join(s, room) })
			log := hard(t, w, room, 0)
			actortest.Eventually(t, "the end of the log", func() bool { return known(socket) >= log[len(log)-1] })
		default:
		}
		s.Close()
	}
}

// join joins, perhaps with what was seen last, and reports whether that succeeded.
func (l *life) join(s *session.Session, room string) bool {
	n := len(l.sockets) - 1
	var since *uint64
	if rand.IntN(2) == 0 {
		for i := n; i >= 0 && since == nil; i-- {
			if k := known(l.sockets[i]); k > 0 {
				since = &k
			}
		}
	}
	if _, err := actortest.Do(s, session.Join{AgencyID: room, Since: since}); err != nil {
		return false
	}
	l.since[n] = append(l.since[n], since)
	return true
}

// known is the last event that a socket knows of.
func known(s *actortest.Socket) (seq uint64) {
	for _, e := range s.Events() {
		seq = max(seq, e.Seq)
	}
	return seq
}

func checkLife(t *testing.T, w *actortest.World, room string, l *life) {
	t.Helper()
	log := hard(t, w, room, 0)
	between := func(after, upTo uint64) (part []uint64) {
		for _, seq := range log {
			if seq > after && seq <= upTo {
				part = append(part, seq)
			}
		}
		return part
	}
	for n, socket := range l.sockets {
		joins := 0
		var from, last uint64
		var seen []uint64
		settle := func() {
			if want := between(from, last); fmt.Sprint(seen) != fmt.Sprint(want) {
				t.Errorf("after the join at %d: saw %v, want %v", from, seen, want)
			}
			seen = nil
		}
		for _, e := range socket.Events() {
			switch {
			case e.Name == mirror.EventAgencyJoined:
				settle()
				j, err := actortest.ReadJoined(e)
				if err != nil {
					t.Fatal(err)
				}
				if joins < len(l.since[n]) {
					if since := l.since[n][joins]; since != nil && j.Recovered != nil && *j.Recovered {
						if want := between(*since, j.Seq); fmt.Sprint(missed(j)) != fmt.Sprint(want) {
							t.Errorf("since %d up to %d: missed %v, want %v", *since, j.Seq, missed(j), want)
						}
					} else if since != nil {
						t.Errorf("since %d at %d was not recovered", *since, j.Seq)
					}
				}
				joins++
				from, last = j.Seq, j.Seq
			case e.Seq != 0 && joins == 0:
				t.Errorf("event %d in front of agency-joined", e.Seq)
			case e.Seq != 0 && e.Name != agency.EventMembersUpdated:
				seen = append(seen, e.Seq)
				last = e.Seq
			}
		}
		settle()
	}
}
