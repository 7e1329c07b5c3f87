package run

import (
	"encoding/json"
	"fmt"
	"time"

	"parley/actors/agency"
	"parley/actors/kernel"
	"parley/persistence"
)

// Limits of an end.
const (
	MaxSummary = 16 << 10 // bytes of a summary or an error, as it is kept
	// GoneFor is how long an agent may be without a connection until its runs end (decision 32).
	GoneFor = 2 * time.Minute
	// SilentFor is how long an agent that is there may say nothing of a run until it ends: nobody works on it any more, as
	// after a crash of one of the agent's processes, and it would count against MaxOpenByAgent for ever.
	SilentFor = 6 * time.Hour
)

// Complete ends a run well, or as interrupted if it was stopped before. The first end counts.
type Complete struct {
	Summary    string
	Transcript Transcript // without one the server's own record stands in
}

// Fail ends a run with an error.
type Fail struct {
	Error      string
	Transcript Transcript // as for Complete
}

func (r *Run) complete(t *kernel.Turn, c Complete) {
	e := ending{State: Completed, Summary: agency.CutText(c.Summary, MaxSummary)}
	if r.s.Stopping {
		e.State = Interrupted
	}
	r.end(t, e, c.Transcript, func() { t.Reply(kernel.Done{}) })
}

func (r *Run) fail(t *kernel.Turn, c Fail) {
	r.end(t, ending{State: Failed, Error: agency.CutText(c.Error, MaxSummary)}, c.Transcript, func() { t.Reply(kernel.Done{}) })
}

// end commits the end of a run with its transcript, answers, and tells the room.
func (r *Run) end(t *kernel.Turn, e ending, transcript Transcript, answer func()) {
	_, at := t.Next()
	var c kernel.Change
	ok := transcript != nil
	name, kind, f := EventComplete, "complete", fields{"summary": e.Summary}
	if e.State == Failed {
		name, kind, f = EventError, "error", fields{"message": e.Error}
	}
	if e.Sent = ok; ok {
		c.Documents = append(r.dropEntries(), persistence.DocumentOp{Collection: persistence.CollectionTranscript, Key: r.s.ID, Data: transcript})
	} else {
		doc := r.entry(at, kind, f)
		e.Bytes = len(doc) + 1
		c.Documents = append(c.Documents, r.entryDocument(r.s.Entries, doc))
	}
	rec := r.s.ended(&e, at).Record
	c.Documents = append(append(c.Documents, documents(&rec)...), r.noLife())
	c.Events = []persistence.Event{event(evEnded, e)}
	told := fields{"summary": e.Summary, "status": e.State, "transcript": json.RawMessage("[]")}
	if e.State == Failed {
		told = fields{"error": e.Error, "status": e.State, "transcript": json.RawMessage("[]")}
	}
	if ok {
		told["transcript"] = json.RawMessage(transcript)
	}
	prompts := r.s.pending()
	t.Commit(c, func() {
		r.grown = nil
		answer()
		r.relayFates(prompts)
		r.relay(name, told)
	}, nil)
}

// noLife ends the watch over the run.
func (r *Run) noLife() persistence.DocumentOp {
	return persistence.DocumentOp{Collection: persistence.CollectionAgentRunning, Key: persistence.Key(r.s.Agent.ID, r.s.ID)}
}

// dropEntries deletes the own record.
func (r *Run) dropEntries() []persistence.DocumentOp {
	ops := make([]persistence.DocumentOp, 0, r.s.Entries+8)
	for i := range r.s.Entries {
		ops = append(ops, r.entryDocument(i, nil))
	}
	return ops
}

// Reason says why a run was ended without a word of its agent. It is the run's error.
type Reason string

// Reasons.
const (
	Gone    Reason = "the agent was gone for 2 minutes"
	Silent  Reason = "the agent said nothing of this run for 6 hours"
	Left    Reason = "the agent is no member of the agency any more"
	Deleted Reason = "the agent was deleted"
)

// Abandon ends a run that its agent can't or won't end. It answers with kernel.Done, also when there was nothing to end.
type Abandon struct{ Reason Reason }

func (r *Run) abandon(t *kernel.Turn, c Abandon) {
	silence := time.Duration(t.Now().UnixMilli()-r.heard) * time.Millisecond
	if r.s.State != Running || c.Reason == Silent && silence < SilentFor {
		t.AfterCommits(func() { t.Reply(kernel.Done{}) })
		return
	}
	r.end(t, ending{State: Failed, Error: string(c.Reason)}, nil, func() { t.Reply(kernel.Done{}) })
}

// Purge deletes what is stored of a run whose agency was dissolved. It answers with kernel.Done, also when there is nothing.
type Purge struct{}

func (r *Run) purge(t *kernel.Turn) {
	if r.s.State == "" {
		t.AfterCommits(func() { t.Reply(kernel.Done{}) })
		return
	}
	c := kernel.Change{Final: true, Events: []persistence.Event{event(evPurged, struct{}{})}, Documents: append(r.dropEntries(), r.noLife(),
		persistence.DocumentOp{Collection: persistence.CollectionTranscript, Key: r.s.ID})}
	for _, d := range documents(&r.s.Record) {
		d.Data = nil
		c.Documents = append(c.Documents, d)
	}
	t.Commit(c, func() { t.Reply(kernel.Done{}) }, nil)
}

// FormatDuration renders how long a run took, as clients show it (clients.md 4.6): 850ms, 12s, 1m 12s, 2h 5m, 3d 4h.
func FormatDuration(d time.Duration) string {
	switch d = max(d, 0); {
	case d < time.Second:
		return fmt.Sprintf("%dms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm %ds", int(d.Minutes()), int(d.Seconds())%60)
	case d < 24*time.Hour:
		return fmt.Sprintf("%dh %dm", int(d.Hours()), int(d.Minutes())%60)
	default:
		return fmt.Sprintf("%dd %dh", int(d.Hours())/24, int(d.Hours())%24)
	}
}
