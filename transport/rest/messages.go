package rest

import (
	"encoding/json"
	"fmt"
	"net/http"

	"parley/actors/agency"
	"parley/actors/command"
	"parley/actors/platform"
)

// Sizes of a page of history (decision 21).
const (
	defaultMessages = 50
	maxMessages     = 100
)

func (a *API) bindMessages(t *table) {
	t.add(http.MethodGet, "/api/agencies/{id}/messages", Required, a.listMessages)
	t.add(http.MethodPost, "/api/agencies/{id}/messages", Required, a.postMessage)
	t.add(http.MethodPatch, "/api/agencies/{id}/messages/{messageId}", Required, a.editMessage)
	t.add(http.MethodDelete, "/api/agencies/{id}/messages/{messageId}", Required, a.deleteMessage)
}

func (a *API) listMessages(c *call) error {
	h, err := history(c.query())
	if err != nil {
		return err
	}
	found, err := a.o.Service.Messages(c.ctx(), c.id, c.param("id"), h)
	if err != nil {
		return err
	}
	return c.answerRaw(http.StatusOK, found)
}

// postMessage answers 200 instead of 201 when clientId found the earlier message (decision 40).
func (a *API) postMessage(c *call) error {
	m := newMessage(c.form)
	if err := c.form.Err(); err != nil {
		return err
	}
	if command.Is(m.Content) {
		return a.runCommand(c, m)
	}
	posted, earlier, err := a.o.Service.Post(c.ctx(), c.id, c.param("id"), m)
	if err != nil {
		return err
	}
	var made struct {
		ID string `json:"id"`
	}
	if err := json.Unmarshal(posted, &made); err != nil {
		return fmt.Errorf("posted message: %w", err)
	}
	status := http.StatusCreated
	if earlier {
		status = http.StatusOK
	}
	return c.answer(status, with{posted, struct {
		OK        bool   `json:"ok"`
		MessageID string `json:"messageId"`
	}{true, made.ID}})
}

func (a *API) editMessage(c *call) error {
	content := c.form.Required("content")
	if err := c.form.Err(); err != nil {
		return err
	}
	edited, err := a.o.Service.EditMessage(c.ctx(), c.id, c.param("id"), c.param("messageId"), content)
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, edited)
}

func (a *API) deleteMessage(c *call) error {
	if err := a.o.Service.DeleteMessage(c.ctx(), c.id, c.param("id"), c.param("messageId")); err != nil {
		return err
	}
	return c.ok()
}

func history(q *query) (platform.History, error) {
	h := platform.History{
		Limit:     q.Int("limit", defaultMessages, 1, maxMessages),
		Before:    q.Text("before"),
		After:     q.Text("after"),
		Ascending: q.Ascending(),
		Query:     q.Text("q"),
		Mentions:  q.Text("mentions"),
	}
	return h, q.Err()
}

func newMessage(f *form) agency.NewMessage {
	return agency.NewMessage{
		Content:  f.Required("content"),
		Type:     f.String("type"),
		Metadata: f.Raw("metadata"),
		ReplyTo:  f.String("replyTo", "reply_to"),
		ClientID: f.String("clientId", "client_id"),
	}
}
