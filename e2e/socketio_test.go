package e2e

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"parley/e2e/client"
)

// TestSocketIOConnect: who the real client gets in with (clients.md 3.1).
func TestSocketIOConnect(t *testing.T) {
	t.Parallel()
	api := common(t)
	ann := user(t, api, "ann")
	pat := must[token](t, ann.API, http.MethodPost, "/api/auth/tokens", map[string]string{"name": "pat"})
	agent, err := api.RegisterAgent(soon(t), fresh("bot"), "")
	if err != nil {
		t.Fatal(err)
	}
	session, err := api.Exchange(soon(t), agent.Agent.Token)
	if err != nil {
		t.Fatal(err)
	}
	unverified := must[created](t, ann.API, http.MethodPost, "/api/agents", map[string]string{"name": fresh("bot")})
	good := []string{ann.Token, pat.Token, session.Token}
	bad := []string{"nonsense", "", agent.Agent.Token, unverified.AgentToken}
	s := runScript(t, "connect.js", map[string]any{"url": api.Base, "good": good, "bad": bad})
	for range good {
		if c := s.kind("connect"); c.SID == "" {
			t.Error("connected without a sid")
		}
	}
	for i := range bad {
		if c := s.kind("connect_error"); c.Message == "" || c.Message == "websocket error" || c.Message == "timeout" {
			t.Errorf("credential %d was refused with the message %q", i, c.Message)
		}
		if r := s.kind("refused"); r.Active {
			t.Errorf("after the refusal of credential %d the client tries again", i)
		}
	}
	s.kind("end")
}

// TestSocketIORoom: life in a room with the real client.
func TestSocketIORoom(t *testing.T) {
	t.Parallel()
	api := common(t)
	ann, bob, eve := user(t, api, "ann"), user(t, api, "bob"), user(t, api, "eve")
	g, public, hidden := bob.room(t, "room", false), bob.room(t, "public", false), bob.room(t, "hidden", true)
	lobby := must[client.Agency](t, ann.API, http.MethodGet, "/api/agencies/lookup/lobby", nil)
	foreign := bob.post(t, g, "bob's own")
	joins := []string{lobby.ID, g.ID, public.ID, g.ID, g.ID, lobby.ID}
	s := runScript(t, "room.js", map[string]any{"url": api.Base, "token": ann.Token, "joins": joins, "room": g.ID, "hidden": hidden.ID, "foreign": foreign.ID})

	checkJoins(t, s.part("joins"), joins)
	id := checkMessage(t, s.part("message"), ann, g)
	edited := decoded[map[string]any](t, last(t, s.part("edit"), "message-edited"))
	if edited["messageId"] != id || edited["content"] != "hello, edited" || edited["agencyId"] != g.ID || edited["agency_id"] != g.ID ||
		edited["edited_at"] == "" || edited["metadata"] == nil || edited["seq"] == nil {
		t.Errorf("message-edited is %v", edited)
	}
	deleted := decoded[map[string]any](t, last(t, s.part("delete"), "message-deleted"))
	if deleted["messageId"] != id || deleted["agencyId"] != g.ID {
		t.Errorf("message-deleted is %v", deleted)
	}
	if m := decoded[client.Message](t, last(t, s.part("send without ack"), "message")); m.Content != "no ack" {
		t.Errorf("the message without ack is %+v", m)
	}
	for _, l := range only(t, s.part("commands"), "ack", 2) {
		if a := decoded[client.Ack](t, l); a.OK || a.Content == nil || *a.Content == "" {
			t.Errorf("an unknown command is acked with %s", l)
		}
	}
	for _, l := range only(t, s.part("failures with ack"), "ack", 4) {
		if a := decoded[client.Ack](t, l); a.OK || a.Content == nil || *a.Content == "" {
			t.Errorf("a failure is acked with %s", l)
		}
	}
	told := slices.DeleteFunc(slices.Clone(s.part("failures without ack")), func(l said) bool { return !l.is("error") })
	for _, l := range only(t, told, "event", 6) {
		if e := decoded[struct{ Message string }](t, l); e.Message == "" {
			t.Errorf("a failure is told with %s", l)
		}
	}
	eve.enter(t, g)
	type change struct {
		AgencyID, Change string
		Member           client.Member
		MemberCount      int
	}
	_, line := s.until("members-updated of the room", func(l said) bool {
		return l.is("members-updated") && decoded[change](t, l).AgencyID == g.ID
	})
	changed := decoded[change](t, line)
	if changed.Change != "joined" || changed.Member.ID != eve.ID || changed.MemberCount != 3 {
		t.Errorf("members-updated is %+v", changed)
	}
	if left := decoded[struct{ AgencyID string }](t, last(t, s.part("leave"), "agency-left")); left.AgencyID != g.ID {
		t.Errorf("agency-left is %+v", left)
	}
	if g := must[client.Agency](t, ann.API, http.MethodGet, "/api/agencies/"+g.ID, nil); !g.IsMember {
		t.Error("leave-agency ended the membership")
	}
	if g := must[client.Agency](t, ann.API, http.MethodGet, "/api/agencies/"+public.ID, nil); !g.IsMember {
		t.Error("join-agency of a public agency did not make a member")
	}
}

