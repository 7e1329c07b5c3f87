package resource

import (
	"parley/actors/run"
	"parley/transport/rest/openapi"
)

// RunState is a run.State.
var RunState = openapi.Enum(string(run.Running), string(run.Completed), string(run.Failed), string(run.Interrupted))

// Consent is a run.Consent.
var Consent = openapi.Enum(string(run.Pending), string(run.Approved), string(run.Denied), string(run.Expired), string(run.Cancelled))

// Run is a run.View.
var Run = openapi.Object(
	has("id runId", ID, ""),
	has("agencyId agency_id", ID, ""),
	has("agent_id agentId", ID, ""),
	has("agent_username agent", Text.Like("rover"), ""),
	has("agent_display_name", Text, ""),
	has("status", RunState, ""),
	has("stopping", openapi.Bool(), "It runs, and somebody has stopped it."),
	has("last_status lastStatus", Text.OrNull(), "What the agent said last of what it does."),
	has("started_at startedAt", Time, ""),
	has("ended_at endedAt", Time.OrNull(), ""),
	has("duration", Text.Like("1m 12s"), "For display; of a running one so far."),
	has("summary", Text.OrNull(), ""),
	has("error", Text.OrNull(), ""),
	has("triggerMessageId trigger_message_id", Text.OrNull(), "The message that it answers."),
	has("permissions", openapi.List(permission), "What it asked for; in a list only what is open."),
).Named("Run", "A piece of work of an agent.")

// permission is a run.PermissionView.
var permission = openapi.Object(
	has("permissionId", ID, ""),
	has("action", Text, ""),
	has("description", Text, "While it is open."),
	has("status", Consent, ""),
	has("requested_at", Time.OrNull(), ""),
	has("answered_at", Time.OrNull(), ""),
	has("answered_by", Text.OrNull(), "An account id."),
	has("decision", Text.OrNull(), "As it was given."),
).Named("Permission", "What an agent asked to be allowed.")
