package realtime

import (
	"parley/actors/agency"
	"parley/actors/mirror"
	"parley/actors/platform"
	"parley/transport/realtime/asyncapi"
	"parley/transport/resource"
	"parley/transport/rest/openapi"
)

// user is who did something, as events show them.
var user = openapi.Object(
	has("id", resource.ID, ""), has("username", resource.Text.Like("ann"), ""), has("display_name", resource.Text.Like("Ann"), ""), has("type", resource.Type, ""),
).Named("Actor", "Who did something.")

// Operations on rooms.
var (
	joinDoc = asyncapi.Operation{
		Summary: "Hear a room",
		About:   "A public agency is joined as a member, too. Join again at every connect. With since, missed has what came after that place in the log.",
		Form:    openapi.Form(rooms, may("since", openapi.Count().Like(41), "The highest seq that you have seen of the agency.")),
		Ack:     ackOK, Causes: []string{mirror.EventAgencyJoined, eventError},
	}
	leaveDoc = asyncapi.Operation{
		Summary: "Hear a room no more", About: "You stay a member.", Form: openapi.Form(rooms), Ack: ackOK, Causes: []string{mirror.EventAgencyLeft},
	}
)

// missed is an event that a client was not there for.
var missed = openapi.Object(
	has("event", openapi.Text(1, 0).Like(agency.EventMessage), "Its name."), has("data", openapi.Map(openapi.Any()), "Its data, as it was sent to those who were there."),
).Named("Missed", "An event that came while you were away.")

// joinedRoom is the data of agency-joined.
var joinedRoom = openapi.Object(
	inAgency,
	mayBeDM,
	has("agency", openapi.Object(
		has("id", resource.ID, ""), has("name", resource.Text, ""), has("slug", resource.Text, ""), has("is_private", openapi.Bool(), ""),
	), ""),
	has("members", openapi.List(resource.Member), "At most 200, those online first; GET /api/agencies/{id}/members has all."),
	has("memberCount", openapi.Count(), ""),
	has("onlineCount", openapi.Count(), "Those with a live connection."),
	has("seq", openapi.Count(), "The last place in the log that this answer covers."),
	has("runs", openapi.List(resource.Run), "The open runs, at most 50 and 64 KB of them."),
	may("moreRuns", openapi.Bool(), "There are more runs: GET /api/agencies/{id}/runs."),
	may("recovered", openapi.Bool(), "After since. false: too much has happened; read the history over REST."),
	may("missed", openapi.List(missed), "After since, when it is recovered: what came behind it, in its order."),
	may("more", openapi.Bool(), "missed was cut and you are not in the room yet: send join-agency again with this seq."),
).Named("AgencyJoined", "A room that you hear from now on.")

// roomEvents are what rooms tell of themselves.
var roomEvents = []*asyncapi.Event{
	{Name: mirror.EventAgencyJoined, Summary: "The answer to join-agency", About: "Every later event of the room comes behind it.", Data: joinedRoom},
	{
		Name: mirror.EventAgencyLeft, Summary: "You hear a room no more", About: "You left it, were removed, or were banned.",
		Data: openapi.Object(inAgency),
	},
	{
		Name: agency.EventMembersUpdated, Summary: "The members have changed", About: "Not repeated after a reconnect: agency-joined has the members.",
		Data: openapi.Object(inAgency, mayBeDM, has("change", openapi.Enum("joined", "left", "kicked", "banned", "role"), ""), has("memberCount", openapi.Count(), ""),
			has("member", resource.Member, "Who it is about.")),
	},
	{
		Name: agency.EventAgencyUpdated, Summary: "The agency has changed", Seq: true,
		Data: openapi.Object(inAgency, atSeq, mayBeDM, has("agency", openapi.Object(
			has("id", resource.ID, ""), has("name", resource.Text, ""), has("slug", resource.Text, ""), has("charter", resource.Text.OrNull(), ""),
			has("isPrivate is_private", openapi.Bool(), ""), has("member_count", openapi.Count(), ""),
		), "")),
	},
	{Name: agency.EventAgencyDeleted, Summary: "The agency is gone", Seq: true, Data: openapi.Object(inAgency, atSeq, mayBeDM)},
	{
		Name: platform.EventAgencyInvited, Summary: "You were added to an agency, or have a room back",
		About: "To an agent that was added: join it. And to whoever has come back after a lost connection and joined nothing, for each room that it has again.",
		Data:  openapi.Object(inAgency, has("agency", resource.AgencyName, "")),
	},
}

// authDoc is the first frame of the plain format.
var authDoc = &asyncapi.Operation{
	Name: eventAuth, Summary: "Show who connects", On: asyncapi.Plain, Form: openapi.Form(has("token", resource.Text, "A session token or a personal access token.")),
	About: "The first frame, unless a header Authorization said so. It has no ack: ready answers it, or a close code.", Causes: []string{eventReady},
}

// ownEvents are what one connection alone is told.
var ownEvents = []*asyncapi.Event{
	{
		Name: eventReady, Summary: "The credential is accepted", On: asyncapi.Plain,
		Data: openapi.Object(has("user", openapi.Object(
			has("id", resource.ID, ""), has("username", resource.Text.Like("ann"), ""), has("displayName display_name", resource.Text.Like("Ann"), ""), has("type", resource.Type, ""),
		), "Who you are."), has("sessionId", resource.Text, "The login session or personal access token that the credential belongs to.")),
	},
	{
		Name: eventError, Summary: "An event of yours failed", About: "For events without an ack; a failed join-agency is told here even with one.",
		Data: openapi.Object(has("message", openapi.Text(1, 0).Like("agencyId is required"), "A sentence that a person can act on."),
			may("event", resource.Text.Like("join-agency"), "The event that failed; absent for a frame that can't be read.")),
	},
}
