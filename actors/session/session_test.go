package session_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"parley/actors/account"
	"parley/actors/actortest"
	"parley/actors/agency"
	"parley/actors/command"
	"parley/actors/kernel"
	"parley/actors/mirror"
	"parley/actors/platform"
	"parley/actors/session"
)

func TestOperations(t *testing.T) {
	w := actortest.New(t)
	ann, bob := w.User("ann"), w.User("bob")
	room, secret := w.Room(ann, "Room", false), w.Room(ann, "Secret", true)
	s, socket := w.Connect(bob)
	if s.Who().ID != bob.ID {
		t.Error(s.Who())
	}
	post := func(room string, m agency.NewMessage) (any, error) {
		return actortest.Do(s, session.Send{AgencyID: room, Message: m})
	}
	_, err := post(room, agency.NewMessage{Content: "x"})
	actortest.Wants(t, "post into a room not joined", err, kernel.CodeForbidden)
	for _, op := range []any{session.Join{AgencyID: secret}, session.Join{AgencyID: "none"}, session.Send{AgencyID: secret, Message: agency.NewMessage{Content: "x"}}} {
		_, err := actortest.Do(s, op)
		actortest.Wants(t, fmt.Sprintf("%T", op), err, kernel.CodeNotFound)
	}
	_, err = actortest.Do(s, session.Leave{AgencyID: room})
	actortest.Wants(t, "leave a room not joined", err, kernel.CodeForbidden)
	_, err = actortest.Do(s, struct{}{})
	actortest.Wants(t, "an unknown operation", err, kernel.CodeInternal)
	for range 2 { // every join is answered, also one for a room joined already
		if _, err := actortest.Do(s, session.Join{AgencyID: room}); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(socket.Named(mirror.EventAgencyJoined)); n != 2 {
		t.Errorf("%d answers to 2 joins", n)
	}
	v, err := post(room, agency.NewMessage{Content: "x", ClientID: "1"})
	posted, ok := v.(*agency.Posted)
	if err != nil || !ok || posted.Earlier {
		t.Fatal(v, err)
	}
	if v, err = post(room, agency.NewMessage{Content: "x", ClientID: "1"}); err != nil || !v.(*agency.Posted).Earlier || v.(*agency.Posted).ID != posted.ID {
		t.Error(v, err)
	}
	if v, err = post(room, agency.NewMessage{Content: " /Frob x"}); err != nil || v.(command.Result).Command != "/frob" || v.(command.Result).OK {
		t.Error(v, err)
	}
	if v, err = actortest.Do(s, session.Edit{AgencyID: room, MessageID: posted.ID, Content: "y"}); err != nil || v.(*agency.Posted).ID != posted.ID {
		t.Error(v, err)
	}
	if _, err = actortest.Do(s, session.Delete{AgencyID: room, MessageID: posted.ID}); err != nil {
		t.Error(err)
	}
	w.Eventually("all events, each once, in front of no other room's", func() bool {
		return len(socket.Named(agency.EventMessage)) == 1 && len(socket.Named(agency.EventMessageEdited)) == 1 && len(socket.Named(agency.EventMessageDeleted)) == 1
	})
}

func TestConnectionsAreBounded(t *testing.T) {
	w := actortest.New(t)
	ann, bob := w.User("ann"), w.User("bob")
	if w.Registry.Online(ann.ID) {
		t.Error("online without a connection")
	}
	var mu sync.Mutex
	var open []*session.Session
	refused := 0
	var wg sync.WaitGroup
	for range session.MaxConnections + 5 {
		wg.Go(func() {
			s, err := w.Open(ann, &actortest.Socket{})
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				actortest.Wants(t, "one too many", err, kernel.CodeLimited)
				refused++
				return
			}
			open = append(open, s)
		})
	}
	wg.Wait()
	if len(open) != session.MaxConnections || refused != 5 || !w.Registry.Online(ann.ID) || w.Registry.Online(bob.ID) {
		t.Errorf("%d open, %d refused", len(open), refused)
	}
	w.Connect(bob)
	open[3].Close()
	open[3].Close() // closing again changes nothing
	s, err := w.Open(ann, &actortest.Socket{})
	if err != nil {
		t.Fatalf("after one has closed: %v", err)
	}
	_, err = w.Open(ann, &actortest.Socket{})
	actortest.Wants(t, "one too many again", err, kernel.CodeLimited)
	for _, s := range append(open, s) {
		s.Close()
	}
	if w.Registry.Online(ann.ID) {
		t.Error("online after the last connection has closed")
	}
}

