package run

import (
	"encoding/json"
	"fmt"

	"parley/actors/kernel"
	"parley/persistence"
)

// Limits of the server's own record of a run, which is what there is to read until the agent sends its transcript, and
// after that if it sends none. It bounds a run that never ends, too.
const (
	MaxEntries = 2000                 // besides the marker and the last one
	maxRecord  = MaxTranscript - room // bytes
	room       = 128 << 10            // bytes kept free for the marker and the last entry
)

// fields are what an entry or an event has besides what all have.
type fields map[string]any

// entry makes an entry of the own record, in the shape in which agents send theirs (clients.md 3.5.4). ts are ms since the
// start.
func (r *Run) entry(now int64, kind string, f fields) []byte {
	e := make(fields, len(f)+2)
	for k, v := range f {
		e[k] = v
	}
	e["ts"], e["type"] = max(0, now-r.s.StartedAt), kind
	return encode(e)
}

// record adds to a change what happened, as the next entry of the own record. It returns the bytes that it takes, and
// whether it was the last for which there was room.
func (r *Run) record(c *kernel.Change, now int64, kind string, f fields) (n int, full bool) {
	if r.s.Full {
		return 0, false
	}
	doc := r.entry(now, kind, f)
	if r.s.Entries >= MaxEntries || r.s.Bytes+len(doc)+1 > maxRecord {
		doc, full = marker(now-r.s.StartedAt, 0), true
	}
	c.Documents = append(c.Documents, r.entryDocument(r.s.Entries, doc))
	return len(doc) + 1, full
}

func (r *Run) entryDocument(n int, doc []byte) persistence.DocumentOp {
	return persistence.DocumentOp{Collection: persistence.CollectionRunEntry, Key: persistence.SeqKey(r.s.ID, uint64(n)), Data: doc}
}

// Life is the document by which running runs are watched: key agent's account id / run id.
type Life struct {
	AgencyID string `json:"g"`
	Heard    int64  `json:"t"` // ms; may lag behind by touchEvery
}

// DecodeLife reads the document.
func DecodeLife(doc []byte) (Life, error) {
	var l Life
	if err := json.Unmarshal(doc, &l); err != nil {
		return l, fmt.Errorf("life of a run: %w", err)
	}
	return l, nil
}

func (r *Run) lifeDocument(rec *Record, heard int64) persistence.DocumentOp {
	return persistence.DocumentOp{Collection: persistence.CollectionAgentRunning, Key: persistence.Key(rec.Agent.ID, rec.ID),
		Data: encode(Life{AgencyID: rec.AgencyID, Heard: heard})}
}

// Row is the document of a run in the listing of its agency.
type Row struct {
	AgentID string `json:"a"`
	State   State  `json:"s"`
}

// DecodeRow reads the document.
func DecodeRow(doc []byte) (Row, error) {
	var r Row
	if err := json.Unmarshal(doc, &r); err != nil {
		return r, fmt.Errorf("row of a run: %w", err)
	}
	return r, nil
}

// rowKey orders the runs of an agency by their start.
func rowKey(rec *Record) string {
	return persistence.Key(persistence.SeqKey(rec.AgencyID, uint64(rec.StartedAt)), rec.ID)
}

// documents keeps what is listed and looked up in step with a record.
func documents(rec *Record) []persistence.DocumentOp {
	running := persistence.DocumentOp{Collection: persistence.CollectionRunning, Key: persistence.Key(rec.AgencyID, rec.ID)}
	if rec.State == Running {
		running.Data = []byte{}
	}
	return []persistence.DocumentOp{
		{Collection: persistence.CollectionRun, Key: rec.ID, Data: rec.Encode()},
		{Collection: persistence.CollectionAgencyRun, Key: rowKey(rec), Data: encode(Row{AgentID: rec.Agent.ID, State: rec.State})},
		running,
	}
}

// note commits something that happened, answers when it is durable, and tells of it.
func (r *Run) note(t *kernel.Turn, n note, kind string, f fields, tell func()) {
	r.commit(t, n, kind, f, nil, func() {
		t.Reply(kernel.Done{}) // first: an ack comes before the events that it causes
		tell()
	})
}

// commit commits something that happened: as an entry of the own record, unless kind is empty, and as a change of the
// state. What has left no trace in either is not written. then runs in any case, and answers.
func (r *Run) commit(t *kernel.Turn, n note, kind string, f fields, outbox []persistence.OutboxOp, then func()) {
	c := kernel.Change{Outbox: outbox}
	_, at := t.Next()
	if kind != "" {
		n.Bytes, n.Full = r.record(&c, at, kind, f)
	}
	shown := n.Status != nil || n.Permission != nil || n.Stop
	stale := n.Agent && at-r.stored >= touchEvery.Milliseconds()
	if n.Bytes == 0 && !shown && n.Stream == "" && !stale {
		t.AfterCommits(then)
		return
	}
	next := r.s.noted(&n, at)
	if n.Agent {
		c.Documents = append(c.Documents, r.lifeDocument(&r.s.Record, at))
		r.stored = at
	}
	if shown {
		c.Documents = append(c.Documents, documents(&next.Record)[0])
	}
	c.Events = []persistence.Event{event(evNoted, n)}
	t.Commit(c, then, nil)
}

// fits checks the length of a text that is kept whole.
func fits(name, text string, limit int) error {
	if len(text) > limit {
		return kernel.Invalid("%s must be at most %d bytes", name, limit)
	}
	return nil
}

// given checks a text that is kept whole and has to be there.
func given(name, text string, limit int) error {
	if text == "" {
		return kernel.Invalid("%s is required", name)
	}
	return fits(name, text, limit)
}
