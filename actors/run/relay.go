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

// relay tells the room, with the identity that the server knows (clients.md 3.2).
func (r *Run) relay(name string, f fields) {
	if r.ports.Room == nil {
		return
	}
	e := make(fields, len(f)+6)
	for k, v := range f {
		e[k] = v
	}
	e["runId"], e["agencyId"], e["agency_id"] = r.s.ID, r.s.AgencyID, r.s.AgencyID
	e["agentId"], e["username"], e["displayName"] = r.s.Agent.ID, r.s.Agent.Username, r.s.Agent.DisplayName
	r.ports.Room.Relay(r.s.AgencyID, name, shorten(e, MaxRelay))
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
