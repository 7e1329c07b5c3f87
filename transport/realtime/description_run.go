package realtime

import (
	"fmt"
	"slices"

	"parley/actors/run"
	"parley/transport/realtime/asyncapi"
	"parley/transport/resource"
	"parley/transport/rest/openapi"
)

// Fields of events of runs.
var (
	inRun      = has("runId run_id", resource.ID, "The run: a UUID that the agent made.")
	ofRun      = has("runId", resource.ID, "")
	whole      = may("truncated", openapi.Bool(), fmt.Sprintf("true: it was longer than %d bytes, or than what the agent may send the room now, and was shortened.", run.MaxRelay))
	callID     = "toolCallId tool_call_id"
	transcript = openapi.List(openapi.Map(openapi.Any()))
	uuidSchema = resource.ID.Format("uuid")
)

// relayed is the data of an event of a run as the room gets it.
func relayed(fields ...openapi.Field) *openapi.Schema {
	return openapi.Object(slices.Concat([]openapi.Field{ofRun, inAgency, has("agentId", resource.ID, "The agent's account."),
		has("username", resource.Text.Like("rover"), ""), has("displayName", resource.Text.Like("Rover"), "")}, fields, []openapi.Field{whole})...)
}

// deliveredToAgent is the data of an event of a run that its agent gets.
func deliveredToAgent(fields ...openapi.Field) *openapi.Schema {
	return openapi.Object(append([]openapi.Field{ofRun, inAgency}, fields...)...)
}

// said is an operation of the agent of a run.
func said(summary, about, causes string, fields ...openapi.Field) *asyncapi.Operation {
	return &asyncapi.Operation{Summary: summary, About: about, Form: openapi.Form(append([]openapi.Field{inRun}, fields...)...), Ack: ackOK, Causes: []string{causes}}
}

// Operations on runs.
var (
	runStartDoc = said("Begin a run", fmt.Sprintf("By agents that are members of the agency. An agent can have %d open runs, an agency %d.", run.MaxOpenByAgent, run.MaxOpenByAgency),
		run.EventStart, rooms, may("triggerMessageId trigger_message_id", resource.Text, "The message that it answers; who wrote it may stop the run and answer its prompts."))
	runStatusDoc   = said("Say what a run does", "", run.EventStatus, may("status", resource.Text.Like("Reading the logs"), ""))
	runToolCallDoc = said("Say that a tool is called", "", run.EventToolCall,
		has(callID, openapi.Text(1, run.MaxName), "Pairs the call with its result."), has("tool", openapi.Text(1, run.MaxName).Like("grep"), ""), may("input", resource.Text, ""))
	runToolResultDoc = said("Say what a tool gave", "", run.EventToolResult, has(callID, openapi.Text(1, run.MaxName), ""), may("tool", openapi.Text(0, run.MaxName), ""),
		may("output", resource.Text, ""), may("duration", resource.Text.Like("12ms"), "As it is shown."), may("status", openapi.Enum("done", "error"), "done without it."))
	runStreamDoc = said("Let a text grow", "Send the whole text so far in content; delta alone is cheaper, but then those who come late get no beginning. With done: true send content: it is posted as a message.",
		run.EventStream, has("messageId message_id", uuidSchema, "A UUID that you make, of a version other than 8: the id of the message."),
		may("content", resource.Text.Like("It is"), "The whole text so far."), may("delta", resource.Text, "What was added."), may("done", openapi.Bool(), ""),
		may("metadata", openapi.Map(openapi.Any()), "With done: true, of the message."))
	runPermissionDoc = said("Ask for a permission", fmt.Sprintf("%d in a run, %d open at once.", run.MaxPermissions, run.MaxPending), run.EventPermission,
		has("permissionId permission_id", openapi.Text(1, run.MaxName), ""), has("action", openapi.Text(1, 0).Like("rm -r build"), ""), may("description", resource.Text, ""))
	runCompleteDoc = said("End a run well", "", run.EventComplete, may("summary", resource.Text, ""), may("transcript", transcript, transcriptAbout))
	runErrorDoc    = said("End a run as failed", "", run.EventError, may("error", resource.Text, ""), may("transcript", transcript, transcriptAbout))
	runAnswerDoc   = said("Answer a request for permission", forModerators+" The first answer counts.", run.EventPermission,
		has("permissionId permission_id", openapi.Text(1, run.MaxName), ""), has("decision", openapi.Text(1, run.MaxDecision).Like("approve"), "approve is yes, anything else no."),
		may("message", resource.Text, "A word to the agent."))
	runInterruptDoc = said("Stop a run, or tell its agent something", forModerators, run.EventStatus,
		has("action", openapi.Enum(run.Stop, run.Adjust), ""), may("message", resource.Text, "Required with adjust."))
)

