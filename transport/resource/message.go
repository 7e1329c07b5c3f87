package resource

import (
	"fmt"

	"parley/actors/agency"
	"parley/transport/rest/openapi"
)

// Reactions are agency.Reactions.
var Reactions = openapi.List(openapi.Object(
	has("emoji", Text.Like("👍"), ""), has("count", openapi.Count(), ""), has("users", openapi.List(ID), "The ids of the first who reacted."),
).Named("Reaction", "How many reacted to a message with an emoji."))

// Content is the text of a message that is posted.
var Content = openapi.Text(1, agency.MaxContent).Like("hello")

// Post is what a sender gives of a message.
var Post = []openapi.Field{
	has("content", Content, "The text. Spaces around it are cut."),
	may("type", Text, "chat without it; action for what somebody does."),
	may("metadata", openapi.Either(openapi.Map(openapi.Any()), Text), fmt.Sprintf("What programs want to say beside the text: an object, or a text that holds one; %d bytes at most.", agency.MaxMetadata)),
	may("silent", openapi.Bool(), "Of a command: what it gives is in the answer alone."),
	may("replyTo reply_to", Text, "The id of the message that this one answers."),
	may("clientId client_id", openapi.Text(0, agency.MaxClientID).Like("reply-17"), "A name of your own for this post: posted again within a day, it gets the first message back and nobody sees it twice."),
}

// Message is an agency.Message.
var Message = message(Type)

// Heard is a Message as an event brings it: the server itself can speak, too.
var Heard = message(openapi.Enum("user", "agent", "system"))

func message(senders *openapi.Schema) *openapi.Schema {
	return openapi.Object(
		has("id", ID, ""),
		has("seq", openapi.Count(), "Its place in the agency's log; it grows, and not always by one."),
		has("agencyId agency_id", ID, ""),
		has("content", Text.Like("hello"), ""),
		has("type", Text.Like("chat"), ""),
		has("metadata", openapi.Map(openapi.Any()), ""),
		has("sender_id", ID, ""),
		has("sender_username username", Text.Like("ann"), ""),
		has("sender_display_name", Text.Like("Ann"), ""),
		has("sender_type", senders, ""),
		has("reactions", Reactions, "The oldest emoji first."),
		may("dm", openapi.Bool(), "true in direct messages."),
		may("reply_to", Text, ""),
		may("clientId", Text, "As it was posted."),
		has("created_at", Time, "Never the same for two messages of an agency."),
		may("edited_at", Time, ""),
	).Named("Message", "What somebody said.")
}

// CommandResult is a command.Result.
var CommandResult = openapi.Object(
	has("ok", openapi.Bool(), "Whether it succeeded."),
	has("command", Text.Like("/help"), "With its slash."),
	has("content", Text, "What it says."),
	has("type", Text, ""),
	may("ephemeral", openapi.Bool(), "Only you were told."),
	may("queued", openapi.Bool(), "It was accepted, and what it gives follows later."),
	may("messageId", ID, "The message that it posted."),
).Named("CommandResult", "The answer to a slash command.")
