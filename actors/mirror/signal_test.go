package mirror_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"parley/actors/account"
	"parley/actors/actortest"
	"parley/actors/kernel"
	"parley/actors/mirror"
	"parley/actors/platform"
	"parley/actors/session"
)

// agentOf makes a verified agent that has a session.
func agentOf(t testing.TB, w *actortest.World, name string) *platform.Identity {
	t.Helper()
	return &platform.Identity{Session: name + "'s", Sender: account.Sender{ID: w.User(name).ID, Username: name, DisplayName: name, Type: account.Agent}}
}

func do(t testing.TB, s *session.Session, op any) {
	t.Helper()
	if _, err := actortest.Do(s, op); err != nil {
		t.Fatalf("%T: %v", op, err)
	}
}

type typed struct {
	AgencyID string `json:"agencyId"`
	DM       bool   `json:"dm"`
	Typing   bool   `json:"typing"`
	User     struct {
		ID       string `json:"id"`
		Username string `json:"username"`
	} `json:"user"`
}

func decodeAll[T any](t testing.TB, events []*mirror.Event) (list []T) {
	t.Helper()
	for _, e := range events {
		var v T
		if err := json.Unmarshal(e.Data, &v); err != nil {
			t.Fatal(err)
		}
		list = append(list, v)
	}
	return list
}

// turns are the changes that a socket was told of one account, such as "true false".
func turns(t testing.TB, s *actortest.Socket, who string) string {
	t.Helper()
	var list []bool
	for _, e := range decodeAll[typed](t, s.Named(mirror.EventTyping)) {
		if e.User.ID == who {
			list = append(list, e.Typing)
		}
	}
	return fmt.Sprint(list)
}

func TestTyping(t *testing.T) {
	t.Parallel()
	w := actortest.New(t)
	ann, bob, eve := w.User("ann"), w.User("bob"), w.User("eve")
	room := w.Room(ann, "Room", false)
	w.Join(room, bob)
	s, socket := w.Connect(ann)
	same, tab := w.Connect(ann)
	sb, other := w.Connect(bob)
	for s, socket := range map[*session.Session]*actortest.Socket{s: socket, same: tab, sb: other} {
		enter(t, s, socket, room, nil)
	}
	se, _ := w.Connect(eve)
	_, err := actortest.Do(se, session.Typing{AgencyID: room, Typing: true})
	actortest.Wants(t, "typing of a stranger", err, kernel.CodeNotFound)

	do(t, s, session.Typing{AgencyID: room, Typing: true})
	w.Eventually("typing", func() bool { return turns(t, other, ann.ID) == "[true]" })
	begun := time.Now()
	if e := decodeAll[typed](t, other.Named(mirror.EventTyping))[0]; e.AgencyID != room || e.User.Username != "ann" || e.DM {
		t.Errorf("%+v", e)
	}
	do(t, s, session.Typing{AgencyID: room, Typing: true}) // again: nothing new
	w.Eventually("its end", func() bool { return turns(t, other, ann.ID) == "[true false]" })
	if took := time.Since(begun); took < 5500*time.Millisecond || took > 9*time.Second {
		t.Errorf("typing died after %s", took)
	}
	do(t, s, session.Typing{AgencyID: room, Typing: true})
	w.Eventually("typing again", func() bool { return turns(t, other, ann.ID) == "[true false true]" })
	do(t, s, session.Leave{AgencyID: room}) // who goes types no more
	w.Eventually("the end by leaving", func() bool { return turns(t, other, ann.ID) == "[true false true false]" })
	do(t, s, session.Typing{AgencyID: room, Typing: true}) // a member need not have joined
	w.Eventually("typing from outside", func() bool { return turns(t, other, ann.ID) == "[true false true false true]" })
	s.Close()
	w.Eventually("the end by closing", func() bool { return turns(t, other, ann.ID) == "[true false true false true false]" })
	if got := turns(t, tab, ann.ID) + turns(t, socket, ann.ID); got != "[][]" {
		t.Errorf("who types was told of it: %s", got)
	}
}

type status struct {
	AgencyID    string `json:"agencyId"`
	AgentID     string `json:"agentId"`
	Username    string `json:"username"`
	DisplayName string `json:"displayName"`
	Thinking    bool   `json:"thinking"`
	Status      string `json:"status"`
}

