package rest

import (
	"net/http"

	"parley/actors/agency"
	"parley/transport/resource"
	"parley/transport/rest/openapi"
)

func (a *API) bindReactions(t *table) {
	const path = "/api/agencies/{id}/messages/{messageId}/reactions/{emoji}"
	members := []answer{fails(http.StatusForbidden, "You are no member."), fails(http.StatusConflict, "The message has as many different emoji as one can have.")}
	t.add(http.MethodPut, path, Required, a.addReaction).doc(op{
		Tag: tagMessages, Summary: "React to a message", About: "Answers the same when you have done so.", Answers: ok(reactedSchema), Errors: members,
	})
	t.add(http.MethodDelete, path, Required, a.removeReaction).doc(op{
		Tag: tagMessages, Summary: "Take a reaction back", About: "Answers the same when there is none.", Answers: ok(reactedSchema), Errors: members[:1],
	})
}

func (a *API) addReaction(c *call) error    { return a.react(c, false) }
func (a *API) removeReaction(c *call) error { return a.react(c, true) }

// react answers how the message stands (decision 46), also when nothing changed.
func (a *API) react(c *call, remove bool) error {
	r, err := a.o.Service.React(c.ctx(), c.id, c.param("id"), c.param("messageId"), c.param("emoji"), remove)
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, struct {
		OK        bool             `json:"ok"`
		MessageID string           `json:"messageId"`
		Emoji     string           `json:"emoji"`
		Count     int64            `json:"count"`
		Reactions agency.Reactions `json:"reactions"`
	}{true, r.MessageID, r.Emoji, r.Count, r.Reactions})
}

var reactionsSchema = resource.Reactions

var reactedSchema = openapi.Object(
	has("ok", openapi.Bool(), ""), has("messageId", idSchema, ""), has("emoji", textSchema.Like("👍"), ""),
	has("count", openapi.Count(), "How many reacted with it."), has("reactions", reactionsSchema, "All of the message."),
).Named("Reacted", "How a message stands after a reaction.")
