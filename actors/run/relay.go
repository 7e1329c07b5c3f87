package run

import (
	"encoding/json"

	"parley/actors/agency"
)

// Names of the realtime events of runs (clients.md 3.3).
const (
	EventStart      = "agent-run-start"
	EventStatus     = "agent-run-status"
	EventToolCall   = "agent-run-tool-call"
	EventToolResult = "agent-run-tool-result"
	EventStream     = "agent-run-stream"
	EventPermission = "agent-run-permission"
	EventComplete   = "agent-run-complete"
	EventError      = "agent-run-error"
	EventInterrupt  = "agent-run-interrupt"
	EventAnswer     = "agent-run-permission-response"
)

// MaxRelay is the largest event that is relayed whole, in bytes of JSON; longer ones are shortened and say truncated: true
// (decision 31).
const MaxRelay = 256 << 10

// ShortRelay is what an event is shortened to, in bytes of JSON, for a room whose agent has used up what it may send there.
const ShortRelay = 4 << 10

// Relayed is an event on its way to a room.
type Relayed struct {
	Name       string
	Run, Agent string
	Data       []byte // JSON object of at most about MaxRelay
	Short      []byte // the same in about ShortRelay, where Data is longer
	// Shown says that a fresh look at the open runs shows what the event tells.
	Shown bool
	// Grows is the message that has grown, nil for all events but those of streams.
	Grows *Grows
}

// Grows is a step of a stream. Steps that belong together can be told as one.
type Grows struct {
	MessageID string
	Done      bool
	Added     string // what has come since the last step; empty when Data has the whole text
	// Longer makes the event's data with another text in the place of Added; nil when Data has the whole text.
	Longer func(added string) []byte
	// Whole makes the event's data with the whole text, for those who have not seen its beginning. It is nil where Data has
	// it already, or where nobody knows it.
	Whole func() []byte
}

// relay tells the room.
func (r *Run) relay(name string, f fields) {
	if r.ports.Room == nil {
		return
	}
	e := r.relayed(name, f)
	e.Shown = name == EventStart || name == EventStatus || name == EventPermission || name == EventComplete || name == EventError
	r.ports.Room.Relay(r.s.AgencyID, e)
}

func (r *Run) relayed(name string, f fields) *Relayed {
	f = r.signed(f)
	e := &Relayed{Name: name, Run: r.s.ID, Agent: r.s.Agent.ID, Data: shorten(f, MaxRelay)}
	if len(e.Data) > ShortRelay {
		if _, ok := f["transcript"]; ok {
			f["transcript"], f["truncated"] = json.RawMessage("[]"), true
		}
		e.Short = shorten(f, ShortRelay)
	}
	return e
}

// signed returns what is told with the identity that the server knows (clients.md 3.2).
func (r *Run) signed(f fields) fields {
	e := make(fields, len(f)+6)
	for k, v := range f {
		e[k] = v
	}
	e["runId"], e["agencyId"], e["agency_id"] = r.s.ID, r.s.AgencyID, r.s.AgencyID
	e["agentId"], e["username"], e["displayName"] = r.s.Agent.ID, r.s.Agent.Username, r.s.Agent.DisplayName
	return e
}

// deliver tells the agent.
func (r *Run) deliver(name string, f fields) {
	f["runId"], f["agencyId"], f["agency_id"] = r.s.ID, r.s.AgencyID, r.s.AgencyID
	r.ports.Agents.Deliver(r.s.Agent.ID, name, encode(f))
}

// shortest is the length in bytes down to which texts are shortened.
const shortest = 256

// shorten renders an event in at most limit bytes: a transcript loses entries, texts lose their ends, the longest first,
// and metadata goes as a whole.
func shorten(f fields, limit int) []byte {
	for k, v := range f {
		if s, ok := v.(string); ok && len(s) > limit { // before any work on it: it can't fit
			f[k], f["truncated"] = agency.CutText(s, limit), true
		}
	}
	if list, ok := f["transcript"].(json.RawMessage); ok {
		shortenTranscript(f, list, limit)
	}
	data := encode(f)
	if len(data) <= limit {
		return data
	}
	f["truncated"] = true
	if meta, ok := f["metadata"].(json.RawMessage); ok && len(meta) > limit/2 {
		f["metadata"] = json.RawMessage(`{"truncated":true}`)
	}
	for data = encode(f); len(data) > limit; data = encode(f) {
		name, text := longest(f)
		if len(text) <= shortest {
			break // the rest is bounded far below any limit
		}
		// Escapes make a text longer than it is, at most six times, and not everywhere alike.
		size := len(encode(text))
		keep := int(int64(len(text)) * int64(max(size-(len(data)-limit), 0)) / int64(size))
		f[name] = agency.CutText(text, max(min(keep, len(text)-1), shortest))
	}
	return data
}

// shortenTranscript leaves room for the rest of an event, but takes half of it in any case.
func shortenTranscript(f fields, list json.RawMessage, limit int) {
	f["transcript"] = json.RawMessage("[]")
	rest := len(encode(f))
	if rest+len(list) <= limit {
		f["transcript"] = list
		return
	}
	f["truncated"] = true
	if short, ok := cut(list, max(limit-rest-len(`,"truncated":true`), limit/2)); ok {
		f["transcript"] = json.RawMessage(short)
	}
}

// longest finds the longest text among the fields.
func longest(f fields) (name, text string) {
	for k, v := range f {
		if s, ok := v.(string); ok && (len(s) > len(text) || len(s) == len(text) && k < name) {
			name, text = k, s
		}
	}
	return name, text
}
