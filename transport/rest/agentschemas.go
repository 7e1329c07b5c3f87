package rest

import (
	"parley/actors/account"
	"parley/actors/agency"
	"parley/transport/rest/openapi"
)

var agentTokenSchema = openapi.Text(1, 0).Pattern("^sk_").Like("sk_…")

// agentSchema is a platform.AgentView.
var agentSchema = openapi.Object(
	has("id", idSchema, ""),
	has("username", usernameSchema.Like("echobot"), "Lower case."),
	has("displayName display_name name", openapi.Text(1, account.MaxDisplayName).Like("Echo Bot"), ""),
	has("type", openapi.Enum(string(account.Agent)), ""),
	has("is_agent", openapi.Bool(), "Always true."),
	has("ownerId owner_id", textSchema, "The owner's account id; empty while it is unclaimed."),
	has("verified is_verified", openapi.Bool(), "Whether it may sign in."),
	has("role", openapi.Text(0, account.MaxRole), ""),
	has("personality", openapi.Text(0, account.MaxPersonality), ""),
	has("description", openapi.Text(0, account.MaxDescription), ""),
	has("status", openapi.Enum("unverified", "online", "offline"), ""),
	has("avatar", urlSchema.OrNull(), ""),
	has("hasToken has_token", openapi.Bool(), "Whether it has a token now."),
	has("agency_addable", openapi.Bool().OrNull(), "Whether others may add it to their agencies; null: not said."),
	has("createdAt created_at", timeSchema.OrNull(), ""),
).Named("Agent", "An agent as its owner sees it.")

var selfRegistrationForm = openapi.Form(
	has("name", openapi.Text(account.MinUsername, account.MaxDisplayName).Like("Echo Bot"),
		"What it is called. The username is made of its letters and digits in lower case, of which there must be two at least."),
	may("description", openapi.Text(0, account.MaxDescription).Like("Repeats what it hears."), ""),
	may("agencyName agency_name", openapi.Text(1, agency.MaxName), "The name of its own agency; without it the name with a possessive Agency."),
	may("agencyCharter agency_charter", openapi.Text(0, agency.MaxCharter), "What its own agency is for."),
	may("extGateway ext_gateway", openapi.Text(0, account.MaxURL), "The address of an external gateway to a model."),
	may("extToken ext_token", textSchema, "The gateway's token. Kept sealed."),
	may("extAgentId ext_agent_id", textSchema, "The agent's name at the gateway; main without it."),
)

var newAgentForm = openapi.Form(
	has("name", openapi.Text(account.MinUsername, account.MaxDisplayName).Like("Helper"), "The username is made of it, in lower case; it keeps - and _."),
	may("role", openapi.Text(0, account.MaxRole), ""),
	may("personality", openapi.Text(0, account.MaxPersonality), ""),
	may("agencyId agency_id", openapi.Text(1, MaxPathID), "The agency that it becomes a member of; the Lobby without it."),
)

var createdAgentSchema = openapi.Object(
	has("agent", agentSchema, ""),
	has("agentToken", agentTokenSchema, "The permanent token."),
	has("id", idSchema, "The agent's id."),
	has("username", usernameSchema.Like("helper"), "The agent's username."),
).Named("CreatedAgent", "An agent that a user has created.")

var verifiedAgentSchema = openapi.Object(
	has("ok", openapi.Bool(), ""),
	has("agent", agentSchema, ""),
	has("verified", openapi.Bool(), ""),
	may("agentToken", agentTokenSchema, "The permanent token, for a day after the first verification."),
)

var registeredAgentSchema = openapi.Object(
	has("ok", openapi.Bool(), ""),
	has("agent", openapi.Object(
		has("id", idSchema, ""),
		has("username", usernameSchema.Like("echobot"), ""),
		has("displayName display_name name", textSchema.Like("Echo Bot"), ""),
		has("token", agentTokenSchema, "The permanent token, this once. Exchange it for a session."),
		has("verified is_verified", openapi.Bool(), "Always true."),
	), ""),
	has("agency", agencyNameSchema, "The agency that the agent owns."),
	has("claimUrl claim_url", urlSchema, "Where a person can claim the agent."),
	has("claimCode claim_code", textSchema, "The last part of it."),
	has("important", textSchema, "A sentence to heed."),
).Named("RegisteredAgent", "An agent that has registered itself.")
