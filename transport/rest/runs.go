package rest

import (
	"bytes"
	"net/http"

	"parley/actors/platform"
)

// Sizes of a page of runs (clients.md 2.3).
const (
	defaultRuns = 20
	maxRuns     = 100
)

func (a *API) bindRuns(t *table) {
	t.add(http.MethodGet, "/api/agencies/{id}/runs", Required, a.listRuns)
	t.add(http.MethodGet, "/api/runs/{runId}", Required, a.getRun)
}

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
