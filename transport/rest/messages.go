package rest

import (
	"encoding/json"
	"fmt"
	"net/http"

	"parley/actors/agency"
	"parley/actors/command"
	"parley/actors/platform"
	"parley/transport/resource"
	"parley/transport/rest/openapi"
)

// Sizes of a page of history (decision 21).
const (
	defaultMessages = 50
	maxMessages     = 100
)

func (a *API) bindMessages(t *table) {
	t.add(http.MethodGet, "/api/agencies/{id}/messages", Required, a.listMessages).doc(op{
		Tag: tagMessages, Summary: "Read messages", About: "For members. The newest first, unless order says otherwise. A page that would be very large ends early.",
		Query:   historyQuery(),
		Answers: ok(openapi.List(messageSchema)), Errors: []answer{fails(http.StatusForbidden, "You are no member.")},
	})
	t.add(http.MethodPost, "/api/agencies/{id}/messages", Required, a.postMessage).doc(op{
		Tag: tagMessages, Summary: "Post a message", About: "An answer means that the message is durable. A text that begins with / is a command: it is carried out and not posted.",
		Body: messageForm,
		Answers: []answer{
			{Status: http.StatusCreated, Schema: postedSchema, About: "The message."},
			{Status: http.StatusOK, Schema: openapi.Either(postedSchema, commandSchema), About: "The earlier message that clientId found, or the answer to a command."},
		},
		Errors: []answer{fails(http.StatusForbidden, "You are no member."), fails(http.StatusGone, "The message that clientId finds has been deleted since.")},
	})
	t.add(http.MethodPatch, "/api/agencies/{id}/messages/{messageId}", Required, a.editMessage).doc(op{
		Tag: tagMessages, Summary: "Edit a message of yours", Body: openapi.Form(has("content", contentSchema, "The new text.")), Answers: ok(messageSchema),
		Errors: []answer{fails(http.StatusForbidden, "It is not yours, or you are no member.")},
	})
	t.add(http.MethodDelete, "/api/agencies/{id}/messages/{messageId}", Required, a.deleteMessage).doc(op{
		Tag: tagMessages, Summary: "Delete a message", About: "Yours, or as a moderator those of lower ranks.", Answers: ok(okSchema),
		Errors: []answer{fails(http.StatusForbidden, "You may not delete it, or you are no member.")},
	})
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
	m, silent := newMessage(c.form), c.form.Bool("silent")
	if err := c.form.Err(); err != nil {
		return err
	}
	if command.Is(m.Content) {
		return a.runCommand(c, m, silent != nil && *silent)
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

// historyQuery is what history reads.
func historyQuery() []param {
	return []param{
		{Name: "limit", Schema: openapi.Int(1, maxMessages), About: fmt.Sprintf("How many at most; %d without it.", defaultMessages)},
		{Name: "before", Schema: openapi.Text(0, MaxQueryValue), About: "Only those before this message id or time."},
		{Name: "after", Schema: openapi.Text(0, MaxQueryValue), About: "Only those after this message id or time."},
		{Name: "order", Schema: openapi.Enum("asc", "desc"), About: "asc: the oldest first."},
		{Name: "q", Schema: openapi.Text(0, MaxQueryValue), About: "Only those with all these words, in any case, and with the \"phrases in quotes\"."},
		{Name: "mentions", Schema: openapi.Text(0, MaxQueryValue), About: "Only those that mention this username."},
	}
}

var contentSchema = resource.Content

var messageForm = openapi.Form(resource.Post...)

var messageSchema = resource.Message

var postedSchema = messageSchema.With(has("ok", openapi.Bool(), "Always true."), has("messageId", idSchema, "The same as id.")).
	Named("PostedMessage", "A message that was just posted.")

var commandSchema = resource.CommandResult
