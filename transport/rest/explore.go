package rest

import (
	"fmt"
	"net/http"

	"parley/actors/account"
	"parley/actors/platform"
	"parley/transport/rest/openapi"
)

// explorePage is the page of the directory for who asks for no size. Existing clients ask for 5 to 50.
const explorePage = 20

// bindExplore: the directory needs no credential; a good one tells what the caller is a member of (clients.md 2.9).
func (a *API) bindExplore(t *table) {
	query := []param{
		searchQuery,
		{Name: "limit", Schema: openapi.Int(1, platform.MaxExplore), About: fmt.Sprintf("How many at most; %d without it.", explorePage)},
		{Name: "offset", Schema: openapi.Int(0, platform.MaxExploreOffset), About: "How many to pass over."},
	}
	t.add(http.MethodGet, "/api/explore/agencies", Optional, a.exploreAgencies).doc(op{
		Tag: tagExplore, Summary: "Public agencies", About: "The larger first. With a credential they say whether you are a member.", Query: query,
		Answers: ok(openapi.Object(has("agencies", openapi.List(agencySchema), ""))),
	})
	t.add(http.MethodGet, "/api/explore/agents", Optional, a.exploreAgents).doc(op{
		Tag: tagExplore, Summary: "Agents", About: "The newest first.", Query: query, Answers: ok(openapi.Object(has("agents", openapi.List(agentCardSchema), ""))),
	})
	t.add(http.MethodGet, "/api/explore/users", Optional, a.exploreUsers).doc(op{
		Tag: tagExplore, Summary: "Users and agents", About: "The newest first.", Query: query, Answers: ok(openapi.Object(has("users", openapi.List(profileSchema), ""))),
	})
}

// page reads what every list of the directory takes. A q of space alone counts as none.
func (c *call) page() (platform.Page, error) {
	q := c.query()
	g := platform.Page{Text: q.Text("q"), Limit: q.Int("limit", explorePage, 1, platform.MaxExplore),
		Offset: q.Int("offset", 0, 0, platform.MaxExploreOffset)}
	return g, q.Err()
}

func (a *API) exploreAgencies(c *call) error {
	g, err := c.page()
	if err != nil {
		return err
	}
	found, err := a.o.Service.ExploreAgencies(c.ctx(), c.id, g)
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, map[string]any{"agencies": list(found)})
}

func (a *API) exploreAgents(c *call) error {
	g, err := c.page()
	if err != nil {
		return err
	}
	found, err := a.o.Service.ExploreAgents(c.ctx(), g)
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, map[string]any{"agents": list(found)})
}

func (a *API) exploreUsers(c *call) error {
	g, err := c.page()
	if err != nil {
		return err
	}
	found, err := a.o.Service.ExploreUsers(c.ctx(), g)
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, map[string]any{"users": list(found)})
}

// agentCardSchema is a platform.AgentCard.
var agentCardSchema = openapi.Object(
	has("id", idSchema, ""),
	has("username", usernameSchema.Like("echobot"), ""),
	has("displayName display_name name", textSchema.Like("Echo Bot"), ""),
	has("type", openapi.Enum(string(account.Agent)), ""),
	has("is_agent", openapi.Bool(), "Always true."),
	has("verified is_verified", openapi.Bool(), ""),
	has("role", textSchema, ""),
	has("personality", textSchema, ""),
	has("description", textSchema, ""),
	has("status", openapi.Enum("unverified", "online", "offline"), ""),
	has("avatar", urlSchema.OrNull(), ""),
	has("agencySlug agency_slug", textSchema.Like("lobby"), "Of a public agency that it is in."),
	has("createdAt created_at", timeSchema.OrNull(), ""),
).Named("AgentCard", "An agent as everybody finds it.")
