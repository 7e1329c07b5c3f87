package run

import (
	"encoding/json"
	"fmt"
	"slices"

	"parley/actors/account"
	"parley/persistence"
)

// Kinds of events of a run's log. What an agent says it did is kept as documents; the log has what decisions depend on.
const (
	evStarted = "started"
	evNoted   = "noted"
	evEnded   = "ended"
	evPurged  = "purged"
)

// State is where a run stands (decision 32).
type State string

// States of runs. A run that completes after somebody has stopped it is interrupted: a stopped agent says no more than that
// it is done (clients.md 3.5.2).
const (
	Running     State = "running"
	Completed   State = "completed"
	Failed      State = "error"
	Interrupted State = "interrupted"
)

// IsState reports whether a text is one of the states.
func IsState(s string) bool {
	return slices.Contains([]State{Running, Completed, Failed, Interrupted}, State(s))
}

// Consent is where a request for permission stands.
type Consent string

// States of requests for permission. Nobody's silence is a denial: one that is open at the run's end has expired.
const (
	Pending   Consent = "pending"
	Approved  Consent = "approved"
	Denied    Consent = "denied"
	Expired   Consent = "expired"
	Cancelled Consent = "cancelled" // the run was stopped while it was open
)

// Permission is a request for permission.
type Permission struct {
	ID          string  `json:"id"`
	Action      string  `json:"a"`
	Description string  `json:"d,omitempty"` // while it is open
	State       Consent `json:"s"`
	AskedAt     int64   `json:"t"` // ms
	AnsweredBy  string  `json:"by,omitempty"`
	AnsweredAt  int64   `json:"at,omitempty"` // ms; of the end or the stop, too
	Decision    string  `json:"de,omitempty"` // as it was answered
	Message     string  `json:"m,omitempty"`
}

// Record is a run as it is listed and looked up without waking its actor.
type Record struct {
	ID          string       `json:"id"`
	AgencyID    string       `json:"agency"`
	Agent       Agent        `json:"agent"`
	State       State        `json:"state"`
	StartedAt   int64        `json:"started"`         // ms
	EndedAt     int64        `json:"ended,omitempty"` // ms
	Trigger     string       `json:"trigger,omitempty"`
	TriggeredBy string       `json:"by,omitempty"` // account whose message triggered the run
	LastStatus  string       `json:"status,omitempty"`
	Stopping    bool         `json:"stop,omitempty"` // somebody has stopped it
	Permissions []Permission `json:"permissions,omitempty"`
	Summary     string       `json:"summary,omitempty"`
	Error       string       `json:"error,omitempty"`
	Sent        bool         `json:"sent,omitempty"` // the transcript is the one that the agent sent
}

// Agent is who runs.
type Agent struct {
	ID          string `json:"id"`
	Username    string `json:"u"`
	DisplayName string `json:"d"`
}

// Encode returns the document.
func (r *Record) Encode() []byte { return encode(r) }

// DecodeRecord reads a document.
func DecodeRecord(doc []byte) (*Record, error) {
	var r Record
	if err := json.Unmarshal(doc, &r); err != nil {
		return nil, fmt.Errorf("run record: %w", err)
	}
	return &r, nil
}

// state is what a run's actor knows without reading.
type state struct {
	Record
	Streams map[string]bool `json:"streams,omitempty"` // by message id: whether it is done
	Entries int             `json:"entries,omitempty"` // of the server's own record
	Bytes   int             `json:"bytes,omitempty"`   // of the same
	Full    bool            `json:"full,omitempty"`    // the own record has its marker and takes no more
	Heard   int64           `json:"heard,omitempty"`   // when the agent was last heard of, as far as it is stored
	Purged  bool            `json:"purged,omitempty"`
}

// note is the body of evNoted: what has changed.
type note struct {
	Bytes      int         `json:"n,omitempty"` // of the entry that was added to the own record; 0: none
	Full       bool        `json:"f,omitempty"`
	Status     *string     `json:"s,omitempty"`
	Stream     string      `json:"m,omitempty"` // opened, or with Done ended
	Done       bool        `json:"d,omitempty"`
	Permission *Permission `json:"p,omitempty"` // new, or in its new form
	Stop       bool        `json:"x,omitempty"`
	Agent      bool        `json:"a,omitempty"` // a sign of life of the agent
}

