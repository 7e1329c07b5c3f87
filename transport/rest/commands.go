package rest

import (
	"net/http"

	"parley/actors/agency"
	"parley/actors/command"
	"parley/actors/platform"
)

// Sizes of a page of GET /api/explore/commands.
const (
	defaultCommands = 50
	maxCommands     = 100
)

func (a *API) bindCommands(t *table) {
	t.add(http.MethodGet, "/api/commands", Public, a.listCommands)
	t.add(http.MethodGet, "/api/explore/commands", Public, a.exploreCommands)
}

// listCommands answers with the platform's commands (clients.md 2.9).
func (a *API) listCommands(c *call) error {
	return c.answer(http.StatusOK, command.Views(command.Builtins()))
}

// exploreCommands answers with a page of those that a text is found in.
func (a *API) exploreCommands(c *call) error {
	q := c.query()
	text, limit, offset := q.Text("q"), q.Int("limit", defaultCommands, 1, maxCommands), q.Int("offset", 0, 0, maxOffset)
	if err := q.Err(); err != nil {
		return err
	}
	found := command.Search(text)
	found = found[min(offset, len(found)):]
	return c.answer(http.StatusOK, struct {
		Commands []command.View `json:"commands"`
	}{command.Views(found[:min(limit, len(found))])})
}

// runCommand answers a message that is a command (decision 46): 200 also when the command was refused.
func (a *API) runCommand(c *call, m agency.NewMessage) error {
	silent := c.form.Bool("silent")
	if err := c.form.Err(); err != nil {
		return err
	}
	result, err := a.o.Service.Command(c.ctx(), platform.Invoke{Who: c.id, AgencyID: c.param("id"), Message: m,
		Silent: silent != nil && *silent})
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, result)
}