// checkJoins wants an answer for each join, in their order, and nothing of the own joining before it.
func checkJoins(t *testing.T, lines []said, joins []string) {
	t.Helper()
	var answers []string
	for _, l := range lines {
		if !l.is("agency-joined") {
			continue
		}
		j := decoded[client.Joined](t, l)
		answers = append(answers, j.AgencyID)
		if len(j.Members) == 0 || j.MemberCount < len(j.Members) && len(j.Members) < 200 || j.Recovered != nil || j.Missed != nil {
			t.Errorf("agency-joined is %s", l)
		}
	}
	if got, want := marshal(t, answers), marshal(t, joins); got != want {
		t.Errorf("joins were answered as %s, want %s", got, want)
	}
}

// checkMessage wants the ack, then the echo, and returns the message's id.
func checkMessage(t *testing.T, lines []said, from person, g client.Agency) string {
	t.Helper()
	var order []string
	var ack client.Ack
	var echo client.Message
	for _, l := range lines {
		switch {
		case l.Kind == "ack":
			ack = decoded[client.Ack](t, l)
			order = append(order, "ack")
		case l.is("message"):
			echo = decoded[client.Message](t, l)
			order = append(order, "message")
		}
	}
	if len(order) != 2 || order[0] != "ack" || order[1] != "message" {
		t.Errorf("the order is %v, want the ack, then the message", order)
	}
	if !ack.OK || ack.MessageID == "" || ack.MessageID != echo.ID || echo.AgencyID != g.ID || echo.Seq == 0 || echo.Content != "hello" ||
		echo.SenderID != from.ID || echo.SenderUsername != from.Username || echo.SenderType != "user" || string(echo.Metadata) != `{"trace":[{"step":"a"}]}` {
		t.Errorf("the ack is %+v and the echo %+v", ack, echo)
	}
	return echo.ID
}

