package rest

import (
	"net/http"
	"strings"

	"parley/actors/agency"
	"parley/transport/resource"
	"parley/transport/rest/openapi"
)

func (a *API) bindMembers(t *table) {
	t.add(http.MethodGet, "/api/agencies/{id}/members", Required, a.listMembers).doc(op{
		Tag: tagMembers, Summary: "List the members of an agency", About: "By the order of their ids.", Query: append(pageQuery(), searchQuery), Answers: ok(openapi.List(memberSchema)),
	})
	t.add(http.MethodPost, "/api/agencies/{id}/join", Required, a.join).doc(op{
		Tag: tagMembers, Summary: "Become a member of a public agency", About: "Answers the same when you are one.",
		Answers: ok(agencySchema.With(has("ok", openapi.Bool(), "Always true."))),
		Errors:  []answer{fails(http.StatusForbidden, "You are banned; the sentence says why and until when.")},
	})
	t.add(http.MethodPost, "/api/agencies/{id}/leave", Required, a.leave).doc(op{
		Tag: tagMembers, Summary: "Stop being a member", Answers: ok(okSchema),
		Errors: []answer{fails(http.StatusForbidden, "You are no member, or it is the Lobby."), fails(http.StatusConflict, "You are the last owner: transfer or delete the agency.")},
	})
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

var memberSchema = resource.Member
