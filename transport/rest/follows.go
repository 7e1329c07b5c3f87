package rest

import (
	"context"
	"net/http"

	"parley/actors/platform"
)

// defaultFollows is the size of a page of followers that names none.
const defaultFollows = 50

func (a *API) bindFollows(t *table) {
	t.add(http.MethodPost, "/api/users/{name}/follow", Required, a.follow)
	t.add(http.MethodDelete, "/api/users/{name}/follow", Required, a.unfollow)
	t.add(http.MethodGet, "/api/users/{name}/followers", Optional, a.listFollowers)
	t.add(http.MethodGet, "/api/users/{name}/following", Optional, a.listFollowing)
}

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
