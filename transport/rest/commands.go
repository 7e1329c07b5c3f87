package rest

import (
	"fmt"
	"net/http"

	"parley/actors/agency"
	"parley/actors/command"
	"parley/actors/platform"
	"parley/transport/rest/openapi"
)

// Sizes of a page of GET /api/explore/commands.
const (
	defaultCommands = 50
	maxCommands     = 100
)

func (a *API) bindCommands(t *table) {
	t.add(http.MethodGet, "/api/commands", Public, a.listCommands).doc(op{
		Tag: tagExplore, Summary: "The built-in commands", Answers: ok(openapi.List(commandViewSchema)),
	})
	t.add(http.MethodGet, "/api/explore/commands", Public, a.exploreCommands).doc(op{
		Tag: tagExplore, Summary: "Find built-in commands",
		Query: []param{
			{Name: "q", Schema: openapi.Text(0, MaxQueryValue), About: "Only those whose name or description has this text."},
			{Name: "limit", Schema: openapi.Int(1, maxCommands), About: fmt.Sprintf("How many at most; %d without it.", defaultCommands)},
			{Name: "offset", Schema: openapi.Int(0, maxOffset), About: "How many to pass over."},
		},
		Answers: ok(openapi.Object(has("commands", openapi.List(commandViewSchema), ""))),
	})
}

// commandViewSchema is a command.View.
var commandViewSchema = openapi.Object(
	has("name", textSchema.Like("roll"), ""),
	has("command", textSchema.Like("/roll"), "The name with its slash."),
	has("description", textSchema, ""),
	has("type source", textSchema.Like("builtin"), ""),
	has("usage", textSchema.Like("/roll [dice]"), "Its first form."),
	has("forms", openapi.List(openapi.Object(
		has("usage", textSchema, ""), has("description", textSchema, ""), has("who", textSchema, "Who may."),
		has("ephemeral", openapi.Bool(), "Only who gives it is told."),
	)), "The ways to give it."),
).Named("Command", "A slash command.")

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
func (a *API) runCommand(c *call, m agency.NewMessage, silent bool) error {
	result, err := a.o.Service.Command(c.ctx(), platform.Invoke{Who: c.id, AgencyID: c.param("id"), Message: m, Silent: silent})
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, result)
}
