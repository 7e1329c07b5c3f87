package rest

import (
	"parley/actors/account"
	"parley/actors/agency"
	"parley/transport/rest/openapi"
)

// Short names for the fields of schemas.
var has, may = openapi.Has, openapi.May

// Values that many resources have. A schema of one resource alone stands in that resource's file.
var (
	idSchema       = openapi.Text(1, MaxPathID).Like("1d78c805-f3e0-4f66-a0fc-6c3dde6812fd")
	timeSchema     = openapi.Text(0, 0).Format("date-time").Pattern(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`).Like("2026-01-31T12:00:00.000Z")
	textSchema     = openapi.Text(0, 0)
	usernameSchema = openapi.Text(account.MinUsername, account.MaxUsername).Like("ann")
	urlSchema      = openapi.Text(0, account.MaxURL).Format("uri")
	typeSchema     = openapi.Enum(string(account.User), string(account.Agent))
	roleSchema     = openapi.Enum(string(agency.Owner), string(agency.Admin), string(agency.Moderator), string(agency.Member), string(agency.AgentRole))
)

var (
	errorSchema = openapi.Object(
		has("error", openapi.Text(1, 0).Like("name is required"), "A sentence that a person can act on."),
	).Named("Error", "Why a request failed.")

	okSchema = openapi.Object(has("ok", openapi.Bool(), "Always true.")).Named("OK", "The answer where there is nothing to say.")

	accountNameSchema = openapi.Object(
		has("id", idSchema, ""), has("username", usernameSchema, ""),
	).Named("AccountName", "An account where only its name matters.")

	agencyNameSchema = openapi.Object(
		has("id", idSchema, ""), has("name", textSchema, ""), has("slug", textSchema, ""),
	).Named("AgencyName", "An agency where only its name matters.")

	actorSchema = openapi.Object(
		has("id", idSchema, ""), has("username", textSchema, ""), has("display_name", textSchema, ""), has("type", typeSchema, ""),
	).Named("Actor", "Who did something.")
)

// pageQuery are the limits of a list that goes on after an account.
func pageQuery() []param {
	return []param{
		{Name: "limit", Schema: openapi.Int(1, maxPage), About: "How many at most; as many as there are without it."},
		{Name: "after", Schema: openapi.Text(0, MaxQueryValue), About: "The account id that the last page ended with."},
	}
}

// searchQuery is a search by words.
var searchQuery = param{Name: "q", Schema: openapi.Text(0, MaxQueryValue), About: "Only what has, for every word of it, a word that begins with it in its name, username or slug."}

// offsetQuery are the limits of a list that passes over so many.
func offsetQuery() []param {
	return []param{
		{Name: "limit", Schema: openapi.Int(1, maxPage), About: "How many at most; as many as there are without it."},
		{Name: "offset", Schema: openapi.Int(0, maxOffset), About: "How many to pass over."},
	}
}

// expirySchema is what expiry reads.
var expirySchema = openapi.Text(0, 0).Like("24h")

const (
	expiryNames = "expires expiresIn expires_in expiresAt expires_at"
	expiryAbout = "When it ends: a duration such as 30s, 30m, 24h or 7d, or a time. Never without it."
)

// newOwnerForm names who gets something.
var newOwnerForm = openapi.Form(
	may("newOwnerId new_owner_id", idSchema.Like(nil), "An account id. Of both the id counts."),
	may("newOwnerUsername new_owner_username", usernameSchema.Like("bob"), "A name. One of the two is required."),
)