const (
	forModerators   = "By the agent's owner, the agency's moderators and above, and the member whose message triggered the run. The agent alone gets the event of the same name."
	transcriptAbout = "Objects with ts and type. Without it the server's own record is the transcript."
)

// runEvents are what rooms and agents hear of runs. They have no seq: agency-joined has the open runs as they stand.
var runEvents = []*asyncapi.Event{
	{Name: run.EventStart, Summary: "An agent begins a run", Data: relayed(has("triggerMessageId", resource.Text.OrNull(), "The message that it answers."))},
	{
		Name: run.EventStatus, Summary: "What an agent does in a run",
		Data: relayed(has("status", resource.Text, ""), may("stopping", openapi.Bool(), "true: somebody has stopped the run, and the agent is told so.")),
	},
	{
		Name: run.EventToolCall, Summary: "A tool is called",
		Data: relayed(has("toolCallId", resource.Text, ""), has("tool", resource.Text, ""), has("input", resource.Text, ""), has("status", openapi.Enum("running"), "")),
	},
	{
		Name: run.EventToolResult, Summary: "What a tool gave",
		Data: relayed(has("toolCallId", resource.Text, ""), has("tool", resource.Text, ""), has("output", resource.Text, ""), has("duration", resource.Text, ""),
			has("status", openapi.Enum("done", "error"), "")),
	},
	{
		Name: run.EventStream, Summary: "A text grows", About: "Append delta to what you have of that messageId; where there is content, take that instead. The end is followed by a message with the same id.",
		Data: relayed(has("messageId", resource.ID, ""), has("done", openapi.Bool(), ""), may("delta", resource.Text, "What was added; absent at the end."),
			may("content", resource.Text, "The whole text so far."), may("contentLength", openapi.Count(), "The length of the whole text in characters; absent at the end."),
			may("metadata", openapi.Map(openapi.Any()), "At the end, of the message.")),
	},
	{
		Name: run.EventPermission, Summary: "An agent asks for a permission, or what became of that",
		Data: relayed(has("permissionId", resource.Text, ""), has("action", resource.Text, ""), has("status", resource.Consent, ""), may("description", resource.Text, "While it is pending."),
			may("decision", resource.Text, "As it was given."), may("message", resource.Text, "A word to the agent."), may("answeredBy", resource.ID, "An account id."),
			may("answeredByUsername", resource.Text, "")),
	},
	{
		Name: run.EventComplete, Summary: "A run has ended",
		Data: relayed(has("summary", resource.Text, ""), has("status", openapi.Enum(string(run.Completed), string(run.Interrupted)), ""), has("transcript", transcript, "As the agent sent it, if it is short.")),
	},
	{
		Name: run.EventError, Summary: "A run has failed",
		Data: relayed(has("error", resource.Text, ""), has("status", openapi.Enum(string(run.Failed)), ""), has("transcript", transcript, "As the agent sent it, if it is short.")),
	},
	{
		Name: run.EventInterrupt, Summary: "Stop, or mind this", About: "To the run's agent, and again when it connects while the run is stopping.",
		Data: deliveredToAgent(has("action", openapi.Enum(run.Stop, run.Adjust), ""), may("message", resource.Text, "")),
	},
	{
		Name: run.EventAnswer, Summary: "The answer to a request for permission", About: "To the run's agent, and again when it connects a short while later.",
		Data: deliveredToAgent(has("permissionId", resource.Text, ""), has("decision", resource.Text.Like("approve"), "approve is yes, anything else no."), may("message", resource.Text, "")),
	},
}
