package e2e

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"parley/e2e/client"
)

// runEvent is an event of a run as a room gets it (clients.md 3.3).
type runEvent struct {
	RunID, AgencyID, AgentID, Username, DisplayName string
	Trigger                                         *string `json:"triggerMessageId"`
	Status, ToolCallID, Tool, Input, Output         string
	MessageID, Delta                                string
	Content                                         *string
	Done, Truncated                                 bool
	PermissionID, Action, Decision, Message         string
	Summary, Error                                  string
	Transcript                                      []json.RawMessage
}

// runner is an agent with the real client, which does one run.
type runner struct {
	*script
	client.Profile
	run  string
	room client.Agency
}

// agentIn makes an agent that registers itself and lets it into a room.
func agentIn(t *testing.T, api client.API, owner person, g client.Agency) (client.Profile, string) {
	t.Helper()
	r, err := api.RegisterAgent(soon(t), fresh("bot"), "")
	if err != nil {
		t.Fatal(err)
	}
	must[json.RawMessage](t, owner.API, http.MethodPost, "/api/agencies/"+g.ID+"/agents", map[string]string{"agentId": r.Agent.ID})
	s, err := api.Exchange(soon(t), r.Agent.Token)
	if err != nil {
		t.Fatal(err)
	}
	return r.Agent.Profile, s.Token
}

func (r *runner) emit(event string, data map[string]any) {
	r.t.Helper()
	r.say(map[string]any{"emit": "agent-run-" + event, "data": r.based(data)})
}

// based adds what agents send with each event. The identity is somebody else's: it is not to be believed.
func (r *runner) based(data map[string]any) map[string]any {
	data["runId"], data["agencyId"] = r.run, r.room.ID
	data["agentId"], data["username"], data["displayName"] = "forged", "forged", "Forged"
	return data
}

// heard are the events of a run that a socket has got, up to one of a name; streams are put together.
type heard struct {
	names []string
	last  runEvent
	text  map[string]string
}

func hear(t *testing.T, s *client.Socket, r *runner, until string, match func(runEvent) bool) heard {
	t.Helper()
	h := heard{text: map[string]string{}}
	_, err := s.Wait(soon(t), until, func(f client.Frame) bool {
		name, ofRun := strings.CutPrefix(f.Event, "agent-run-")
		if !ofRun {
			return false
		}
		h.last = runEvent{}
		if err := json.Unmarshal(f.Data, &h.last); err != nil {
			t.Fatal(err)
		}
		e := &h.last
		if f.Args != 1 || e.RunID != r.run || e.AgencyID != r.room.ID || e.AgentID != r.ID || e.Username != r.Username || e.DisplayName != r.DisplayName {
			t.Errorf("%s of somebody else: %.500s", f.Event, f.Data)
		}
		h.names = append(h.names, name)
		if name == "stream" {
			h.text[e.MessageID] += e.Delta
			if e.Content != nil {
				h.text[e.MessageID] = *e.Content
			}
		}
		return name == until && (match == nil || match(*e))
	})
	if err != nil {
		t.Fatalf("%v; heard %v", err, h.names)
	}
	return h
}

