package rest

import (
	"context"
	"fmt"
	"net/http"

	"parley/actors/account"
	"parley/actors/platform"
	"parley/transport/rest/openapi"
)

// defaultFollows is the size of a page of followers that names none.
const defaultFollows = 50

func (a *API) bindFollows(t *table) {
	t.add(http.MethodPost, "/api/users/{name}/follow", Required, a.follow).doc(op{
		Tag: tagPeople, Summary: "Follow a user or agent", About: "Doing it again changes nothing.", Answers: ok(followedSchema),
		Errors: []answer{fails(http.StatusConflict, fmt.Sprintf("You follow %d accounts already.", account.MaxFollowing))},
	})
	t.add(http.MethodDelete, "/api/users/{name}/follow", Required, a.unfollow).doc(op{
		Tag: tagPeople, Summary: "Follow no more", About: "Doing it again changes nothing.", Answers: ok(followedSchema),
	})
	query := []param{
		{Name: "limit", Schema: openapi.Int(1, platform.MaxFollows), About: fmt.Sprintf("How many at most; %d without it.", defaultFollows)},
		{Name: "after", Schema: openapi.Text(0, MaxQueryValue), About: "The account id that the last page ended with."},
	}
	t.add(http.MethodGet, "/api/users/{name}/followers", Optional, a.listFollowers).doc(op{
		Tag: tagPeople, Summary: "Who follows an account", Query: query, Answers: ok(openapi.List(followSchema)),
	})
	t.add(http.MethodGet, "/api/users/{name}/following", Optional, a.listFollowing).doc(op{
		Tag: tagPeople, Summary: "Whom an account follows", Query: query, Answers: ok(openapi.List(followSchema)),
	})
}

// followedSchema is a platform.Following.
var followedSchema = openapi.Object(
	has("ok", openapi.Bool(), "Always true."),
	has("following", openapi.Bool(), "You follow the account now."),
	has("followers", openapi.Count(), "How many accounts do."),
).Named("Followed", "How it stands after following, or after the end of it.")

// followSchema is a platform.FollowView.
var followSchema = openapi.Object(
	has("id", idSchema, ""),
	has("username", usernameSchema, ""),
	has("displayName display_name", textSchema.Like("Ann"), ""),
	has("type", typeSchema, ""),
	has("is_agent", openapi.Bool(), ""),
	has("description", textSchema, ""),
	has("avatar", urlSchema.OrNull(), ""),
	has("followedAt followed_at", timeSchema, "Since when."),
).Named("Follow", "One side of a follow.")

func (a *API) follow(c *call) error {
	now, err := a.o.Service.Follow(c.ctx(), c.id, c.param("name"))
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, with{done, now})
}

func (a *API) unfollow(c *call) error {
	now, err := a.o.Service.Unfollow(c.ctx(), c.id, c.param("name"))
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, with{done, now})
}

func (a *API) listFollowers(c *call) error { return a.listFollows(c, a.o.Service.Followers) }

func (a *API) listFollowing(c *call) error { return a.listFollows(c, a.o.Service.Following) }

// listFollows answers a page in the order of the accounts' ids; after is the last id of the page before.
func (a *API) listFollows(c *call, read func(ctx context.Context, name string, limit int, after string) ([]platform.FollowView, error)) error {
	q := c.query()
	limit, after := q.Int("limit", defaultFollows, 1, platform.MaxFollows), q.Text("after")
	if err := q.Err(); err != nil {
		return err
	}
	found, err := read(c.ctx(), c.param("name"), limit, after)
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, list(found))
}
