package platform

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"time"

	"parley/actors/account"
	"parley/actors/agency"
	"parley/actors/kernel"
	"parley/actors/run"
	"parley/persistence"
)

// runWatchEvery is the time between two looks at the open runs; a run ends that much later than it could at most.
const runWatchEvery = 10 * time.Second

// absences knows since when the agents of open runs have been gone. It begins anew with the server: while that was down
// nobody could have been there.
type absences struct {
	sync.Mutex
	since map[string]time.Time // account id
}

// look notes whether an agent is there, and returns for how long it has been gone.
func (a *absences) look(agent string, online bool, now time.Time) time.Duration {
	a.Lock()
	defer a.Unlock()
	if online {
		delete(a.since, agent)
		return 0
	}
	since, known := a.since[agent]
	if !known {
		if a.since == nil {
			a.since = map[string]time.Time{}
		}
		a.since[agent], since = now, now
	}
	return now.Sub(since)
}

// keep forgets all but those with open runs.
func (a *absences) keep(agents map[string]bool) {
	a.Lock()
	defer a.Unlock()
	for id := range a.since {
		if !agents[id] {
			delete(a.since, id)
		}
	}
}

// runWatcher looks after the open runs until the platform is closed.
func (p *Platform) runWatcher() {
	defer p.tasks.Done()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		select {
		case <-p.ended:
			cancel()
		case <-ctx.Done():
		}
	}()
	tick := time.NewTicker(runWatchEvery)
	defer tick.Stop()
	for {
		if err := p.WatchRuns(ctx); err != nil && ctx.Err() == nil {
			p.Log.Warn("open runs can't be looked after", "error", err)
		}
		select {
		case <-p.ended:
			return
		case <-tick.C:
		}
	}
}

// WatchRuns looks once at all open runs, and ends those whose agent has been gone for run.GoneFor, has said nothing for
// run.SilentFor, or is no member of the agency any more. The platform does it every ten seconds by itself.
func (p *Platform) WatchRuns(ctx context.Context) error {
	agents, after := map[string]bool{}, ""
	var failed error
	for {
		rows, err := p.Store.Documents(ctx, persistence.CollectionAgentRunning, persistence.Range{After: after, Limit: runPage})
		if err != nil {
			return kernel.AsError(err)
		}
		if len(rows) == 0 {
			break
		}
		for _, d := range rows {
			after = d.Key
			agent, runID, _ := strings.Cut(d.Key, "/")
			agents[agent] = true
			if err := p.watchRun(ctx, agent, runID, d.Data); err != nil {
				failed = errors.Join(failed, err) // one that can't be ended does not keep the others
			}
			if ctx.Err() != nil {
				return kernel.AsError(failed)
			}
		}
	}
	p.absent.keep(agents)
	if failed != nil {
		return kernel.AsError(failed)
	}
	return nil
}

func (p *Platform) watchRun(ctx context.Context, agent, runID string, doc []byte) error {
	life, err := run.DecodeLife(doc)
	if err != nil {
		return kernel.AsError(err)
	}
	now := p.Now()
	var command any
	switch {
	case p.absent.look(agent, p.Live.Online(agent), now) >= run.GoneFor:
		command = run.Abandon{Reason: run.Gone}
	case now.Sub(time.UnixMilli(life.Heard)) >= run.SilentFor:
		command = run.Abandon{Reason: run.Silent}
	default:
		if command, err = p.outsiderRun(ctx, agent, life.AgencyID); err != nil || command == nil {
			return err
		}
	}
	if err := p.tell(ctx, run.Ref(runID), command); err != nil && !gone(err) {
		return err
	}
	return nil
}

// outsiderRun returns what is to become of a run by whether its agent is still in the agency, and the agency is there.
func (p *Platform) outsiderRun(ctx context.Context, agent, agencyID string) (any, error) {
	if _, err := p.record(ctx, agencyID); gone(err) {
		return run.Purge{}, nil // it began while the agency was dissolved
	} else if err != nil {
		return nil, err
	}
	role, err := p.role(ctx, agent, agencyID)
	if err != nil || role != "" {
		return nil, err
	}
	return run.Abandon{Reason: run.Left}, nil
}

// doRunPost posts a message that a run promised.
func (p *Platform) doRunPost(ctx context.Context, data []byte) error {
	var post run.Post
	if err := json.Unmarshal(data, &post); err != nil {
		return err
	}
	_, err := kernel.Ask[*agency.Posted](ctx, p.Directory, agency.Ref(post.AgencyID), post.Command())
	if run.Hopeless(err) {
		return p.tell(ctx, run.Ref(post.Run), run.Fulfil{Entry: post.Entry()})
	}
	return err
}

// endRuns ends the open runs of an account that is being deleted.
func (p *Platform) endRuns(ctx context.Context, who account.Sender) error {
	prefix, after := who.ID+"/", ""
	for {
		rows, err := p.Store.Documents(ctx, persistence.CollectionAgentRunning, persistence.Range{Prefix: prefix, After: after, Limit: runPage})
		if err != nil || len(rows) == 0 {
			return err
		}
		for _, r := range rows {
			after = r.Key
			if err := p.tell(ctx, run.Ref(lastPart(r.Key)), run.Abandon{Reason: run.Deleted}); err != nil && !gone(err) {
				return err
			}
		}
	}
}

// purgeRuns deletes the runs of a dissolved agency.
func (p *Platform) purgeRuns(ctx context.Context, agencyID string) error {
	after := ""
	for {
		rows, err := p.Store.Documents(ctx, persistence.CollectionAgencyRun, persistence.Range{Prefix: agencyID + "/", After: after, Limit: runPage})
		if err != nil || len(rows) == 0 {
			return err
		}
		for _, r := range rows {
			after = r.Key
			if err := p.tell(ctx, run.Ref(lastPart(r.Key)), run.Purge{}); err != nil && !gone(err) {
				return err
			}
		}
	}
}
