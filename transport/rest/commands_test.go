package rest

import (
	"context"
	"strings"
	"testing"

	"parley/actors/command"
	"parley/actors/platform"
)

func (f *fake) Command(_ context.Context, i platform.Invoke) (command.Result, error) {
	f.note("Command %s %s|%s|%s|%s|%v", i.Who.ID, i.AgencyID, i.Message.Content, i.Message.Metadata, i.Message.ClientID, i.Silent)
	r := command.Unknown(i.Message.Content)
	if strings.HasPrefix(i.Message.Content, "/echo") {
		r = command.Result{OK: true, Command: "/echo", Content: "<hi>", Type: command.ToolResult, MessageID: "m1"}
	}
	return r, f.or(faults[i.AgencyID])
}

func TestPostedCommands(t *testing.T) {
	const at = "/api/agencies/g1/messages"
	run(t, nil, []check{
		{step{Name: "visible", URL: at, Token: userToken, Body: `{"content":"/echo <hi>","metadata":{"a":1},"client_id":"k"}`, Status: 200,
			Want: []string{`{"ok":true,"command":"/echo","content":"<hi>","type":"tool_result","messageId":"m1"}`}}, `Command u1 g1|/echo <hi>|{"a":1}|k|false`},
		{step{Name: "silent and unknown", URL: at, Token: userToken, Body: `{"content":"/frob","silent":true}`, Status: 200,
			Want: []string{`{"ok":false,"command":"/frob","content":"Unknown command /frob.","type":"system","ephemeral":true}`}}, `Command u1 g1|/frob|||true`},
		{step{Name: "silent is no truth value", URL: at, Token: userToken, Body: `{"content":"/frob","silent":"yes"}`, Status: 400, Want: []string{"silent must be true or false"}}, "-"},
		{step{Name: "an outsider", URL: "/api/agencies/absent/messages", Token: userToken, Body: `{"content":"/frob"}`, Status: 404}, ""},
		{step{Name: "overload", URL: "/api/agencies/overloaded/messages", Token: userToken, Body: `{"content":"/frob"}`, Status: 503, WantHeader: map[string]string{"Retry-After": "1"}}, ""},
		{step{Name: "nobody", URL: at, Body: `{"content":"/frob"}`, Status: 401}, "-"},
	})
}

func TestCommandLists(t *testing.T) {
	const all, page = "/api/commands", "/api/explore/commands"
	run(t, nil, []check{
		{step{Name: "all, without a credential", URL: all, Status: 200, Want: []string{`[{"name":"agency","command":"/agency",`, `"type":"builtin","source":"builtin"`, `"usage":"/roll [count]d\u003csides\u003e[+bonus]"`}}, "-"},
		{step{Name: "all, with a stale one", URL: all, Token: "stale", Status: 200}, "-"},
		{step{Name: "explore", URL: page, Status: 200, Want: []string{`{"commands":[{"name":"agency"`, `"/whoami"`}}, "-"},
		{step{Name: "search", URL: page + "?q=DICE&limit=5", Status: 200, Want: []string{`"/roll"`}, WantNot: []string{`"/help"`}}, "-"},
		{step{Name: "search for nothing", URL: page + "?q=zzzz", Status: 200, Want: []string{`{"commands":[]}`}}, "-"},
		{step{Name: "second page", URL: page + "?limit=1&offset=1", Status: 200, Want: []string{`{"commands":[{"name":"agent"`}, WantNot: []string{`"/agency"`, `"/ban"`}}, "-"},
		{step{Name: "behind the end", URL: page + "?offset=1000", Status: 200, Want: []string{`{"commands":[]}`}}, "-"},
		{step{Name: "clamped", URL: page + "?limit=-5&offset=-1", Status: 200, Want: []string{`"/agency"`}, WantNot: []string{`"/ban"`}}, "-"},
		{step{Name: "no number", URL: page + "?limit=x", Status: 400}, "-"},
	})
}
