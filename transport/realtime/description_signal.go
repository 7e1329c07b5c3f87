package realtime

import (
	"fmt"

	"parley/actors/mirror"
	"parley/actors/session"
	"parley/transport/realtime/asyncapi"
	"parley/transport/resource"
	"parley/transport/rest/openapi"
)

// Operations of what somebody does right now.
var (
	typingDoc = asyncapi.Operation{
		Summary: "Say that you type", About: "It dies after six seconds unless you say it again. Members only; the room need not be joined.",
		Form: openapi.Form(rooms, has("typing", openapi.Bool(), "false: no more.")), Ack: ackOK, Causes: []string{mirror.EventTyping},
	}
	thinkingDoc = asyncapi.Operation{
		Summary: "Say that you think", About: "By agents. It holds until it is taken back or the connection ends. Members only; the room need not be joined.",
		Form: openapi.Form(rooms, has("thinking", openapi.Bool(), "false: no more."), may("status", resource.Text.Like("Reading the logs"),
			fmt.Sprintf("What you are doing; %d bytes of it.", session.MaxStatus))), Ack: ackOK, Causes: []string{mirror.EventAgentStatus},
	}
)

// signalEvents are what rooms tell of what somebody does right now. They are not repeated.
var signalEvents = []*asyncapi.Event{
	{
		Name: mirror.EventMemberPresence, Summary: "Members came or went", About: "Gathered for a second. With more than 500 online it has neither online nor offline.",
		Data: openapi.Object(inAgency, may("online", openapi.List(resource.Member), "Who came."), may("offline", openapi.List(resource.ID), "Who went, by account id."),
			has("onlineCount", openapi.Count(), "")),
	},
	{
		Name: mirror.EventTyping, Summary: "Somebody types, or does no more", About: "To the others.",
		Data: openapi.Object(inAgency, mayBeDM, has("user", openapi.Object(
			has("id", resource.ID, ""), has("username", resource.Text.Like("ann"), ""), has("displayName display_name", resource.Text.Like("Ann"), ""), has("type", resource.Type, ""),
		), ""), has("typing", openapi.Bool(), "")),
	},
	{
		Name: mirror.EventAgentStatus, Summary: "An agent thinks, or does no more", About: "Behind agency-joined comes one for every agent that is thinking.",
		Data: openapi.Object(inAgency, mayBeDM, has("agentId", resource.ID, "The agent's account."), has("username", resource.Text.Like("rover"), ""),
			has("displayName display_name", resource.Text.Like("Rover"), ""), has("thinking", openapi.Bool(), ""), has("status", resource.Text, "In its own words; empty when it thinks no more.")),
	},
}
