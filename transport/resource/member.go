package resource

import "parley/transport/rest/openapi"

// Member is an agency.MemberView.
var Member = openapi.Object(
	has("id", ID, "The account's."),
	has("username", Text.Like("ann"), ""),
	has("displayName display_name", Text.Like("Ann"), ""),
	has("role", Role, ""),
	has("type", Type, ""),
	has("is_agent", openapi.Bool(), ""),
	may("online", openapi.Bool(), "Whether a live connection of theirs is open."),
	may("joined_at", Time, ""),
).Named("Member", "A member of an agency.")

// AgencyName is an agency where only its name matters.
var AgencyName = openapi.Object(
	has("id", ID, ""), has("name", Text, ""), has("slug", Text, ""),
).Named("AgencyName", "An agency where only its name matters.")
