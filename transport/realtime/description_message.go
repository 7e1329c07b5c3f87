package realtime

import (
	"parley/actors/agency"
	"parley/transport/realtime/asyncapi"
	"parley/transport/resource"
	"parley/transport/rest/openapi"
)

// Operations on messages.
var (
	sendDoc = asyncapi.Operation{
		Summary: "Post a message", Form: openapi.Form(append([]openapi.Field{rooms}, resource.Post...)...), Ack: openapi.Either(ackPosted, resource.CommandResult),
		About: "An ack with ok: true means that it is durable. A text that begins with / is a command: it is not posted, and the ack is its result.", Causes: []string{agency.EventMessage},
	}
	editDoc = asyncapi.Operation{
		Summary: "Edit a message of yours", Form: openapi.Form(rooms, messages, has("content", resource.Content, "The new text.")), Ack: ackOK, Causes: []string{agency.EventMessageEdited},
	}
	deleteDoc = asyncapi.Operation{
		Summary: "Delete a message", About: "Yours, or as a moderator those of lower ranks.", Form: openapi.Form(rooms, messages), Ack: ackOK, Causes: []string{agency.EventMessageDeleted},
	}
	reactDoc = asyncapi.Operation{
		Summary: "React to a message", About: "Again changes nothing.", Form: reactionForm, Ack: ackReacted, Causes: []string{agency.EventReaction},
	}
	unreactDoc = asyncapi.Operation{
		Summary: "Take a reaction back", About: "Again changes nothing.", Form: reactionForm, Ack: ackReacted, Causes: []string{agency.EventReaction},
	}
)

var reactionForm = openapi.Form(rooms, messages, has("emoji", openapi.Text(1, agency.MaxEmoji).Like("👍"), "An emoji, or a :shortcode:."))

// messageEvents are what happens to messages.
var messageEvents = []*asyncapi.Event{
	{
		Name: agency.EventMessage, Summary: "Somebody said something", Seq: true, Data: resource.Heard,
		About: "Your own too. The answer to a command of yours that asked for no ack has sender_type system, metadata.ephemeral true and seq 0, and is in no history.",
	},
	{
		Name: agency.EventMessageEdited, Summary: "A message has another text", Seq: true,
		Data: openapi.Object(inAgency, ofMessage, has("content", resource.Text, "The new text."), has("metadata", openapi.Map(openapi.Any()), ""),
			has("edited_at", resource.Time, ""), atSeq, mayBeDM),
	},
	{Name: agency.EventMessageDeleted, Summary: "A message is gone", Seq: true, Data: openapi.Object(inAgency, ofMessage, atSeq, mayBeDM)},
	{
		Name: agency.EventReaction, Summary: "A reaction came or went", Seq: true,
		Data: openapi.Object(inAgency, ofMessage, has("emoji", emoji, ""), has("count", openapi.Count(), "How many have reacted with it now."), has("user", user, ""),
			has("added", openapi.Bool(), "false: it was taken back."), atSeq, mayBeDM),
	},
}