func TestRevocation(t *testing.T) {
	r := session.NewRegistry()
	w := actortest.New(t)
	sockets := map[string]*actortest.Socket{}
	for _, id := range []string{"a", "a2", "b"} {
		sockets[id] = &actortest.Socket{}
		s, err := session.Open(session.Options{System: w.System, Directory: w.Local, Registry: r, ID: id, Socket: sockets[id],
			Who: account.Sender{ID: id[:1]}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Close)
	}
	check := func(a, a2, b int) {
		t.Helper()
		if sockets["a"].Revocations() != a || sockets["a2"].Revocations() != a2 || sockets["b"].Revocations() != b {
			t.Errorf("told: %d %d %d, want %d %d %d", sockets["a"].Revocations(), sockets["a2"].Revocations(), sockets["b"].Revocations(), a, a2, b)
		}
	}
	r.Revoke("a", "x", "b")
	r.Revoke("c", "a")
	check(0, 0, 0)
	r.Revoke("a", "a2")
	check(0, 1, 0)
	r.RevokeAll("a")
	check(1, 2, 0)
	r.RevokeAll("nobody")
	check(1, 2, 0)
}

// Logging out reaches the socket of that session alone.
func TestLogoutReachesItsSockets(t *testing.T) {
	w := actortest.New(t)
	ann := w.User("ann")
	other := *ann
	other.Session = "another"
	_, socket := w.Connect(ann)
	_, stays := w.Connect(&other)
	if err := w.Platform.Logout(context.Background(), ann); err != nil {
		t.Fatal(err)
	}
	if socket.Revocations() != 1 || stays.Revocations() != 0 {
		t.Errorf("told %d, another session %d", socket.Revocations(), stays.Revocations())
	}
}

// obliging is a directory in which every agency is open and every call succeeds, or panics.
type obliging struct {
	mu    sync.Mutex
	calls map[string]int
	fail  bool
}

func (o *obliging) Tell(kernel.Ref, any) {}

func (o *obliging) Call(_ kernel.Ref, c any, reply func(any, error)) {
	o.mu.Lock()
	fail := o.fail
	o.calls[fmt.Sprintf("%T", c)]++
	o.mu.Unlock()
	if _, detach := c.(mirror.Detach); fail && !detach {
		panic("scripted")
	}
	if _, ok := c.(agency.Enter); ok {
		reply(&agency.Entered{}, nil)
		return
	}
	reply(kernel.Done{}, nil)
}

func (o *obliging) count(what string) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.calls[what]
}

func TestRoomsAreBoundedAndLeft(t *testing.T) {
	for _, fails := range []bool{false, true} {
		w := actortest.New(t)
		dir := &obliging{calls: map[string]int{}}
		socket := &actortest.Socket{}
		s, err := session.Open(session.Options{System: w.System, Directory: dir, Registry: w.Registry, Who: account.Sender{ID: "a"}, Socket: socket})
		if err != nil {
			t.Fatal(err)
		}
		for i := range session.MaxRooms {
			if _, err := actortest.Do(s, session.Join{AgencyID: fmt.Sprint(i)}); err != nil {
				t.Fatal(err)
			}
		}
		_, err = actortest.Do(s, session.Join{AgencyID: "one more"})
		actortest.Wants(t, "one room too many", err, kernel.CodeLimited)
		if _, err := actortest.Do(s, session.Join{AgencyID: "5"}); err != nil {
			t.Errorf("a room joined already: %v", err)
		}
		if _, err := actortest.Do(s, session.Leave{AgencyID: "5"}); err != nil {
			t.Error(err)
		}
		if _, err := actortest.Do(s, session.Join{AgencyID: "one more"}); err != nil {
			t.Error(err)
		}
		if fails {
			dir.mu.Lock()
			dir.fail = true
			dir.mu.Unlock()
			_, err := actortest.Do(s, session.Edit{})
			actortest.Wants(t, "an operation that panics", err, kernel.CodeInternal)
			w.Eventually("a restart of the socket", func() bool { return socket.Restarts() == 1 })
		}
		s.Close()
		w.Eventually("all rooms left", func() bool { return dir.count("mirror.Detach") == session.MaxRooms+1 })
		if !fails && socket.Restarts() != 0 {
			t.Error("an orderly close restarts the socket")
		}
		_, err = actortest.Do(s, session.Edit{})
		actortest.Wants(t, "an operation after the end", err, kernel.CodeUnavailable)
	}
}

var _ platform.Live = (*session.Registry)(nil)
