package rest

import (
	"context"
	"net/http"
	"time"

	"parley/actors/kernel"
)

// readyTimeout is how long /readyz waits for the service: a store that takes longer is not there.
const readyTimeout = 2 * time.Second

func (a *API) bindHealth(t *table) {
	t.add(http.MethodGet, "/healthz", Public, (*call).ok)
	t.add(http.MethodGet, "/readyz", Public, a.ready)
}

func (a *API) ready(c *call) error {
	if a.o.Draining() {
		return kernel.Fail(kernel.CodeUnavailable, "the server is shutting down")
	}
	ctx, cancel := context.WithTimeout(c.ctx(), readyTimeout)
	defer cancel()
	if err := a.o.Service.Ready(ctx); err != nil {
		return err
	}
	return c.ok()
}