// TestRunOverSockets is the full run of clients.md 7.2.6, with the real client as the agent and one of each kind in the room.
func TestRunOverSockets(t *testing.T) {
	t.Parallel()
	api := common(t)
	ann, bob, eve := user(t, api, "ann"), user(t, api, "bob"), user(t, api, "eve")
	g := ann.room(t, "room", true)
	bot, token := agentIn(t, api, ann, g)
	r := &runner{script: runScript(t, "agent.js", map[string]any{"url": api.Base, "token": token}), Profile: bot, run: uuid.NewString(), room: g}
	r.kind("connect")
	plain, socketIO, stranger := ann.plain(t), ann.socketIO(t), eve.plain(t)
	watchers := []*client.Socket{plain, socketIO}
	for _, s := range watchers {
		if j := joined(t, s, g); len(j.Runs) != 0 {
			t.Errorf("runs before there are any: %+v", j.Runs)
		}
	}
	trigger := ann.post(t, g, "@bot do it")
	message, prompt := uuid.NewString(), uuid.NewString()

	// All of it in one go, without a room.
	r.emit("start", map[string]any{"triggerMessageId": trigger.ID})
	r.emit("status", map[string]any{"status": "thinking"})
	r.emit("tool-call", map[string]any{"toolCallId": "call 1", "tool": "/diff", "input": "a b", "status": "running"})
	r.say(map[string]any{"emit": "agent-run-tool-result", "big": map[string]any{"field": "output", "times": 1 << 20},
		"data": r.based(map[string]any{"toolCallId": "call 1", "tool": "/diff", "duration": "12ms", "status": "done"})})
	text := ""
	for range 100 {
		text += "some words "
		r.emit("stream", map[string]any{"messageId": message, "content": text, "delta": "some words ", "done": false})
	}
	r.emit("permission", map[string]any{"permissionId": prompt, "action": "delete", "description": "all of it"})

	for _, s := range watchers {
		h := hear(t, s, r, "permission", nil)
		if names := slices.Compact(h.names); marshal(t, names) != `["start","status","tool-call","tool-result","stream","permission"]` {
			t.Errorf("the room heard %v", names)
		}
		if h.text[message] != text || h.last.PermissionID != prompt || h.last.Status != "pending" || h.last.Action != "delete" {
			t.Errorf("%d bytes of %d; the prompt is %+v", len(h.text[message]), len(text), h.last)
		}
	}
	late := ann.plain(t)
	j := joined(t, late, g)
	if len(j.Runs) != 1 || j.Runs[0].ID != r.run || j.Runs[0].Agent != bot.Username || j.Runs[0].Status != "running" || j.Runs[0].LastStatus != "thinking" ||
		len(j.Runs[0].Permissions) != 1 || j.Runs[0].Permissions[0].ID != prompt {
		t.Errorf("who comes late sees %+v", j.Runs)
	}
	text += "and more"
	r.emit("stream", map[string]any{"messageId": message, "content": text, "delta": "and more", "done": false})
	if h := hear(t, late, r, "stream", nil); h.text[message] != text {
		t.Errorf("who comes late has %q", h.text[message])
	}

	answer := map[string]any{"runId": r.run, "permissionId": prompt, "decision": "approve", "message": "go on"}
	var ack client.Ack
	for _, who := range []*client.Socket{stranger, bob.plain(t)} {
		if err := who.Call(soon(t), "agent-run-permission-response", answer, &ack); err != nil || ack.OK {
			t.Errorf("a stranger's answer: %+v, %v", ack, err)
		}
	}
	if err := socketIO.Call(soon(t), "agent-run-permission-response", answer, &ack); err != nil || !ack.OK {
		t.Fatalf("%+v, %v", ack, err)
	}
	if a := decoded[runEvent](t, r.event("agent-run-permission-response")); a.RunID != r.run || a.PermissionID != prompt || a.Decision != "approve" || a.Message != "go on" {
		t.Errorf("the agent heard %+v", a)
	}
	r.emit("stream", map[string]any{"messageId": message, "content": "the final text", "done": true, "metadata": map[string]any{"skill": "x"}})
	r.emit("complete", map[string]any{"summary": "done it", "transcript": []any{map[string]any{"ts": 0, "type": "own", "n": 1.5}}})
	for _, s := range watchers {
		if h := hear(t, s, r, "permission", nil); h.last.Status != "approved" || h.last.PermissionID != prompt {
			t.Errorf("the prompt became %+v", h.last)
		}
		m := event[client.Message](t, s, "message")
		if m.ID != message || m.Content != "the final text" || m.SenderID != bot.ID || string(m.Metadata) != `{"run_id":"`+r.run+`","skill":"x"}` {
			t.Errorf("the message is %+v", m)
		}
		if h := hear(t, s, r, "complete", nil); h.last.Summary != "done it" || h.last.Status != "completed" || len(h.last.Transcript) != 1 {
			t.Errorf("complete is %+v", h.last)
		}
	}
	checkRun(t, ann, r, "completed", `[{"n":1.5,"ts":0,"type":"own"}]`)
	page := must[[]client.Message](t, ann.API, http.MethodGet, "/api/agencies/"+g.ID+"/messages?limit=1", nil)
	if len(page) != 1 || page[0].ID != message || !strings.Contains(string(page[0].Metadata), `"run_id":"`+r.run) {
		t.Errorf("the history has %+v", page)
	}
	refused(t, eve.API, http.MethodGet, "/api/runs/"+r.run, nil, http.StatusNotFound)
	for _, f := range slices.Concat(stranger.Log(), plain.Log()) {
		if f.Event == "agent-run-permission-response" || f.Event == "agent-run-interrupt" || f.Event == "error" {
			t.Errorf("somebody heard %s %.200s", f.Event, f.Data)
		}
	}
}

