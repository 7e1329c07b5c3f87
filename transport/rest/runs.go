package rest

import (
	"bytes"
	"fmt"
	"net/http"

	"parley/actors/kernel"
	"parley/actors/platform"
	"parley/transport/resource"
	"parley/transport/rest/openapi"
)

// Sizes of a page of runs (clients.md 2.3).
const (
	defaultRuns = 20
	maxRuns     = 100
)

// maxTranscripts is how many runs with their transcripts are sent at once; the next ones wait. Each is in memory, up to
// agentrun.MaxTranscript, while its client reads it, and a client may read as slowly as the server's deadlines let it.
const maxTranscripts = 64

func (a *API) bindRuns(t *table) {
	t.add(http.MethodGet, "/api/agencies/{id}/runs", Required, a.listRuns).doc(op{
		Tag: tagRuns, Summary: "The runs of an agency", About: "For members. The newest first.",
		Query: []param{
			{Name: "limit", Schema: openapi.Int(1, maxRuns), About: fmt.Sprintf("How many at most; %d without it.", defaultRuns)},
			{Name: "offset", Schema: openapi.Int(0, maxOffset), About: "How many to pass over."},
			{Name: "status", Schema: runStateSchema, About: "Only those in this state."},
			{Name: "agent", Schema: openapi.Text(0, MaxQueryValue), About: "Only those of this agent, by id or name."},
		},
		Answers: ok(openapi.List(runSchema)), Errors: []answer{fails(http.StatusForbidden, "You are no member.")},
	})
	t.add(http.MethodGet, "/api/runs/{runId}", Required, a.getRun).doc(op{
		Tag: tagRuns, Summary: "A run with its transcript", About: "For members of its agency, its agent and that one's owner. While it runs, the transcript is what the server has recorded.",
		Answers: ok(runSchema.With(has("transcript", openapi.List(openapi.Map(openapi.Any())), "As the agent sent it.")).Named("RunWithTranscript", "A run and what was done in it.")),
	})
}

var runStateSchema, runSchema = resource.RunState, resource.Run

func (a *API) listRuns(c *call) error {
	q, err := runQuery(c.query())
	if err != nil {
		return err
	}
	found, err := a.o.Service.Runs(c.ctx(), c.id, c.param("id"), q)
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, list(found))
}

// getRun answers the run on one level with its transcript, which goes out as it is stored: it may have megabytes.
func (a *API) getRun(c *call) error {
	select {
	case a.transcripts <- struct{}{}:
		defer func() { <-a.transcripts }()
	case <-c.ctx().Done():
		return kernel.ErrOverloaded
	}
	found, err := a.o.Service.Run(c.ctx(), c.id, c.param("runId"))
	if err != nil {
		return err
	}
	head, err := object(found.View)
	if err != nil {
		return err
	}
	head = append(bytes.TrimSuffix(head, []byte("}")), `,"transcript":`...)
	return c.answer(http.StatusOK, pieces{head, found.Transcript, []byte("}\n")})
}

func runQuery(q *query) (platform.RunQuery, error) {
	r := platform.RunQuery{
		Limit:  q.Int("limit", defaultRuns, 1, maxRuns),
		Offset: q.Int("offset", 0, 0, maxOffset),
		State:  q.Text("status"),
		Agent:  q.Text("agent"),
	}
	return r, q.Err()
}
