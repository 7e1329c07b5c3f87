package e2e

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"parley/e2e/client"
)

// told is what tests read of events about a room.
type told struct {
	ID       string `json:"id"`
	AgencyID string `json:"agencyId"`
	Content  string `json:"content"`
	DM       bool   `json:"dm"`
	Typing   bool   `json:"typing"`
	Thinking bool   `json:"thinking"`
	Status   string `json:"status"`
	AgentID  string `json:"agentId"`
	User     struct {
		ID string `json:"id"`
	} `json:"user"`
	Agency struct {
		ID, Name, Slug string
	} `json:"agency"`
	Online      []client.Member `json:"online"`
	Offline     []string        `json:"offline"`
	OnlineCount int             `json:"onlineCount"`
}

// hears waits until something that happens again and again has reached a script: its room may still be on its way back.
func hears(t *testing.T, s *script, g client.Agency, by person) {
	t.Helper()
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(50 * time.Millisecond):
				_, _ = by.Post(t.Context(), g.ID, "are you there?", "")
			}
		}
	}()
	s.until("a message", func(l said) bool { return l.is("message") && decoded[told](t, l).AgencyID == g.ID })
}

// TestRoomsComeBack: a client that does nothing after it was cut off has its room and its direct messages, and is told of
// the room alone; also after the server was killed (clients.md 6.2).
func TestRoomsComeBack(t *testing.T) {
	t.Parallel()
	server := own(t)
	api := client.API{Base: server.URL()}
	ann, bob := user(t, api, "ann"), user(t, api, "bob")
	g := ann.room(t, "room", false)
	s := runScript(t, "presence.js", map[string]any{"url": api.Base, "token": bob.Token, "room": g.ID})
	s.kind("ready")
	d := ann.open(t, bob)
	ann.post(t, d.room(), "made after you came")
	_, l := s.until("a direct message", func(l said) bool { return l.is("message") })
	if m := decoded[told](t, l); !m.DM || m.AgencyID != d.ID || m.Content != "made after you came" {
		t.Errorf("a direct message is %+v", m)
	}
	time.Sleep(1500 * time.Millisecond) // rooms are written down within a second

	for name, cut := range map[string]func(){
		"transport": func() { s.say(map[string]any{"cut": true}) },
		"kill":      func() { crash(t, server) },
	} {
		t.Run(name, func(t *testing.T) {
			cut()
			s.kind("disconnect")
			s.kind("connect")
			hears(t, s, g, ann)
			passed, l := s.until("the nudge", func(l said) bool { return l.is("agency-invited") })
			if e := decoded[told](t, l); e.AgencyID != g.ID || e.Agency.ID != g.ID || e.Agency.Slug == "" {
				t.Errorf("agency-invited is %+v", e)
			}
			for _, p := range passed {
				if p.is("agency-joined") {
					t.Errorf("unasked: %s", p)
				}
			}
			ann.post(t, d.room(), "after the "+name)
			passed, _ = s.until("the direct message", func(l said) bool {
				return l.is("message") && decoded[told](t, l).Content == "after the "+name
			})
			for _, p := range passed {
				if p.is("agency-invited") {
					t.Errorf("invited to more than its room: %s", p)
				}
			}
		})
	}
	s.say(map[string]any{"end": true})
	s.kind("end")
}

// TestPlainRoomsComeBack: the same in the plain format; one that closes in order comes back without rooms.
func TestPlainRoomsComeBack(t *testing.T) {
	t.Parallel()
	api := common(t)
	ann, bob := user(t, api, "ann"), user(t, api, "bob")
	g := ann.room(t, "room", false)
	first := bob.plain(t)
	joined(t, first, g)
	first.Close() // without a farewell
	again := bob.plain(t)
	if e := event[told](t, again, "agency-invited"); e.AgencyID != g.ID {
		t.Errorf("agency-invited is %+v", e)
	}
	sent := ann.post(t, g, "hello")
	if e := event[told](t, again, "message"); e.ID != sent.ID {
		t.Errorf("%+v", e)
	}
	if err := again.Conn().Close(1000, ""); err != nil {
		t.Log(err)
	}
	third := bob.plain(t)
	ann.post(t, g, "nobody hears it")
	d := ann.open(t, bob)
	last := ann.post(t, d.room(), "but this")
	if e := event[told](t, third, "message"); e.ID != last.ID || !e.DM {
		t.Errorf("%+v", e)
	}
}

// TestPresenceAndSignals: who is online, types and thinks, over both formats.
func TestPresenceAndSignals(t *testing.T) {
	t.Parallel()
	api := common(t)
	ann, bob := user(t, api, "ann"), user(t, api, "bob")
	g := ann.room(t, "room", false)
	watcher := ann.plain(t)
	joined(t, watcher, g)
	bob.enter(t, g)
	s := bob.socketIO(t)
	for {
		e := event[told](t, watcher, "member-presence")
		if e.AgencyID == g.ID && len(e.Online) == 1 && e.Online[0].ID == bob.ID && e.OnlineCount == 2 {
			break
		}
	}
	emit := func(s *client.Socket, name string, data any) {
		t.Helper()
		if err := s.Emit(name, data); err != nil {
			t.Fatal(err)
		}
	}
	emit(s, "typing", map[string]any{"agencyId": g.ID, "typing": true})
	if e := event[told](t, watcher, "typing"); !e.Typing || e.User.ID != bob.ID || e.AgencyID != g.ID {
		t.Errorf("%+v", e)
	}
	if e := event[told](t, watcher, "typing"); e.Typing || e.User.ID != bob.ID { // dies by itself
		t.Errorf("%+v", e)
	}
	agent, err := api.RegisterAgent(soon(t), fresh("bot"), "")
	if err != nil {
		t.Fatal(err)
	}
	token, err := api.Exchange(soon(t), agent.Agent.Token)
	if err != nil {
		t.Fatal(err)
	}
	bot := person{api.As(token.Token), token.User}
	thinker := bot.socketIO(t)
	must[json.RawMessage](t, ann.API, http.MethodPost, "/api/agencies/"+g.ID+"/agents", map[string]string{"agentId": bot.ID})
	if e := event[told](t, thinker, "agency-invited"); e.AgencyID != g.ID {
		t.Errorf("%+v", e)
	}
	emit(thinker, "agent-thinking", map[string]any{"agencyId": g.ID, "thinking": true, "status": "reading", "agentId": "somebody", "username": "else"})
	if e := event[told](t, watcher, "agent-status"); !e.Thinking || e.Status != "reading" || e.AgentID != bot.ID {
		t.Errorf("%+v", e)
	}
	thinker.Close()
	if e := event[told](t, watcher, "agent-status"); e.Thinking || e.AgentID != bot.ID {
		t.Errorf("%+v", e)
	}
	s.Close()
	for {
		e := event[told](t, watcher, "member-presence")
		if e.OnlineCount == 1 && len(e.Offline) > 0 {
			break
		}
	}
}
