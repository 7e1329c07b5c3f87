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
	t.add(http.MethodGet, "/healthz", Public, (*call).ok).doc(op{
		Tag: tagServer, Summary: "Is the process alive", Answers: ok(okSchema),
	}).Static = true
	t.add(http.MethodGet, "/readyz", Public, a.ready).doc(op{
		Tag: tagServer, Summary: "Can the server do its work", Answers: ok(okSchema),
		Errors: []answer{fails(http.StatusServiceUnavailable, "It is ending, or its store does not answer.")},
	})
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
