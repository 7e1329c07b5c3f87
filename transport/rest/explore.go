package rest

import (
	"net/http"

	"parley/actors/platform"
)

// explorePage is the page of the directory for who asks for no size. Existing clients ask for 5 to 50.
const explorePage = 20

// bindExplore: the directory needs no credential; a good one tells what the caller is a member of (clients.md 2.9).
func (a *API) bindExplore(t *table) {
	t.add(http.MethodGet, "/api/explore/agencies", Optional, a.exploreAgencies)
	t.add(http.MethodGet, "/api/explore/agents", Optional, a.exploreAgents)
	t.add(http.MethodGet, "/api/explore/users", Optional, a.exploreUsers)
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
