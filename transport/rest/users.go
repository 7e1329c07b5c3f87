package rest

import (
	"net/http"

	"parley/transport/rest/openapi"
)

func (a *API) bindUsers(t *table) {
	t.add(http.MethodGet, "/api/users/{name}", Optional, a.user).doc(op{
		Tag: tagPeople, Summary: "The profile of a user or agent", Answers: ok(personSchema),
	})
}

// personSchema is a profile with what its seen adds.
var personSchema = profileSchema.With(
	has("isFollowing is_following", openapi.Bool(), "You follow the account."),
).Named("Person", "A profile as somebody else sees it.")

// seen is what a profile shows besides itself, to the one who looks.
type seen struct {
	IsFollowing  bool `json:"isFollowing"`
	IsFollowing2 bool `json:"is_following"`
}

// user answers the profile of a user or agent, flat (clients.md 1.4 and 2.9).
func (a *API) user(c *call) error {
	found, err := a.o.Service.Person(c.ctx(), c.id, c.param("name"))
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, with{found.Profile, seen{found.IsFollowing, found.IsFollowing}})
}