func marshal(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// last returns the last event of a name.
func last(t *testing.T, lines []said, event string) said {
	t.Helper()
	for i := len(lines) - 1; i >= 0; i-- {
		if lines[i].is(event) {
			return lines[i]
		}
	}
	t.Fatalf("there is no %s among %v", event, lines)
	panic("unreachable")
}

// only returns the lines of a kind, which must be as many as given.
func only(t *testing.T, lines []said, kind string, want int) []said {
	t.Helper()
	var found []said
	for _, l := range lines {
		if l.Kind == kind {
			found = append(found, l)
		}
	}
	if len(found) != want {
		t.Fatalf("there are %d lines of kind %s, want %d: %v", len(found), kind, want, lines)
	}
	return found
}

// TestSocketIOEviction: a dead session is put out and stays out; a PAT outlives a change of password (decision 8).
func TestSocketIOEviction(t *testing.T) {
	t.Parallel()
	api := common(t)
	for name, act := range map[string]func(*testing.T, person){
		"logout": func(t *testing.T, p person) {
			must[json.RawMessage](t, p.API, http.MethodPost, "/api/auth/logout", nil)
		},
		"password": func(t *testing.T, p person) {
			must[json.RawMessage](t, p.API, http.MethodPost, "/api/auth/change-password", map[string]string{"currentPassword": password, "newPassword": "battery staple"})
		},
		"account": func(t *testing.T, p person) {
			must[json.RawMessage](t, p.API, http.MethodDelete, "/api/auth/account", nil)
		},
		"logout while polling": func(t *testing.T, p person) {
			must[json.RawMessage](t, p.API, http.MethodPost, "/api/auth/logout", nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ann := user(t, api, "ann")
			g := ann.room(t, "room", false)
			transport := "websocket"
			if strings.Contains(name, "polling") {
				transport = "polling"
			}
			s := runScript(t, "stay.js", map[string]any{"url": api.Base, "token": ann.Token, "room": g.ID, "transports": []string{transport}})
			s.event("agency-joined")
			act(t, ann)
			d := s.kind("disconnect")
			if d.Message == "io server disconnect" && !d.Active {
				return
			}
			// closed without a farewell: then its next try has to be refused
			if e := s.kind("connect_error"); e.Active {
				t.Errorf("after %q the client tries on and on", e.Message)
			}
		})
	}
}

// TestSocketIORestart: a client that asks for what it missed misses nothing over kill -9, SIGTERM and restarts, with the
// same token.
func TestSocketIORestart(t *testing.T) {
	t.Parallel()
	for name, transports := range map[string][]string{"websocket": {"websocket"}, "polling": {"polling"}, "upgraded": {"polling", "websocket"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			restarts(t, transports)
		})
	}
}

func restarts(t *testing.T, transports []string) {
	server := own(t)
	api := client.API{Base: server.URL()}
	ann, bob := user(t, api, "ann"), user(t, api, "bob")
	g := ann.room(t, "room", false)
	bob.enter(t, g)
	s := runScript(t, "stay.js", map[string]any{"url": api.Base, "token": ann.Token, "room": g.ID, "transports": transports})
	s.event("agency-joined")
	s.say(map[string]string{"say": "one"})
	s.event("message")
	kill := server.Kill
	terminate := func() error { _, err := server.Terminate(); return err }
	restart := func(end func() error, between func()) client.Joined {
		t.Helper()
		if err := end(); err != nil {
			t.Fatal(err)
		}
		s.kind("disconnect")
		if err := server.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
		between()
		s.kind("connect")
		return decoded[client.Joined](t, s.event("agency-joined"))
	}
	// Whether the client is back before or after these posts, it sees each of them once: as missed or as an event.
	j := restart(kill, func() {
		bob.post(t, g, "two")
		bob.post(t, g, "three")
	})
	if j.Recovered == nil || !*j.Recovered {
		t.Fatalf("not recovered: %v", &j)
	}
	var got []string
	for _, m := range j.Missed {
		var d client.Message
		if err := json.Unmarshal(m.Data, &d); err != nil || m.Event != "message" {
			t.Fatalf("missed %s %s: %v", m.Event, m.Data, err)
		}
		got = append(got, d.Content)
	}
	s.say(map[string]string{"say": "four"})
	for len(got) < 3 {
		got = append(got, decoded[client.Message](t, s.event("message")).Content)
	}
	if want := marshal(t, []string{"two", "three", "four"}); marshal(t, got) != want {
		t.Fatalf("after the restart came %v, want %s", got, want)
	}
	j = restart(terminate, func() {})
	if j.Recovered == nil || !*j.Recovered || len(j.Missed) != 0 {
		t.Fatalf("after the second restart: %v", &j)
	}
	s.say(map[string]bool{"end": true})
	s.kind("end")
}
