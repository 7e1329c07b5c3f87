package rest

import (
	"net/http"

	"parley/actors/agency"
)

func (a *API) bindReactions(t *table) {
	const path = "/api/agencies/{id}/messages/{messageId}/reactions/{emoji}"
	t.add(http.MethodPut, path, Required, a.addReaction)
	t.add(http.MethodDelete, path, Required, a.removeReaction)
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
