package rest

import (
	"context"
	"strings"
	"testing"
	"time"

	"parley/actors/platform"
	agentrun "parley/actors/run"
	"parley/transport/rest/scenario"
)

func sampleRun(id string) agentrun.View {
	return agentrun.NewView(&agentrun.Record{ID: id, AgencyID: "g1", Agent: agentrun.Agent{ID: "a1", Username: "my-bot", DisplayName: "My <Bot>"},
		State: agentrun.Interrupted, StartedAt: 1, EndedAt: 72_500, Trigger: "m1", Summary: "stopped",
		Permissions: []agentrun.Permission{{ID: "p1", Action: "delete", State: agentrun.Approved, AskedAt: 2, AnsweredAt: 3, AnsweredBy: "u1", Decision: "approve"}}},
		time.UnixMilli(100_000), true)
}

func (f *fake) Runs(_ context.Context, _ *platform.Identity, agencyID string, q platform.RunQuery) ([]agentrun.View, error) {
	f.note("Runs %s %d %d %q %q", agencyID, q.Limit, q.Offset, q.State, q.Agent)
	if f.empty {
		return nil, f.or(nil)
	}
	return []agentrun.View{sampleRun("r1")}, f.or(faults[agencyID])
}

// sampleTranscript is as an agent may send it: it comes back byte for byte.
const sampleTranscript = `[{"ts": 1.50,"type":"own", "tool":"<x>"}]`

func (f *fake) Run(_ context.Context, _ *platform.Identity, runID string) (*platform.RunDetail, error) {
	f.note("Run %s", runID)
	return &platform.RunDetail{View: sampleRun(runID), Transcript: []byte(sampleTranscript)}, f.or(faults[runID])
}

func TestRuns(t *testing.T) {
	const at = "/api/agencies/g1/runs"
	run(t, nil, []check{
		{step{Name: "list", URL: at, Token: userToken, Status: 200, Want: []string{`[{"id":"r1","runId":"r1"`, `"agent_username":"my-bot"`, `"agent":"my-bot"`,
			`"status":"interrupted"`, `"started_at":"1970-01-01T00:00:00.001Z"`, `"startedAt":"1970`, `"ended_at":"1970-01-01T00:01:12.500Z"`,
			`"duration":"1m 12s"`, `"summary":"stopped"`, `"error":null`, `"triggerMessageId":"m1"`}, WantNot: []string{"transcript"}}, `Runs g1 20 0 "" ""`},
		{step{Name: "page", URL: at + "?limit=1000&offset=5&status=running&agent=my-bot", Token: userToken, Status: 200}, `Runs g1 100 5 "running" "my-bot"`},
		{step{Name: "clamped", URL: at + "?limit=0&offset=-1", Token: userToken, Status: 200}, `Runs g1 1 0 "" ""`},
		{step{Name: "limit is no number", URL: at + "?limit=ten", Token: userToken, Status: 400, Want: []string{"limit must be a whole number"}}, "-"},
		{step{Name: "offset is no number", URL: at + "?offset=ten", Token: userToken, Status: 400, Want: []string{"offset must be a whole number"}}, "-"},
		{step{Name: "no member", URL: "/api/agencies/forbidden/runs", Token: userToken, Status: 403}, ""},
		{step{Name: "no agency", URL: "/api/agencies/absent/runs", Token: userToken, Status: 404}, ""},
		{step{Name: "get", URL: "/api/runs/r1", Token: userToken, Status: 200, Want: []string{`{"id":"r1"`, `,"transcript":` + sampleTranscript + "}",
			`"permissions":[{"permissionId":"p1","action":"delete"`, `"status":"approved"`}}, "Run r1"},
		{step{Name: "no run", URL: "/api/runs/absent", Token: userToken, Status: 404}, ""},
		{step{Name: "by nobody", URL: "/api/runs/r1", Status: 401}, "-"},
		{step{Name: "can't be written", Method: "DELETE", URL: "/api/runs/r1", Token: userToken, Status: 405, WantHeader: map[string]string{"Allow": "GET, HEAD, OPTIONS"}}, "-"},
	})
	run(t, func(b *bench, _ *Options) { b.empty = true }, []check{{Step: step{URL: at, Token: userToken, Status: 200, Want: []string{"[]"}}}})
}

// TestHeadOfRun: the length is the whole answer's.
func TestHeadOfRun(t *testing.T) {
	b := setUp(t, nil)
	body := scenario.Do(t, scenario.Handler(b.api), nil, step{URL: "/api/runs/r1", Token: userToken, Status: 200})
	if !strings.HasSuffix(string(body), sampleTranscript+"}\n") {
		t.Errorf("%s", body)
	}
}
