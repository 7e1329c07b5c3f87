package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/coder/websocket"
)

// newcomer is a client that knows the address of the manifest and its form, and nothing else of the service.
type newcomer struct {
	t        *testing.T
	manifest signupManifest
	values   map[string]string // of placeholders
}

// signupManifest is the form of the manifest.
type signupManifest struct {
	Version int      `json:"manifest_version"`
	Quick   []string `json:"quickstart"`
	Flows   map[string]struct {
		Needs   []string
		Request struct {
			Method, URL string
			Headers     map[string]string
			Body        any
		}
		Saves   map[string]string
		Success []int
	}
	Realtime struct {
		WebSocket struct {
			URL   string
			Steps []struct {
				Send, Receive any
				Saves         map[string]string
			}
		}
		SocketIO struct {
			Raw struct {
				URL       string
				Heartbeat struct{ Receive, Answer string }
				Steps     []struct {
					Send    string
					Receive string `json:"receive_prefix"`
					Saves   map[string]string
				}
			} `json:"without_a_library"`
		}
	}
}

// arrive reads the manifest of a server.
func arrive(t *testing.T, base string, chosen map[string]string) *newcomer {
	t.Helper()
	p := &newcomer{t: t, values: chosen}
	if err := json.Unmarshal(p.request(http.MethodGet, base+"/.well-known/agent-signup", nil, nil, []int{http.StatusOK}), &p.manifest); err != nil {
		t.Fatal(err)
	}
	if p.manifest.Version != 1 {
		t.Fatalf("the manifest has the version %d", p.manifest.Version)
	}
	return p
}

