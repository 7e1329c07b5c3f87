package rest

import (
	"parley/actors/account"
	"parley/transport/resource"
	"parley/transport/rest/openapi"
)

// Short names for the fields of schemas.
var has, may = openapi.Has, openapi.May

// Values that many resources have. A schema of one resource alone stands in that resource's file.
var (
	idSchema       = resource.ID
	timeSchema     = resource.Time
	textSchema     = resource.Text
	usernameSchema = resource.Username
	urlSchema      = openapi.Text(0, account.MaxURL).Format("uri")
	typeSchema     = resource.Type
	roleSchema     = resource.Role
)

var (
	errorSchema = openapi.Object(
		has("error", openapi.Text(1, 0).Like("name is required"), "A sentence that a person can act on."),
	).Named("Error", "Why a request failed.")

	okSchema = openapi.Object(has("ok", openapi.Bool(), "Always true.")).Named("OK", "The answer where there is nothing to say.")

	accountNameSchema = openapi.Object(
		has("id", idSchema, ""), has("username", usernameSchema, ""),
	).Named("AccountName", "An account where only its name matters.")

	agencyNameSchema = resource.AgencyName

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
