package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"parley/e2e/client"
)

// result is the answer to a command (clients.md 3.4).
type result struct {
	OK        bool    `json:"ok"`
	Command   string  `json:"command"`
	Content   *string `json:"content"`
	Type      string  `json:"type"`
	Ephemeral bool    `json:"ephemeral"`
	MessageID string  `json:"messageId"`
}

func (r result) text() string {
	if r.Content == nil {
		return "\x00null"
	}
	return *r.Content
}

var tokenForm = regexp.MustCompile(`sk_[0-9a-f]{48}`)

// TestCommandsSocketIO: commands with the real client, from an agent's creation to the exchange of its token.
func TestCommandsSocketIO(t *testing.T) {
	t.Parallel()
	api := common(t)
	ann := user(t, api, "ann")
	g := ann.room(t, "room", false)
	name := fresh("bot")
	steps := []struct {
		Content string `json:"content"`
		Silent  bool   `json:"silent"`
		Ack     bool   `json:"ack"`
		Private bool   `json:"private"`
		want    string
	}{
		{Content: "/echo hello there", Ack: true, Silent: true, want: "hello there"},
		{Content: "/echo hello there", Ack: true, want: "hello there"},
		{Content: "/roll 2d6", want: `2d6: [1-6] \+ [1-6] = \d+`},
		{Content: "/help", Ack: true, Silent: true, want: `(?s)/agency — .*/whoami — .*`},
		{Content: "/whoami", want: `You are .*`},
		{Content: "/agent create " + name + " coder", Ack: true, Private: true, want: `(?s)Created the agent .*`},
		{Content: "/agent verify " + name, want: `(?s)The agent .*`},
		{Content: "/frobnicate", want: `Unknown command /frobnicate\.`},
		{Content: "/get none", Ack: true, Private: true, want: `There is no such note\.`},
		{Content: "/save repo ann/reef main", Ack: true, want: `Saved repo\.`},
		{Content: "/get repo", Ack: true, Silent: true, want: `ann/reef main`},
		{Content: "/custom", Ack: true, Silent: true, want: `.*no custom.*`},
		{Content: "/who", Ack: true, Silent: true, want: `(?s).*\b` + name + ` \[agent\] — agent.*`},
	}
	atOnce := []string{"/echo 1", "/ping", "/save a b", "/get a", "/echo 2"}
	s := runScript(t, "commands.js", map[string]any{"url": api.Base, "token": ann.Token, "room": g.ID, "steps": steps, "atOnce": atOnce})
	var tokens []string
	for i, step := range steps {
		part := s.part(fmt.Sprint("step ", i))
		messages := slices.DeleteFunc(slices.Clone(part), func(l said) bool { return !l.is("message") })
		acks := slices.DeleteFunc(slices.Clone(part), func(l said) bool { return l.Kind != "ack" })
		visible := !step.Silent && !step.Private
		if (len(acks) == 1) != step.Ack || (len(messages) == 1) != visible {
			t.Fatalf("%s: %v", step.Content, part)
		}
		var content string
		for _, l := range messages {
			content = decoded[client.Message](t, l).Content
		}
		for _, l := range acks {
			r := decoded[result](t, l)
			content = r.text()
			if (r.MessageID != "") != visible || r.Type == "" || !strings.HasPrefix(step.Content, r.Command) {
				t.Errorf("%s is acked with %s", step.Content, l)
			}
		}
		if step.Ack && visible && part[0].Kind != "ack" {
			t.Errorf("%s is seen in the room before it is acked", step.Content)
		}
		if !regexp.MustCompile(`^` + step.want + `$`).MatchString(content) {
			t.Errorf("%s says %q, want %q", step.Content, content, step.want)
		}
		if found := tokenForm.FindString(content); found != "" {
			tokens = append(tokens, found)
		}
	}
	checkAtOnce(t, s, atOnce)
	if len(tokens) != 2 || tokens[0] != tokens[1] {
		t.Fatalf("the agent's tokens are %v", tokens)
	}
	bot, err := api.Exchange(soon(t), tokens[0])
	if err != nil || bot.User.Username != name {
		t.Fatal(bot, err)
	}
	history, err := api.As(bot.Token).History(soon(t), g.ID)
	if err != nil || len(history) != 3 {
		t.Errorf("%d messages, %v", len(history), err)
	}
	for _, m := range history {
		if tokenForm.MatchString(m.Content) || m.SenderID != ann.ID || m.Type != "tool_result" {
			t.Errorf("the room has %+v", m)
		}
	}
}

// checkAtOnce: commands that were sent without waiting are answered in their order, each after the one in front.
func checkAtOnce(t *testing.T, s *script, contents []string) {
	t.Helper()
	part := only(t, s.part("at once"), "ack", len(contents))
	for i, want := range []string{"1", "pong", "Saved a.", "b", "2"} {
		if r := decoded[result](t, part[i]); part[i].Name != contents[i] || !r.OK || r.text() != want {
			t.Errorf("%s is acked as number %d with %s", part[i].Name, i, part[i])
		}
	}
}

