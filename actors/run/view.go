package run

import (
	"time"

	"parley/actors/account"
)

// View is a run as clients see it (clients.md 4.6), without its transcript.
type View struct {
	ID           string           `json:"id"`
	RunID        string           `json:"runId"`
	AgencyID     string           `json:"agencyId"`
	AgencyID2    string           `json:"agency_id"`
	AgentID      string           `json:"agent_id"`
	AgentID2     string           `json:"agentId"`
	AgentName    string           `json:"agent_username"`
	Agent        string           `json:"agent"` // the same
	DisplayName  string           `json:"agent_display_name"`
	Status       State            `json:"status"`
	Stopping     bool             `json:"stopping"` // running, and somebody has stopped it
	LastStatus   *string          `json:"last_status"`
	LastStatus2  *string          `json:"lastStatus"`
	StartedAt    *string          `json:"started_at"`
	StartedAt2   *string          `json:"startedAt"`
	EndedAt      *string          `json:"ended_at"`
	EndedAt2     *string          `json:"endedAt"`
	Duration     string           `json:"duration"` // for display; of a running one so far
	Summary      *string          `json:"summary"`
	Error        *string          `json:"error"`
	TriggeredBy  *string          `json:"triggerMessageId"`
	TriggeredBy2 *string          `json:"trigger_message_id"`
	Permissions  []PermissionView `json:"permissions"`
}

// PermissionView is a request for permission as clients see it.
type PermissionView struct {
	ID          string  `json:"permissionId"`
	Action      string  `json:"action"`
	Description string  `json:"description"` // while it is open
	Status      Consent `json:"status"`
	AskedAt     *string `json:"requested_at"`
	AnsweredAt  *string `json:"answered_at"`
	AnsweredBy  *string `json:"answered_by"` // account id
	Decision    *string `json:"decision"`
}

// NewView shows a record. The permissions are left out unless all is true, except for the open ones.
func NewView(r *Record, now time.Time, all bool) View {
	end := now
	if r.EndedAt != 0 {
		end = time.UnixMilli(r.EndedAt)
	}
	v := View{ID: r.ID, RunID: r.ID, AgencyID: r.AgencyID, AgencyID2: r.AgencyID, AgentID: r.Agent.ID, AgentID2: r.Agent.ID,
		AgentName: r.Agent.Username, Agent: r.Agent.Username, DisplayName: r.Agent.DisplayName, Status: r.State,
		Stopping: r.Stopping && r.State == Running, LastStatus: optional(r.LastStatus), StartedAt: account.FormatTime(r.StartedAt),
		EndedAt: account.FormatTime(r.EndedAt), Duration: FormatDuration(end.Sub(time.UnixMilli(r.StartedAt))),
		Summary: optional(r.Summary), Error: optional(r.Error), TriggeredBy: optional(r.Trigger), Permissions: []PermissionView{}}
	v.LastStatus2, v.StartedAt2, v.EndedAt2, v.TriggeredBy2 = v.LastStatus, v.StartedAt, v.EndedAt, v.TriggeredBy
	for i := range r.Permissions {
		p := &r.Permissions[i]
		if all || p.State == Pending {
			v.Permissions = append(v.Permissions, PermissionView{ID: p.ID, Action: p.Action, Description: p.Description, Status: p.State,
				AskedAt: account.FormatTime(p.AskedAt), AnsweredAt: account.FormatTime(p.AnsweredAt), AnsweredBy: optional(p.AnsweredBy),
				Decision: optional(p.Decision)})
		}
	}
	return v
}
