package platform

import (
	"context"
	"errors"
	"strings"

	"parley/actors/agency"
	"parley/actors/kernel"
	"parley/actors/run"
	"parley/persistence"
)

// Limits of listings of runs (clients.md 2.3).
const (
	DefaultRuns = 20
	MaxRuns     = 100
	// maxRunRows is the number of runs that one listing looks through, newest first; what lies behind is not found.
	maxRunRows = 10_000
	runPage    = 500
)

func noRun() error { return kernel.NotFound("there is no such run") }

// StartRun begins a run of the caller's, an agent; trigger is the id of a message or empty. The same again is fine.
func (p *Platform) StartRun(ctx context.Context, id *Identity, runID, agencyID, trigger string) error {
	start := run.Start{Who: id.Sender, AgencyID: agencyID, Trigger: trigger}
	if err := run.MayStart(ctx, p.Store, runID, start); err != nil {
		return kernel.AsError(err)
	}
	return p.tell(ctx, run.Ref(runID), start)
}

// ActRun does something to a run: what is one of those that run.Act lists.
func (p *Platform) ActRun(ctx context.Context, id *Identity, runID string, what any) error {
	if !run.IsID(runID) {
		return noRun()
	}
	return p.tell(ctx, run.Ref(runID), run.Act{Who: id.Sender, What: what})
}

// RunQuery selects runs of an agency.
type RunQuery struct {
	Limit, Offset int    // Limit 0 means DefaultRuns
	State         string // one of the states; empty for all
	Agent         string // id or name of the agent; empty for all
}

// Runs lists an agency's runs, newest first; members may.
func (p *Platform) Runs(ctx context.Context, id *Identity, agencyID string, q RunQuery) ([]run.View, error) {
	if q.State != "" && !run.IsState(q.State) {
		return nil, kernel.Invalid("status must be running, completed, error or interrupted")
	}
	if _, _, err := p.membership(ctx, id, agencyID); err != nil {
		return nil, err
	}
	if q.Limit == 0 {
		q.Limit = DefaultRuns
	}
	q.Limit, q.Offset = min(max(q.Limit, 1), MaxRuns), max(q.Offset, 0)
	agent, err := p.agentNamed(ctx, q.Agent)
	if err != nil {
		return nil, err
	}
	ids, err := p.runIDs(ctx, agencyID, agent, q)
	if err != nil {
		return nil, err
	}
	return p.runViews(ctx, ids, false)
}

// agentNamed turns the name of an agent into its id; what is no name is taken for an id.
func (p *Platform) agentNamed(ctx context.Context, name string) (string, error) {
	if name == "" {
		return "", nil
	}
	claim, err := p.Store.Claim(ctx, persistence.ClaimUsername, strings.ToLower(strings.TrimPrefix(name, "@")))
	switch {
	case err == nil:
		return claim.Owner, nil
	case errors.Is(err, persistence.ErrNotFound), errors.Is(err, persistence.ErrTooLarge):
		return name, nil
	default:
		return "", kernel.AsError(err)
	}
}

// runIDs finds the ids of a page of a listing.
func (p *Platform) runIDs(ctx context.Context, agencyID, agent string, q RunQuery) ([]string, error) {
	var ids []string
	skip := q.Offset
	r := persistence.Range{Prefix: agencyID + "/", Limit: runPage, Reverse: true}
	for seen := 0; seen < maxRunRows; {
		rows, err := p.Store.Documents(ctx, persistence.CollectionAgencyRun, r)
		if err != nil {
			return nil, kernel.AsError(err)
		}
		if len(rows) == 0 {
			break
		}
		seen += len(rows)
		r.Before = rows[len(rows)-1].Key
		for _, d := range rows {
			row, err := run.DecodeRow(d.Data)
			if err != nil {
				return nil, kernel.AsError(err)
			}
			switch {
			case q.State != "" && string(row.State) != q.State || agent != "" && row.AgentID != agent:
			case skip > 0:
				skip--
			default:
				ids = append(ids, lastPart(d.Key))
			}
			if len(ids) == q.Limit {
				return ids, nil
			}
		}
	}
	return ids, nil
}

func lastPart(key string) string { return key[strings.LastIndexByte(key, '/')+1:] }

