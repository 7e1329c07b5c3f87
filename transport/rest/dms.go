package rest

import (
	"net/http"
	"parley/transport/rest/openapi"
)

// bindDMs adds the direct messages. {id} is the other account's when one is opened, and the agency's otherwise.
func (a *API) bindDMs(t *table) {
	t.add(http.MethodGet, "/api/dm", Required, a.listDMs).doc(op{
		Tag: tagDMs, Summary: "List your direct messages", About: "The latest activity first.", Query: offsetQuery(), Answers: ok(openapi.List(dmSchema)),
	})
	t.add(http.MethodPost, "/api/dm/{id}", Required, a.openDM).doc(op{
		Tag: tagDMs, Summary: "Open a direct message", Params: map[string]string{"id": "The other account's id."},
		Answers: []answer{{Status: http.StatusCreated, Schema: dmSchema}, {Status: http.StatusOK, Schema: dmSchema, About: "It was there."}},
		Errors:  []answer{fails(http.StatusBadRequest, "It is yourself."), fails(http.StatusForbidden, "You have opened as many as an account can.")},
	})
	t.add(http.MethodDelete, "/api/dm/{id}", Required, a.hideDM).doc(op{
		Tag: tagDMs, Summary: "Hide a direct message", About: "It is out of your list until a later message is there. The other side notices nothing.", Answers: ok(okSchema),
	})
	t.add(http.MethodGet, "/api/dm/{id}/messages", Required, a.listDMMessages).doc(op{
		Tag: tagDMs, Summary: "Read a direct message", About: "As the messages of an agency, whose addresses work with its id too.", Query: historyQuery(), Answers: ok(openapi.List(messageSchema)),
	})
	t.add(http.MethodPost, "/api/dm/{id}/purge", Required, a.purgeDM).doc(op{
		Tag: tagDMs, Summary: "Delete all messages of a direct message", About: "For both sides.", Answers: ok(okSchema),
	})
}

func (a *API) listDMs(c *call) error {
	q := c.query()
	limit, offset := q.Int("limit", 0, 1, maxPage), q.Int("offset", 0, 0, maxOffset)
	if err := q.Err(); err != nil {
		return err
	}
	found, err := a.o.Service.DMs(c.ctx(), c.id, limit, offset)
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, list(found))
}

// openDM answers 201 when the direct message was made, and 200 when it was there.
func (a *API) openDM(c *call) error {
	opened, made, err := a.o.Service.OpenDM(c.ctx(), c.id, c.param("id"))
	if err != nil {
		return err
	}
	status := http.StatusOK
	if made {
		status = http.StatusCreated
	}
	return c.answer(status, opened)
}

func (a *API) hideDM(c *call) error {
	if err := a.o.Service.HideDM(c.ctx(), c.id, c.param("id")); err != nil {
		return err
	}
	return c.ok()
}

func (a *API) listDMMessages(c *call) error {
	h, err := history(c.query())
	if err != nil {
		return err
	}
	found, err := a.o.Service.DMMessages(c.ctx(), c.id, c.param("id"), h)
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, list(found))
}

func (a *API) purgeDM(c *call) error {
	if err := a.o.Service.PurgeDM(c.ctx(), c.id, c.param("id")); err != nil {
		return err
	}
	return c.ok()
}

// dmSchema is a platform.DMView.
var dmSchema = openapi.Object(
	has("agencyId agency_id id", idSchema, "Messages, reactions and join-agency work with it as in any agency."),
	has("participant", openapi.Object(
		has("id", idSchema, ""), has("username", textSchema.Like("bob"), ""), has("displayName display_name", textSchema.Like("Bob"), ""), has("type", typeSchema, ""),
		has("is_agent", openapi.Bool(), ""), has("avatar", urlSchema.OrNull(), ""), has("online", openapi.Bool(), ""), may("deleted", openapi.Bool(), "The account is no more."),
	), "The other side."),
	has("lastMessage last_message", textSchema.OrNull(), "How the newest message begins; null: there is none."),
	has("lastMessageAt last_message_at", timeSchema.OrNull(), ""),
	has("createdAt created_at", timeSchema.OrNull(), ""),
).Named("DirectMessage", "What two accounts say to each other, as one of them sees it.")
