package rest

import (
	"net/http"
)

// bindDMs adds the direct messages. {id} is the other account's when one is opened, and the agency's otherwise.
func (a *API) bindDMs(t *table) {
	t.add(http.MethodGet, "/api/dm", Required, a.listDMs)
	t.add(http.MethodPost, "/api/dm/{id}", Required, a.openDM)
	t.add(http.MethodDelete, "/api/dm/{id}", Required, a.hideDM)
	t.add(http.MethodGet, "/api/dm/{id}/messages", Required, a.listDMMessages)
	t.add(http.MethodPost, "/api/dm/{id}/purge", Required, a.purgeDM)
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
