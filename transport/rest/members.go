package rest

import (
	"net/http"
	"strings"

	"parley/actors/agency"
)

func (a *API) bindMembers(t *table) {
	t.add(http.MethodGet, "/api/agencies/{id}/members", Required, a.listMembers)
	t.add(http.MethodPost, "/api/agencies/{id}/join", Required, a.join)
	t.add(http.MethodPost, "/api/agencies/{id}/leave", Required, a.leave)
}

func (a *API) listMembers(c *call) error {
	q := c.query()
	limit, after, text := q.Int("limit", 0, 1, maxPage), q.Text("after"), strings.TrimSpace(q.Text("q"))
	if err := q.Err(); err != nil {
		return err
	}
	var found []agency.MemberView
	var err error
	if text == "" {
		found, err = a.o.Service.Members(c.ctx(), c.id, c.param("id"), limit, after)
	} else {
		found, err = a.o.Service.FindMembers(c.ctx(), c.id, c.param("id"), text, limit, after)
	}
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, list(found))
}

// join answers the agency as its new member sees it.
func (a *API) join(c *call) error {
	joined, err := a.o.Service.Join(c.ctx(), c.id, c.param("id"))
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, with{joined, done})
}

func (a *API) leave(c *call) error {
	if err := a.o.Service.Leave(c.ctx(), c.id, c.param("id")); err != nil {
		return err
	}
	return c.ok()
}
