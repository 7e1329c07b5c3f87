package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"parley/e2e/client"
	"parley/e2e/process"
)

// skill reads the guide for agents and returns its fenced blocks of a language, joined.
func skill(t *testing.T, base, language string) string {
	t.Helper()
	p := newcomer{t: t}
	text := string(p.request(http.MethodGet, base+"/skill.md", nil, nil, []int{http.StatusOK}))
	var blocks []string
	for _, m := range regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllStringSubmatch(text, -1) {
		blocks = append(blocks, m[1])
	}
	if blocks == nil || strings.Contains(text, "<no value>") {
		t.Fatalf("the guide has no %s:\n%s", language, text)
	}
	return strings.Join(blocks, "\n")
}

// TestSkillCommands runs every command of the guide, in one shell that ends at the first failure.
func TestSkillCommands(t *testing.T) {
	t.Parallel()
	for _, needed := range []string{"bash", "curl"} {
		if _, err := exec.LookPath(needed); err != nil {
			t.Skipf("%s is not installed, so the commands of the guide can't be run", needed)
		}
	}
	base := common(t).Base
	name := fresh("skill")
	const before = "set -euo pipefail\ncurl() { command curl --fail-with-body --show-error \"$@\"; }\n"
	const after = "\necho; printf 'result %s\\n' \"$AGENT_TOKEN\" \"$TOKEN\" \"$LOBBY\" \"$ROOM\" \"$MESSAGE\" \"$CLAIM_URL\"\n"
	ctx, cancel := context.WithTimeout(t.Context(), 4*wait) // twenty processes, on a machine that may be busy
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", before+skill(t, base, "sh")+after)
	cmd.Dir = t.TempDir()
	cmd.Env = append(process.Environment(), "AGENT_NAME="+name, "HOME="+cmd.Dir)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("the commands fail: %v\n%s", err, out)
	}
	results := regexp.MustCompile(`(?m)^result (\S+)$`).FindAllStringSubmatch(string(out), -1)
	if len(results) != 6 {
		t.Fatalf("the commands leave %v\n%s", results, out)
	}
	kept, err := os.ReadFile(filepath.Join(cmd.Dir, "parley-token"))
	if err != nil || strings.TrimSpace(string(kept)) != results[0][1] {
		t.Errorf("the token file has %q, %v", kept, err)
	}
	api := client.API{Base: base, Token: results[1][1]}
	if got := me(t, api); got.Username != name {
		t.Errorf("the agent is %+v", got)
	}
	if g := must[client.Agency](t, api, http.MethodGet, "/api/agencies/"+results[3][1], nil); !g.Private || !g.IsMember {
		t.Errorf("the room is %+v", g)
	}
	refused(t, api, http.MethodPatch, "/api/agencies/"+results[2][1]+"/messages/"+results[4][1], map[string]string{"content": "x"}, 404) // deleted
}

// node finds a Node.js with WebSocket, and the flags that it needs for it.
func node(t *testing.T) []string {
	t.Helper()
	for _, command := range [][]string{{"node"}, {"node", "--experimental-websocket"}} {
		try := append(command[1:len(command):len(command)], "-e", "process.exit(typeof WebSocket === 'function' ? 0 : 1)")
		if exec.CommandContext(soon(t), command[0], try...).Run() == nil {
			return command
		}
	}
	t.Skip("there is no Node.js with WebSocket (22 or later), so the agent of the guide can't be run")
	return nil
}

// TestSkillAgent runs the agent of the guide: it answers whoever mentions it, minds the loop guard, and comes back after the
// server was killed, without missing a mention.
func TestSkillAgent(t *testing.T) {
	t.Parallel()
	command := node(t)
	s := own(t)
	api := client.API{Base: s.URL()}
	ann := user(t, api, "ann")
	bot, err := api.RegisterAgent(soon(t), fresh("bot"), "")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "agent.mjs")
	if err := os.WriteFile(file, []byte(skill(t, api.Base, "js")), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, command[0], append(command[1:], file)...)
	cmd.Env = append(process.Environment(), "AGENT_TOKEN="+bot.Agent.Token)
	var complaints strings.Builder
	cmd.Stderr, cmd.WaitDelay = &complaints, time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = cmd.Wait() // killed
		if t.Failed() {
			t.Logf("the agent says:\n%s", complaints.String())
		}
	})
	g := ann.room(t, "talk", false)
	must[json.RawMessage](t, ann.API, http.MethodPost, "/api/agencies/"+g.ID+"/agents", map[string]string{"username": bot.Agent.Username})
	socket := ann.plain(t)
	joined(t, socket, g)
	first := answered(t, ann, g, bot.Agent.Username)
	if first.SenderID != bot.Agent.ID || !strings.Contains(string(first.Metadata), `"hop":1`) {
		t.Fatalf("the answer is %+v", first)
	}
	if s.Kill() != nil || s.Restart(t.Context()) != nil {
		t.Fatal("the server can't be started again")
	}
	ann.API.Base, api.Base = s.URL(), s.URL()
	missed := ann.post(t, g, "@"+bot.Agent.Username+" are you back?")
	eventually(t, "an answer to what was said while the agent was away", func() bool { return answerTo(t, ann, g, missed.ID) != nil })
	over := must[client.Message](t, ann.API, http.MethodPost, "/api/agencies/"+g.ID+"/messages", map[string]any{"content": "@" + bot.Agent.Username,
		"metadata": map[string]any{"loop_guard": map[string]any{"interaction_id": "x", "hop": 20, "max_hops": 20, "status": "active"}}})
	last := ann.post(t, g, "and @"+strings.ToUpper(bot.Agent.Username)+"?")
	eventually(t, "an answer to the last", func() bool { return answerTo(t, ann, g, last.ID) != nil })
	if m := answerTo(t, ann, g, over.ID); m != nil {
		t.Errorf("it answered in a circle: %+v", m)
	}
}

// answered mentions an agent until it answers, since nobody sees when it has begun to listen.
func answered(t *testing.T, p person, g client.Agency, name string) client.Message {
	t.Helper()
	deadline := time.Now().Add(wait)
	for n := 0; time.Now().Before(deadline); n++ {
		asked := p.post(t, g, fmt.Sprintf("hello @%s, for the %d. time", name, n))
		for until := time.Now().Add(time.Second); time.Now().Before(until); time.Sleep(20 * time.Millisecond) {
			if m := answerTo(t, p, g, asked.ID); m != nil {
				return *m
			}
		}
	}
	t.Fatalf("%s did not answer within %s", name, wait)
	return client.Message{}
}

// answerTo finds the message that replies to another.
func answerTo(t *testing.T, p person, g client.Agency, id string) *client.Message {
	t.Helper()
	for _, m := range must[[]struct {
		client.Message
		ReplyTo string `json:"reply_to"`
	}](t, p.API, http.MethodGet, "/api/agencies/"+g.ID+"/messages?limit=20", nil) {
		if m.ReplyTo == id {
			return &m.Message
		}
	}
	return nil
}
