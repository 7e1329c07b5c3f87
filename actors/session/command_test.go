package session_test

import (
	"sync"
	"testing"

	"parley/actors/account"
	"parley/actors/actortest"
	"parley/actors/agency"
	"parley/actors/command"
	"parley/actors/kernel"
	"parley/actors/platform"
	"parley/actors/session"
)

// A command runs for the account of its session, and its visible result reaches the room before anything sent behind it.
func TestCommandsKeepTheirPlace(t *testing.T) {
	w := actortest.New(t)
	ann, bob := w.User("ann"), w.User("bob")
	room := w.Room(ann, "Room", false)
	s, _ := w.Connect(ann)
	_, socket := w.Connect(bob)
	watcher, err := w.Open(bob, socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(watcher.Close)
	if _, err := actortest.Do(watcher, session.Join{AgencyID: room}); err != nil {
		t.Fatal(err)
	}
	say := func(text string, silent bool) any {
		t.Helper()
		v, err := actortest.Do(s, session.Send{AgencyID: room, Message: agency.NewMessage{Content: text}, Silent: silent})
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	shown := say("/echo one", false).(command.Result)
	if !shown.OK || shown.MessageID == "" {
		t.Errorf("%+v", shown)
	}
	say("two", false)
	if r := say("/echo hush", true).(command.Result); !r.OK || r.Content != "hush" || r.MessageID != "" {
		t.Errorf("%+v", r)
	}
	if r := say("/whoami", false).(command.Result); !r.Ephemeral || r.MessageID != "" {
		t.Errorf("%+v", r)
	}
	say("three", false)
	w.Eventually("three messages, in order", func() bool { return len(socket.Named(agency.EventMessage)) == 3 })
	for i, e := range socket.Named(agency.EventMessage) {
		m, err := agency.DecodeMessage(e.Data)
		if err != nil || m.Content != []string{"one", "two", "three"}[i] || m.SenderID != ann.ID || i == 0 && (m.ID != shown.MessageID || m.Type != "tool_result") {
			t.Errorf("%d is %+v, %v", i, m, err)
		}
	}
}

// held is an executor whose commands wait outside of the server until the test lets them go on.
type held struct {
	mu      sync.Mutex
	refused error
	finish  []func(command.Result)
	stay    bool // they do not detach themselves
}

func (h *held) RunCommand(i platform.Invoke, reply func(command.Result)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.stay {
		if h.refused = i.Detach(); h.refused != nil {
			reply(command.Failed(command.Parse(i.Message.Content), h.refused.Error()))
			return
		}
		if i.Detach() != nil {
			panic("detached twice")
		}
	}
	h.finish = append(h.finish, reply)
}

// let ends a command.
func (h *held) let(n int, content string) {
	h.mu.Lock()
	finish := h.finish[n]
	h.mu.Unlock()
	finish(command.Result{OK: true, Content: content})
}

func TestDetachedCommands(t *testing.T) {
	w := actortest.New(t)
	h := &held{}
	s, err := session.Open(session.Options{System: w.System, Directory: w.Local, Registry: w.Registry, Commands: h, Who: account.Sender{ID: "a"}, Socket: &actortest.Socket{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	send := func() (any, error) {
		return actortest.Do(s, session.Send{Message: agency.NewMessage{Content: "/slow"}})
	}
	var list []*session.Detached
	for range session.MaxDetached {
		v, err := send()
		d, ok := v.(*session.Detached)
		if err != nil || !ok {
			t.Fatal(v, err) // it is answered although the command goes on
		}
		list = append(list, d)
	}
	if v, err := send(); err != nil || v.(command.Result).OK || h.refused == nil {
		t.Errorf("one too many: %v, %v", v, err)
	}
	actortest.Wants(t, "one too many", h.refused, kernel.CodeLimited)
	got := make(chan any, 2)
	h.let(3, "before") // the result comes before and after it is asked for
	list[3].Then(func(v any) { got <- v })
	list[0].Then(func(v any) { got <- v })
	if v := (<-got).(command.Result); v.Content != "before" {
		t.Error(v)
	}
	h.let(0, "after")
	if v := (<-got).(command.Result); v.Content != "after" {
		t.Error(v)
	}
	if v, err := send(); err != nil || v == nil {
		t.Error(v, err)
	} else if _, ok := v.(*session.Detached); !ok {
		t.Errorf("%+v after others have ended", v)
	}
	// Asking for a result and its coming at the same time: it comes once.
	var wg sync.WaitGroup
	for i := 4; i < 12; i++ {
		wg.Add(1)
		wg.Go(func() { h.let(i, "x") })
		wg.Go(func() { list[i].Then(func(any) { wg.Done() }) })
	}
	wg.Wait()
	h.mu.Lock()
	h.stay = true
	n := len(h.finish)
	h.mu.Unlock()
	answered := make(chan any, 1)
	s.Do(session.Send{Message: agency.NewMessage{Content: "/quick"}}, func(v any, _ error) { answered <- v })
	w.Eventually("the command has come", func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		return len(h.finish) == n+1
	})
	select {
	case v := <-answered:
		t.Errorf("answered %v before it has ended", v)
	default:
	}
	h.let(n, "done")
	if v := (<-answered).(command.Result); v.Content != "done" {
		t.Error(v)
	}
}
