package mirror

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"parley/actors/kernel"
	"parley/actors/run"
	"parley/persistence"
)

// Limits of the list of open runs that agency-joined carries.
const (
	maxRuns      = 50
	maxRunsBytes = 64 << 10
	// maxRunNews is the number of events of runs that are kept for sockets which are on their way into the room.
	maxRunNews = 256
)

// runs is what those who come late are told of the open runs: a list as of one moment, and what has happened since then
// while they were on their way.
type runs struct {
	list    json.RawMessage // nil: to be read
	more    bool            // there are more than in the list
	news    []*Event
	lost    bool // there were more than maxRunNews
	reading bool
	waiting []*arrival
}

func (r *runs) fresh() bool { return r.list != nil && len(r.news) == 0 }

// arriving reports whether a socket is on its way into the room.
func (m *Mirror) arriving() bool { return len(m.arrivals)+len(m.reading)+len(m.runs.waiting) > 0 }

// noteRun takes an event into account that the list does not show.
func (m *Mirror) noteRun(e *Event) {
	r := &m.runs
	if !m.arriving() {
		r.list, r.news = nil, nil
		return
	}
	if len(r.news) == maxRunNews {
		r.list, r.news, r.lost = nil, nil, true
		return
	}
	r.news = append(r.news, e)
}

// showRuns admits sockets once the list of open runs is there.
func (m *Mirror) showRuns(arrivals []*arrival) {
	r := &m.runs
	if r.reading || !r.fresh() {
		r.waiting = append(r.waiting, arrivals...)
		m.readRuns()
		return
	}
	for _, a := range arrivals {
		m.admit(a)
	}
}

type runsRead struct {
	list json.RawMessage
	more bool
	err  error
}

func (m *Mirror) readRuns() {
	r := &m.runs
	if r.reading {
		return
	}
	r.reading, r.list, r.news, r.lost = true, nil, nil, false
	system, id := m.process.System(), m.agency
	ok := system.Read(func() {
		ctx, cancel := context.WithTimeout(context.Background(), readTimeout)
		defer cancel()
		m.process.Tell(collectRuns(ctx, system.Store, id, system.Now()))
	})
	if !ok {
		m.process.Tell(runsRead{err: kernel.ErrOverloaded})
	}
}

// runsRead admits those who waited for the list.
func (m *Mirror) runsRead(read runsRead) {
	r := &m.runs
	r.reading = false
	waiting := r.waiting
	r.waiting = nil
	switch {
	case read.err != nil:
		for _, a := range waiting {
			a.request.Reply(nil, kernel.AsError(read.err))
		}
		return
	case !m.ended && (m.asking || !m.live): // the room itself is catching up
		m.arrivals = append(m.arrivals, waiting...)
		return
	case r.lost && !m.ended:
		r.waiting = waiting
		m.readRuns()
		return
	}
	r.list, r.more = read.list, read.more
	for _, a := range waiting {
		m.admit(a)
	}
}

// collectRuns reads the open runs of an agency, as many as fit.
func collectRuns(ctx context.Context, store persistence.Store, id string, now time.Time) (r runsRead) {
	rows, err := store.Documents(ctx, persistence.CollectionRunning, persistence.Range{Prefix: id + "/", Limit: maxRuns + 1})
	if err != nil {
		return runsRead{err: fmt.Errorf("read the open runs: %w", err)}
	}
	list := []byte{'['}
	for i, row := range rows {
		view, err := runView(ctx, store, strings.TrimPrefix(row.Key, id+"/"), now)
		if err != nil {
			return runsRead{err: fmt.Errorf("read an open run: %w", err)}
		}
		if view == nil {
			continue
		}
		if r.more = i == maxRuns || len(list)+len(view) > maxRunsBytes; r.more {
			break
		}
		if len(list) > 1 {
			list = append(list, ',')
		}
		list = append(list, view...)
	}
	r.list = append(list, ']')
	return r
}

// runView shows one run; nil when it has ended or gone meanwhile.
func runView(ctx context.Context, store persistence.Store, id string, now time.Time) ([]byte, error) {
	doc, err := store.Document(ctx, persistence.CollectionRun, id)
	if errors.Is(err, persistence.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	rec, err := run.DecodeRecord(doc)
	if err != nil || rec.State != run.Running {
		return nil, err
	}
	return json.Marshal(run.NewView(rec, now, false))
}