// TestCommandsInBothFormats: silent or not, with an ack or without, seen by the sender and by another.
func TestCommandsInBothFormats(t *testing.T) {
	t.Parallel()
	api := common(t)
	for name, dial := range map[string]dialer{"plain": client.DialPlain, "Socket.IO": client.DialSocketIO} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ann, bob := user(t, api, "ann"), user(t, api, "bob")
			g := ann.room(t, "room", false)
			mine, other := opened(t, dial, api.Base, ann.Token), opened(t, dial, api.Base, bob.Token)
			joined(t, mine, g)
			joined(t, other, g)
			send := func(content string, silent bool) result {
				t.Helper()
				var r result
				if err := mine.Call(soon(t), "send-message", map[string]any{"agencyId": g.ID, "content": content, "silent": silent}, &r); err != nil {
					t.Fatal(err)
				}
				return r
			}
			emit := func(content string, silent bool) {
				t.Helper()
				if err := mine.Emit("send-message", map[string]any{"agencyId": g.ID, "content": content, "silent": silent}); err != nil {
					t.Fatal(err)
				}
			}
			if r := send("/echo hush", true); !r.OK || r.text() != "hush" || r.MessageID != "" {
				t.Errorf("%+v", r)
			}
			r := send("/me waves", false)
			for _, s := range []*client.Socket{mine, other} {
				if m := message(t, s, "waves"); m.ID != r.MessageID || m.Type != "action" || m.SenderID != ann.ID || !strings.Contains(string(m.Metadata), `"command":"/me"`) {
					t.Errorf("%+v", m)
				}
			}
			emit("/echo aloud", false)
			message(t, other, "aloud")
			emit("/echo into the void", true)
			emit("/ping", false)
			if m := message(t, mine, "pong"); m.SenderID != "system" || string(m.Metadata) != `{"ephemeral":true}` || m.AgencyID != g.ID {
				t.Errorf("%+v", m)
			}
			emit("/roll d0", false)
			if m := message(t, mine, "Roll 1 to 100 dice of 2 to 1000 sides, with a bonus of at most 10000."); m.Type != "system" {
				t.Errorf("%+v", m)
			}
			for _, hostile := range []string{"/echo " + strings.Repeat("x", 16_000), "/" + strings.Repeat(`"`, 15_000), "/roll 99999999d99999999", "/agent customize " + strings.Repeat("--a ", 3900), "/\u202e\u200b"} {
				if r := send(hostile, false); r.OK || r.text() == "" {
					t.Errorf("%.20q: %+v", hostile, r)
				}
			}
			send("/kick "+bob.Username+" --reason done", false)
			event[json.RawMessage](t, other, "agency-left")
			if r := send("the end", false); !r.OK {
				t.Errorf("%+v", r)
			}
			message(t, mine, "the end")
			for _, s := range []*client.Socket{mine, other} {
				var seen []string
				for _, f := range s.Log() {
					var m client.Message
					if f.Event == "error" || f.Event == "message" && json.Unmarshal(f.Data, &m) != nil {
						t.Errorf("%s %s", f.Event, f.Data)
					}
					if f.Event == "message" && m.SenderID != "system" {
						seen = append(seen, m.Content)
					}
				}
				if !slices.Equal(seen[:2], []string{"waves", "aloud"}) || s == other && slices.Contains(seen, "the end") {
					t.Errorf("%v", seen)
				}
			}
		})
	}
}

// TestCommandsREST: a command posted over REST, as a member and as nobody, and the lists of commands; notes outlive a kill.
func TestCommandsREST(t *testing.T) {
	t.Parallel()
	server := own(t)
	api := client.API{Base: server.URL()}
	ann, eve := user(t, api, "ann"), user(t, api, "eve")
	g := ann.room(t, "room", true)
	at := "/api/agencies/" + g.ID + "/messages"
	post := func(content string, silent bool) result {
		t.Helper()
		return must[result](t, ann.API, http.MethodPost, at, map[string]any{"content": content, "silent": silent})
	}
	if r := post("/echo hi", false); !r.OK || r.MessageID == "" || r.Type != "tool_result" || r.Command != "/echo" {
		t.Errorf("%+v", r)
	}
	if r := post("/save repo ann/reef main", true); !r.OK || r.MessageID != "" {
		t.Errorf("%+v", r)
	}
	if r := post("/agency create Ann's Reef", false); !r.OK || !r.Ephemeral || !strings.Contains(r.text(), "ann-s-reef") {
		t.Errorf("%+v", r)
	}
	if _, err := ann.Agency(soon(t), "ann-s-reef"); err != nil {
		t.Error(err)
	}
	if r := post("/frob", false); r.OK || !r.Ephemeral || r.text() == "" {
		t.Errorf("%+v", r)
	}
	refused(t, eve.API, http.MethodPost, at, map[string]string{"content": "/who"}, http.StatusNotFound)
	refused(t, ann.API, http.MethodPost, at, map[string]string{"content": "/echo " + strings.Repeat("x", 16_000)}, http.StatusBadRequest)
	if err := server.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := server.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r := post("/get repo", true); !r.OK || r.text() != "ann/reef main" {
		t.Errorf("%+v", r)
	}
	history, err := ann.History(soon(t), g.ID)
	if err != nil || len(history) != 1 || history[0].Content != "hi" {
		t.Errorf("%+v, %v", history, err)
	}

	type listed struct{ Name, Command, Description, Type, Source string }
	all := must[[]listed](t, api, http.MethodGet, "/api/commands", nil)
	found := must[struct{ Commands []listed }](t, api, http.MethodGet, "/api/explore/commands?q=dice", nil)
	var help []string
	for _, c := range all {
		help = append(help, c.Command+" — "+c.Description)
	}
	if len(found.Commands) != 1 || found.Commands[0].Name != "roll" || found.Commands[0].Type == "" || found.Commands[0].Source == "" || post("/help", true).text() != strings.Join(help, "\n") {
		t.Errorf("%+v, %+v", all, found)
	}
}