// checkRun reads a run over REST.
func checkRun(t *testing.T, who person, r *runner, status, transcript string) {
	t.Helper()
	got := must[struct {
		ID, RunID, Agent, Status, Duration string
		Transcript                         json.RawMessage
	}](t, who.API, http.MethodGet, "/api/runs/"+r.run, nil)
	if got.ID != r.run || got.RunID != r.run || got.Agent != r.Username || got.Status != status || got.Duration == "" || transcript != "" && string(got.Transcript) != transcript {
		t.Errorf("the run is %+v, with the transcript %.500s", got, got.Transcript)
	}
}

// TestRunSurvives: a run goes on after a kill -9 of the server, with what its agent said meanwhile, before it has joined a
// room; what was decided while the agent was away reaches it; stop reaches the agent alone.
func TestRunSurvives(t *testing.T) {
	t.Parallel()
	server := own(t)
	api := client.API{Base: server.URL()}
	ann := user(t, api, "ann")
	g := ann.room(t, "room", false)
	bot, token := agentIn(t, api, ann, g)
	wishes := map[string]any{"url": api.Base, "token": token}
	r := &runner{script: runScript(t, "agent.js", wishes), Profile: bot, run: uuid.NewString(), room: g}
	r.kind("connect")
	watch := func() *client.Socket {
		s := ann.socketIO(t)
		joined(t, s, g)
		return s
	}
	s, message := watch(), uuid.NewString()
	long := strings.Repeat("long ", 1000)
	r.emit("start", map[string]any{"triggerMessageId": nil})
	r.emit("stream", map[string]any{"messageId": message, "content": long, "delta": long, "done": false})
	r.emit("permission", map[string]any{"permissionId": "first", "action": "a", "description": "d"})
	hear(t, s, r, "permission", nil)

	if err := server.Kill(); err != nil {
		t.Fatal(err)
	}
	r.kind("disconnect")
	r.emit("status", map[string]any{"status": "said while away"})
	r.emit("stream", map[string]any{"messageId": message, "content": long + "more", "delta": "more", "done": false})
	if err := server.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	s = watch()
	r.kind("connect")
	r.emit("stream", map[string]any{"messageId": message, "content": long + "more and more", "delta": " and more", "done": false})
	h := hear(t, s, r, "stream", func(e runEvent) bool {
		return strings.HasSuffix(e.Delta, " and more") || e.Content != nil && strings.HasSuffix(*e.Content, " and more")
	})
	if h.text[message] != long+"more and more" {
		t.Errorf("after the restart the room has %d bytes", len(h.text[message]))
	}
	answer := map[string]any{"runId": r.run, "permissionId": "first", "decision": "deny"}
	var ack client.Ack
	r.say(map[string]bool{"end": true}) // the agent goes away, and is asked and told to stop meanwhile
	r.kind("end")
	if err := s.Call(soon(t), "agent-run-permission-response", answer, &ack); err != nil || !ack.OK {
		t.Fatalf("%+v, %v", ack, err)
	}
	if err := s.Call(soon(t), "agent-run-interrupt", map[string]any{"runId": r.run, "action": "stop"}, &ack); err != nil || !ack.OK {
		t.Fatalf("%+v, %v", ack, err)
	}
	crash(t, server)
	s = watch()
	r.script = runScript(t, "agent.js", wishes)
	var told []string
	for len(told) < 2 {
		_, l := r.until("what was decided", func(l said) bool { return l.is("agent-run-interrupt") || l.is("agent-run-permission-response") })
		told = append(told, l.Name)
	}
	if slices.Sort(told); told[0] != "agent-run-interrupt" || told[1] != "agent-run-permission-response" {
		t.Errorf("the agent heard %v", told)
	}
	r.emit("complete", map[string]any{"summary": "stopped", "transcript": []any{}})
	r.emit("status", map[string]any{"status": "too late"}) // no error: it would fail a join that waits
	r.say(map[string]any{"emit": "join-agency", "data": map[string]string{"agencyId": g.ID}})
	r.event("agency-joined")
	if e := hear(t, s, r, "complete", nil); e.last.Status != "interrupted" {
		t.Errorf("the end is %+v", e.last)
	}
	for _, l := range r.seen {
		if l.is("error") {
			t.Errorf("an error that nobody asked for: %s", l)
		}
	}
	for _, f := range s.Log() {
		if f.Event == "agent-run-interrupt" {
			t.Errorf("the room heard %s", f.Data)
		}
	}
	checkRun(t, ann, r, "interrupted", "")
}
