package mirror_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"parley/actors/actortest"
	"parley/actors/agency"
	"parley/actors/mirror"
	"parley/actors/platform"
	"parley/actors/session"
)

// roomState is what a client knows of a room's members.
type roomState struct {
	members map[string]bool // online?
	count   int             // of members
	online  int
}

// follow builds the state of a room out of a socket's events, as a client does.
func follow(t testing.TB, s *actortest.Socket) *roomState {
	t.Helper()
	r := &roomState{}
	for _, e := range s.Events() {
		var d struct {
			Members []struct {
				ID     string `json:"id"`
				Online bool   `json:"online"`
			} `json:"members"`
			MemberCount int      `json:"memberCount"`
			OnlineCount int      `json:"onlineCount"`
			Change      string   `json:"change"`
			Member      member   `json:"member"`
			Online      []member `json:"online"`
			Offline     []string `json:"offline"`
		}
		if err := json.Unmarshal(e.Data, &d); err != nil && e.Name != agency.EventMessage {
			t.Fatal(e.Name, err)
		}
		switch e.Name {
		case mirror.EventAgencyJoined:
			r.members, r.count, r.online = map[string]bool{}, d.MemberCount, d.OnlineCount
			for _, m := range d.Members {
				r.members[m.ID] = m.Online
			}
		case agency.EventMembersUpdated:
			r.count = d.MemberCount
			switch d.Change {
			case "joined":
				if _, is := r.members[d.Member.ID]; !is {
					r.members[d.Member.ID] = false
				}
			case "left", "kicked", "banned":
				delete(r.members, d.Member.ID)
			}
		case mirror.EventMemberPresence:
			r.online = d.OnlineCount
			for _, m := range d.Online {
				r.members[m.ID] = true
			}
			for _, id := range d.Offline {
				if _, is := r.members[id]; is {
					r.members[id] = false
				}
			}
		}
	}
	return r
}

type member struct {
	ID string `json:"id"`
}

func (r *roomState) String() string {
	var list []string
	for _, id := range slices.Sorted(maps.Keys(r.members)) {
		list = append(list, fmt.Sprint(id, r.members[id]))
	}
	return fmt.Sprint(r.count, r.online, list)
}

// Members come and go, join and leave, connect and vanish: what each socket in the room knows from events in the end is
// what a newcomer is shown.
func TestRoomStateEqualsSnapshot(t *testing.T) {
	w := actortest.New(t)
	ann := w.UserAs("ann")
	room := w.Room(ann, "Room", false)
	s, socket := w.Connect(ann)
	enter(t, s, socket, room, nil)
	watchers := []*actortest.Socket{socket}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for i := range 12 {
		wg.Go(func() {
			who := w.UserAs(fmt.Sprint("user", i))
			for round := range 25 {
				socket := &actortest.Socket{}
				s, err := w.Open(who, socket)
				if err != nil {
					t.Error(err)
					return
				}
				if rand.IntN(3) > 0 {
					if _, err := actortest.Do(s, session.Join{AgencyID: room}); err != nil {
						t.Error(err)
						return
					}
				}
				switch rand.IntN(6) {
				case 0:
					_ = w.Platform.Leave(ctx, who, room)
				case 1:
					_ = w.Platform.Kick(ctx, ann, room, who.ID, "")
				case 2:
					w.Join(room, who)
				}
				if round == 24 && i%2 == 0 { // some stay
					if _, err := actortest.Do(s, session.Join{AgencyID: room}); err == nil {
						mu.Lock()
						watchers = append(watchers, socket)
						mu.Unlock()
						t.Cleanup(s.Close)
						return
					}
				}
				s.Close()
				if rand.IntN(3) == 0 {
					w.Watch.Note()
				}
			}
		})
	}
	wg.Wait()
	newcomer, fresh := w.Connect(ann)
	var want string
	w.Eventually("all know the same", func() bool {
		w.Watch.Note()
		enter(t, newcomer, fresh, room, nil)
		want = follow(t, fresh).String()
		for _, s := range watchers {
			if follow(t, s).String() != want {
				return false
			}
		}
		return true
	})
	state := follow(t, fresh)
	online := 0
	for id, on := range state.members {
		if on != w.Registry.Online(id) {
			t.Errorf("%s is shown online: %t", id, on)
		}
		if on {
			online++
		}
	}
	if online != state.online || len(state.members) != state.count || online != len(watchers) {
		t.Errorf("%s with %d watchers", state, len(watchers))
	}
}

// Who is connected is online in all agencies that it is a member of, joined or not; who flaps never was away.
func TestPresence(t *testing.T) {
	w := actortest.New(t)
	ann, bob, eve := w.User("ann"), w.User("bob"), w.User("eve")
	room := w.Room(ann, "Room", false)
	w.Join(room, bob)
	_, _ = w.Connect(eve) // no member
	sb, _ := w.Connect(bob)
	s, socket := w.Connect(ann)
	enter(t, s, socket, room, nil)
	if r := follow(t, socket); r.online != 2 || !r.members[bob.ID] || !r.members[ann.ID] {
		t.Errorf("at first: %s", r)
	}
	sb.Close()
	sb, _ = w.Connect(bob)
	w.Watch.Note()
	seen := len(socket.Named(mirror.EventMemberPresence))
	sb.Close()
	w.Watch.Note()
	w.Eventually("its going", func() bool { r := follow(t, socket); return r.online == 1 && !r.members[bob.ID] })
	if n := len(socket.Named(mirror.EventMemberPresence)); n != seen+1 {
		t.Errorf("%d events, %d before", n, seen)
	}
	_, _ = w.Connect(bob)
	w.Watch.Note()
	w.Eventually("its coming", func() bool { r := follow(t, socket); return r.online == 2 && r.members[bob.ID] })
}

// Of a large room the number alone is told; when it is small again, everybody is named.
func TestPresenceOfLargeRooms(t *testing.T) {
	const many = 520
	w := actortest.New(t)
	ann := w.UserAs("ann")
	room := w.Room(ann, "Room", false)
	s, socket := w.Connect(ann)
	enter(t, s, socket, room, nil)
	sessions := make([]*session.Session, many)
	var wg sync.WaitGroup
	people := make(chan int, many)
	for i := range many {
		people <- i
	}
	close(people)
	users := make([]*platform.Identity, many)
	for range 16 {
		wg.Go(func() {
			for i := range people {
				users[i] = w.UserAs(fmt.Sprint("user", i))
				w.Join(room, users[i])
				sessions[i], _ = w.Connect(users[i])
			}
		})
	}
	wg.Wait()
	w.Watch.Note()
	w.Eventually("all are counted", func() bool { return follow(t, socket).online == many+1 })
	events := socket.Named(mirror.EventMemberPresence)
	var last map[string]any
	if err := json.Unmarshal(events[len(events)-1].Data, &last); err != nil || last["online"] != nil || last["offline"] != nil {
		t.Errorf("%v, %v", last, err)
	}
	for _, s := range sessions[100:] {
		s.Close()
	}
	w.Watch.Note()
	w.Eventually("the rest are named", func() bool {
		r := follow(t, socket)
		for i := range 100 {
			if !r.members[users[i].ID] {
				return false
			}
		}
		return r.online == 101
	})
}