// runRecord returns a run, or CodeNotFound.
func (p *Platform) runRecord(ctx context.Context, runID string) (*run.Record, error) {
	if !run.IsID(runID) {
		return nil, noRun()
	}
	doc, err := p.Store.Document(ctx, persistence.CollectionRun, runID)
	if errors.Is(err, persistence.ErrNotFound) {
		return nil, noRun()
	}
	if err != nil {
		return nil, kernel.AsError(err)
	}
	r, err := run.DecodeRecord(doc)
	if err != nil {
		return nil, kernel.AsError(err)
	}
	return r, nil
}

// runViews shows runs; those that have gone meanwhile are left out. all shows all requests for permission.
func (p *Platform) runViews(ctx context.Context, ids []string, all bool) ([]run.View, error) {
	views := make([]run.View, 0, len(ids))
	alive := map[string]bool{}
	for _, id := range ids {
		r, err := p.runRecord(ctx, id)
		if gone(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		v, err := p.runView(ctx, r, all, alive)
		if err != nil {
			return nil, err
		}
		views = append(views, *v)
	}
	return views, nil
}

// runView shows a run; one of a deleted agent as that of a deleted account (decision 9). alive remembers accounts.
func (p *Platform) runView(ctx context.Context, r *run.Record, all bool, alive map[string]bool) (*run.View, error) {
	known, seen := alive[r.Agent.ID]
	if !seen {
		_, err := p.Profile(ctx, r.Agent.ID)
		if err != nil && !gone(err) {
			return nil, err
		}
		known = err == nil
		alive[r.Agent.ID] = known
	}
	if !known {
		r.Agent.Username, r.Agent.DisplayName = deletedName, agency.DeletedDisplayName
	}
	v := run.NewView(r, p.Now(), all)
	return &v, nil
}

// RunningRuns lists the open runs of an agency for those who come late, with what they are at and what they ask for;
// members may. There are about run.MaxOpenByAgency at most.
func (p *Platform) RunningRuns(ctx context.Context, id *Identity, agencyID string) ([]run.View, error) {
	if _, _, err := p.membership(ctx, id, agencyID); err != nil {
		return nil, err
	}
	rows, err := p.Store.Documents(ctx, persistence.CollectionRunning, persistence.Range{Prefix: agencyID + "/", Limit: 2 * run.MaxOpenByAgency})
	if err != nil {
		return nil, kernel.AsError(err)
	}
	ids := make([]string, len(rows))
	for i, d := range rows {
		ids[i] = lastPart(d.Key)
	}
	return p.runViews(ctx, ids, false)
}

// RunDetail is a run with its transcript.
type RunDetail struct {
	run.View
	Transcript []byte // a JSON array, up to about run.MaxTranscript
}

// Run returns a run with its transcript: the one that its agent sent, or the server's own record of it, in the same shapes
// (clients.md 3.5.4). Members of the agency may see it, the agent itself and the agent's owner; for all others it does not
// exist.
func (p *Platform) Run(ctx context.Context, id *Identity, runID string) (*RunDetail, error) {
	r, err := p.runRecord(ctx, runID)
	if err != nil {
		return nil, err
	}
	sees, err := run.MaySee(ctx, p.Store, r, id.ID)
	if err != nil {
		return nil, kernel.AsError(err)
	}
	if !sees {
		return nil, noRun()
	}
	for {
		transcript, err := p.transcript(ctx, r)
		if err != nil && !gone(err) {
			return nil, err
		}
		now, again := p.runRecord(ctx, runID)
		if again != nil {
			return nil, again
		}
		if now.State != r.State { // it ended while it was read
			r = now
			continue
		}
		if err != nil {
			return nil, err
		}
		v, err := p.runView(ctx, now, true, map[string]bool{})
		if err != nil {
			return nil, err
		}
		return &RunDetail{View: *v, Transcript: transcript}, nil
	}
}

func (p *Platform) transcript(ctx context.Context, r *run.Record) ([]byte, error) {
	if r.Sent {
		doc, err := p.Store.Document(ctx, persistence.CollectionTranscript, r.ID)
		if errors.Is(err, persistence.ErrNotFound) {
			return nil, noRun()
		}
		if err != nil {
			return nil, kernel.AsError(err)
		}
		return doc, nil
	}
	list, after := []byte{'['}, ""
	for {
		rows, err := p.Store.Documents(ctx, persistence.CollectionRunEntry, persistence.Range{Prefix: r.ID + "/", After: after})
		if err != nil {
			return nil, kernel.AsError(err)
		}
		if len(rows) == 0 {
			break
		}
		for _, d := range rows {
			if after = d.Key; len(list) > 1 {
				list = append(list, ',')
			}
			list = append(list, d.Data...)
		}
	}
	return append(list, ']'), nil
}