func (p *newcomer) request(method, url string, headers map[string]string, body []byte, success []int) []byte {
	p.t.Helper()
	r, err := http.NewRequestWithContext(soon(p.t), method, url, bytes.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	for name, value := range headers {
		r.Header.Set(name, p.fill(value))
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		p.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	answer, err := io.ReadAll(res.Body)
	if err != nil || !slices.Contains(success, res.StatusCode) {
		p.t.Fatalf("%s %s answered %s, %v\n%s", method, url, res.Status, err, answer)
	}
	return answer
}

// fill puts values in the place of placeholders.
func (p *newcomer) fill(template string) string {
	for name, value := range p.values {
		template = strings.ReplaceAll(template, "{"+name+"}", value)
	}
	return template
}

// fillJSON does so in the texts of a JSON value.
func (p *newcomer) fillJSON(template any) []byte {
	p.t.Helper()
	text, err := json.Marshal(template)
	if err != nil {
		p.t.Fatal(err)
	}
	for name, value := range p.values {
		quoted, err := json.Marshal(value)
		if err != nil {
			p.t.Fatal(err)
		}
		text = bytes.ReplaceAll(text, []byte("{"+name+"}"), quoted[1:len(quoted)-1])
	}
	return text
}

// save takes values out of an answer by JSON pointers, none of which needs escaping.
func (p *newcomer) save(saves map[string]string, answer []byte) {
	p.t.Helper()
	for name, pointer := range saves {
		at := json.RawMessage(answer)
		for _, key := range strings.Split(pointer, "/")[1:] {
			var o map[string]json.RawMessage
			var list []json.RawMessage
			switch {
			case json.Unmarshal(at, &o) == nil:
				at = o[key]
			case json.Unmarshal(at, &list) == nil && key == "0" && len(list) > 0:
				at = list[0]
			default:
				p.t.Fatalf("%s has no %s", answer, pointer)
			}
		}
		var text string
		if json.Unmarshal(at, &text) != nil {
			text = string(at)
		}
		if text == "" {
			p.t.Fatalf("%s has nothing at %s", answer, pointer)
		}
		p.values[name] = text
	}
}

// follow takes one flow and returns its answer.
func (p *newcomer) follow(name string) []byte {
	p.t.Helper()
	f, ok := p.manifest.Flows[name]
	if !ok {
		p.t.Fatalf("the manifest has no flow %s", name)
	}
	for _, need := range f.Needs {
		if p.values[need] == "" {
			p.t.Fatalf("%s needs %s", name, need)
		}
	}
	var body []byte
	if f.Request.Body != nil {
		body = p.fillJSON(f.Request.Body)
	}
	answer := p.request(f.Request.Method, p.fill(f.Request.URL), f.Request.Headers, body, f.Success)
	p.save(f.Saves, answer)
	return answer
}

// dial opens a WebSocket.
func (p *newcomer) dial(url string) (read func() []byte, write func([]byte)) {
	p.t.Helper()
	c, _, err := websocket.Dial(soon(p.t), url, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	c.SetReadLimit(1 << 20)
	ctx, cancel := context.WithTimeout(p.t.Context(), wait)
	p.t.Cleanup(func() { cancel(); _ = c.CloseNow() })
	read = func() []byte {
		p.t.Helper()
		_, text, err := c.Read(ctx)
		if err != nil {
			p.t.Fatal(err)
		}
		return text
	}
	write = func(text []byte) {
		p.t.Helper()
		if err := c.Write(ctx, websocket.MessageText, text); err != nil {
			p.t.Fatal(err)
		}
	}
	return read, write
}

// talkPlain takes the steps of the plain format.
func (p *newcomer) talkPlain() {
	p.t.Helper()
	ws := p.manifest.Realtime.WebSocket
	read, write := p.dial(p.fill(ws.URL))
	for _, s := range ws.Steps {
		if s.Send != nil {
			write(p.fillJSON(s.Send))
			continue
		}
		for frame := read(); ; frame = read() {
			var got any
			if err := json.Unmarshal(frame, &got); err != nil {
				p.t.Fatal(err)
			}
			if holds(got, s.Receive) {
				p.save(s.Saves, frame)
				break
			}
		}
	}
}

// holds says whether a value has all members of another.
func holds(got, want any) bool {
	members, ok := want.(map[string]any)
	if !ok {
		return got == want
	}
	have, ok := got.(map[string]any)
	for name, v := range members {
		ok = ok && holds(have[name], v)
	}
	return ok
}

// talkRaw takes the steps of Socket.IO without a library.
func (p *newcomer) talkRaw() {
	p.t.Helper()
	raw := p.manifest.Realtime.SocketIO.Raw
	read, write := p.dial(p.fill(raw.URL))
	for _, s := range raw.Steps {
		if s.Send != "" {
			write([]byte(p.fill(s.Send)))
			continue
		}
		for frame := read(); ; frame = read() {
			if string(frame) == raw.Heartbeat.Receive {
				write([]byte(raw.Heartbeat.Answer))
			}
			if rest, ok := bytes.CutPrefix(frame, []byte(s.Receive)); ok {
				p.save(s.Saves, rest)
				break
			}
		}
	}
}

// TestManifest: a program that has nothing but the manifest signs up, connects, posts and reads back.
func TestManifest(t *testing.T) {
	t.Parallel()
	base := common(t).Base
	name := fresh("mani")
	p := arrive(t, base, map[string]string{"name": name, "description": `says "hello"`, "content": "hello by REST " + name, "client_id": "one",
		"room_name": fresh("den"), "display_name": "Mani"})
	for _, step := range p.manifest.Quick {
		p.follow(step)
	}
	lobby := p.values["agency_id"]
	if p.values["username"] != name || p.values["own_agency_id"] == "" || p.values["claim_url"] == "" {
		t.Errorf("it knows %v", p.values)
	}
	heard := map[string]string{"hello by REST " + name: p.values["message_id"]}
	for step, talk := range map[string]func(){"plain": p.talkPlain, "raw": p.talkRaw} {
		p.values["content"], p.values["client_id"] = "hello by "+step+" "+name, step
		talk()
		heard[p.values["content"]] = p.values["message_id"]
	}
	if !strings.HasPrefix(p.values["heard"], "hello") {
		t.Errorf("it heard %q", p.values["heard"])
	}
	found := string(p.follow("read"))
	for content, id := range heard {
		if id == "" || !strings.Contains(found, `"id":"`+id+`"`) || !strings.Contains(found, `"content":"`+content+`"`) {
			t.Errorf("%q is not in the history as %q:\n%s", content, id, found)
		}
	}
	for _, step := range []string{"who_am_i", "update_profile", "list_rooms", "join_room", "create_room", "post", "read", "find_lobby"} {
		p.follow(step)
	}
	if p.values["agency_id"] != lobby {
		t.Errorf("the Lobby was %s and is %s", lobby, p.values["agency_id"])
	}
	ann := user(t, common(t), "ann")
	g := ann.room(t, "secret", true)
	p.values["invite_code"] = must[struct{ Code string }](t, ann.API, http.MethodPost, "/api/agencies/"+g.ID+"/invites", nil).Code
	if p.follow("redeem_invite"); p.values["agency_id"] != g.ID {
		t.Errorf("the invite led to %s", p.values["agency_id"])
	}
	p.values["slug"] = g.Slug
	p.follow("find_room")
	for flow := range p.manifest.Flows {
		if !slices.Contains(append(slices.Clone(p.manifest.Quick), "who_am_i", "update_profile", "list_rooms", "join_room", "create_room", "redeem_invite", "find_room"), flow) {
			t.Errorf("the flow %s was not tried", flow)
		}
	}
}