func TestThinking(t *testing.T) {
	t.Parallel()
	w := actortest.New(t)
	ann := w.User("ann")
	bot := agentOf(t, w, "bot")
	room := w.Room(ann, "Room", false)
	w.Join(room, bot)
	s, socket := w.Connect(ann)
	enter(t, s, socket, room, nil)
	sb, own := w.Connect(bot)
	enter(t, sb, own, room, nil)
	_, err := actortest.Do(s, session.Thinking{AgencyID: room, Thinking: true})
	actortest.Wants(t, "a user who thinks", err, kernel.CodeForbidden)
	seen := func(s *actortest.Socket) (list []string) {
		for _, e := range decodeAll[status](t, s.Named(mirror.EventAgentStatus)) {
			if e.AgentID != bot.ID || e.Username != "bot" || e.DisplayName != "bot" || e.AgencyID != room {
				t.Errorf("%+v", e)
			}
			list = append(list, fmt.Sprint(e.Thinking, e.Status))
		}
		return list
	}
	for range 5 { // as it repeats it
		do(t, sb, session.Thinking{AgencyID: room, Thinking: true, Status: "reading"})
	}
	w.Eventually("thinking", func() bool { return fmt.Sprint(seen(socket)) == "[truereading]" })
	do(t, sb, session.Thinking{AgencyID: room, Thinking: true, Status: "one"})
	do(t, sb, session.Thinking{AgencyID: room, Thinking: true, Status: "two"})
	w.Eventually("the latest status alone", func() bool { return fmt.Sprint(seen(socket)) == "[truereading truetwo]" })
	late, newcomer := w.Connect(ann)
	enter(t, late, newcomer, room, nil)
	w.Eventually("the newcomer knows", func() bool { return fmt.Sprint(seen(newcomer)) == "[truetwo]" })
	do(t, sb, session.Thinking{AgencyID: room})
	w.Eventually("no more", func() bool { return fmt.Sprint(seen(socket)) == "[truereading truetwo false]" })
	do(t, sb, session.Thinking{AgencyID: room, Thinking: true})
	w.Eventually("once more", func() bool { return len(seen(socket)) == 4 })
	sb.Lose()
	w.Eventually("its end with the socket", func() bool { return len(seen(socket)) == 5 && seen(socket)[4] == "false" })
	if got := fmt.Sprint(seen(newcomer)); got != "[truetwo false true false]" {
		t.Errorf("the newcomer saw %s", got)
	}
}

// Signals of a direct message reach the other side without a join.
func TestSignalsInDirectMessages(t *testing.T) {
	t.Parallel()
	w := actortest.New(t)
	ann, bob := w.User("ann"), w.User("bob")
	dm := openDM(t, w, ann, bob)
	s, _ := w.Connect(ann)
	_, other := w.Connect(bob)
	w.Post(ann, dm, "hello")
	do(t, s, session.Typing{AgencyID: dm, Typing: true})
	w.Eventually("typing", func() bool { return turns(t, other, ann.ID) == "[true]" })
	if e := decodeAll[typed](t, other.Named(mirror.EventTyping))[0]; !e.DM || e.AgencyID != dm {
		t.Errorf("%+v", e)
	}
}

// A kick ends what the account was doing.
func TestKickedTypist(t *testing.T) {
	t.Parallel()
	w := actortest.New(t)
	ann, bob := w.User("ann"), w.User("bob")
	room := w.Room(ann, "Room", false)
	w.Join(room, bob)
	s, socket := w.Connect(ann)
	enter(t, s, socket, room, nil)
	sb, _ := w.Connect(bob)
	do(t, sb, session.Join{AgencyID: room})
	do(t, sb, session.Typing{AgencyID: room, Typing: true})
	w.Eventually("typing", func() bool { return turns(t, socket, bob.ID) == "[true]" })
	if err := w.Platform.Kick(context.Background(), ann, room, bob.ID, ""); err != nil {
		t.Fatal(err)
	}
	w.Eventually("the kick", func() bool {
		_, err := actortest.Do(sb, session.Typing{AgencyID: room, Typing: true})
		return err != nil
	})
}