// ending is the body of evEnded.
type ending struct {
	State   State  `json:"s"`
	Summary string `json:"y,omitempty"`
	Error   string `json:"e,omitempty"`
	Sent    bool   `json:"t,omitempty"`
	Bytes   int    `json:"n,omitempty"` // of the own record's last entry
}

func event(kind string, body any) persistence.Event {
	return persistence.Event{Kind: kind, Data: encode(body)}
}

// after returns the state after an event. It shares nothing with the state before that either of them changes.
func (s state) after(ev *persistence.Event) (state, error) {
	var err error
	switch ev.Kind {
	case evStarted:
		err = json.Unmarshal(ev.Data, &s.Record)
		s.Heard = ev.At
	case evNoted:
		var n note
		if err = json.Unmarshal(ev.Data, &n); err == nil {
			s = s.noted(&n, ev.At)
		}
	case evEnded:
		var e ending
		if err = json.Unmarshal(ev.Data, &e); err == nil {
			s = s.ended(&e, ev.At)
		}
	case evPurged:
		s = state{Record: Record{ID: s.ID, AgencyID: s.AgencyID}, Purged: true}
	default:
		return s, fmt.Errorf("run event %d: unknown kind %q", ev.Seq, ev.Kind)
	}
	if err != nil {
		return s, fmt.Errorf("run event %d %s: %w", ev.Seq, ev.Kind, err)
	}
	return s, nil
}

func (s state) noted(n *note, at int64) state {
	if n.Bytes > 0 {
		s.Entries++
		s.Bytes += n.Bytes
	}
	s.Full = s.Full || n.Full
	if n.Agent {
		s.Heard = at
	}
	if n.Status != nil {
		s.LastStatus = *n.Status
	}
	if n.Stream != "" {
		streams := make(map[string]bool, len(s.Streams)+1)
		for id, done := range s.Streams {
			streams[id] = done
		}
		streams[n.Stream] = n.Done
		s.Streams = streams
	}
	if n.Permission != nil {
		s.Permissions = slices.Clone(s.Permissions)
		if i := s.permission(n.Permission.ID); i >= 0 {
			s.Permissions[i] = *n.Permission
		} else {
			s.Permissions = append(s.Permissions, *n.Permission)
		}
	}
	if n.Stop {
		s.Stopping = true
		s.Permissions = closed(s.Permissions, Cancelled, at)
	}
	return s
}

func (s state) ended(e *ending, at int64) state {
	s.State, s.Summary, s.Error, s.EndedAt, s.Sent = e.State, e.Summary, e.Error, at, e.Sent
	s.Permissions = closed(s.Permissions, Expired, at)
	s.Streams = nil
	if e.Bytes > 0 {
		s.Entries++
		s.Bytes += e.Bytes
	}
	if e.Sent {
		s.Entries, s.Bytes = 0, 0
	}
	return s
}

// closed returns the permissions with the open ones in their last state.
func closed(list []Permission, last Consent, at int64) []Permission {
	list = slices.Clone(list)
	for i := range list {
		if p := &list[i]; p.State == Pending {
			p.State, p.AnsweredAt, p.Description = last, at, ""
		}
	}
	return list
}

// permission finds a request by its id; -1 for none.
func (s *state) permission(id string) int {
	return slices.IndexFunc(s.Permissions, func(p Permission) bool { return p.ID == id })
}

// pending returns the ids of the open requests.
func (s *state) pending() (ids []string) {
	for i := range s.Permissions {
		if p := &s.Permissions[i]; p.State == Pending {
			ids = append(ids, p.ID)
		}
	}
	return ids
}

// agentOf is the acting side of an account.
func agentOf(s account.Sender) Agent {
	return Agent{ID: s.ID, Username: s.Username, DisplayName: s.DisplayName}
}
