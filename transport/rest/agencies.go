package rest

import (
	"net/http"

	"parley/actors/agency"
	"parley/actors/platform"
	"parley/transport/rest/openapi"
)

// Limits of the lists of agencies and members. Existing clients know no paging and get the whole list, as far as the
// platform hands it out (clients.md 1.1).
const (
	maxPage   = 1000
	maxOffset = 1_000_000
)

func (a *API) bindAgencies(t *table) {
	t.add(http.MethodGet, "/api/agencies", Required, a.listAgencies).doc(op{
		Tag: tagAgencies, Summary: "List agencies", About: "The Lobby and yours, the oldest first, then public ones, the larger first.",
		Query:   append(offsetQuery(), searchQuery),
		Answers: ok(openapi.List(agencySchema)),
	})
	t.add(http.MethodPost, "/api/agencies", Required, a.createAgency).doc(op{
		Tag: tagAgencies, Summary: "Create an agency", About: "You are its owner.", Body: newAgencyForm, Answers: created(agencySchema),
		Errors: []answer{fails(http.StatusConflict, "The slug is taken.")},
	})
	t.add(http.MethodGet, "/api/agencies/lookup/{slug}", Required, a.lookupAgency).doc(op{
		Tag: tagAgencies, Summary: "Find an agency by its slug", Answers: ok(agencySchema),
	})
	t.add(http.MethodGet, "/api/agencies/{id}", Required, a.agency).doc(op{Tag: tagAgencies, Summary: "An agency", Answers: ok(agencySchema)})
	t.add(http.MethodPatch, "/api/agencies/{id}", Required, a.updateAgency).doc(op{
		Tag: tagAgencies, Summary: "Change an agency", About: "For its owner and admins. Fields that are not named stay.",
		Body: openapi.Form(
			may("name", openapi.Text(1, agency.MaxName), ""), may("charter", openapi.Text(0, agency.MaxCharter).Like("Be kind."), ""),
			may("isPrivate is_private", openapi.Bool(), ""),
		),
		Answers: ok(agencySchema), Errors: []answer{fails(http.StatusForbidden, "You are neither owner nor admin, or it is the Lobby.")},
	})
	t.add(http.MethodDelete, "/api/agencies/{id}", Required, a.deleteAgency).doc(op{
		Tag: tagAgencies, Summary: "Delete an agency", About: "For its owner.", Answers: ok(okSchema),
		Errors: []answer{fails(http.StatusForbidden, "You are not its owner, or it is the Lobby.")},
	})
}

func (a *API) listAgencies(c *call) error {
	q := c.query()
	g := platform.Page{Text: q.Text("q"), Limit: q.Int("limit", 0, 1, maxPage), Offset: q.Int("offset", 0, 0, maxOffset)}
	if err := q.Err(); err != nil {
		return err
	}
	found, err := a.o.Service.ListAgencies(c.ctx(), c.id, g)
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, found)
}

func (a *API) createAgency(c *call) error {
	n := newAgency(c.form)
	if err := c.form.Err(); err != nil {
		return err
	}
	made, err := a.o.Service.CreateAgency(c.ctx(), c.id, n)
	if err != nil {
		return err
	}
	return c.answer(http.StatusCreated, made)
}

func (a *API) lookupAgency(c *call) error {
	found, err := a.o.Service.AgencyBySlug(c.ctx(), c.id, c.param("slug"))
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, found)
}

func (a *API) agency(c *call) error {
	found, err := a.o.Service.Agency(c.ctx(), c.id, c.param("id"))
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, found)
}

func (a *API) updateAgency(c *call) error {
	u := agencyUpdate(c.form)
	if err := c.form.Err(); err != nil {
		return err
	}
	changed, err := a.o.Service.UpdateAgency(c.ctx(), c.id, c.param("id"), u)
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, changed)
}

func (a *API) deleteAgency(c *call) error {
	if err := a.o.Service.DeleteAgency(c.ctx(), c.id, c.param("id")); err != nil {
		return err
	}
	return c.ok()
}

func newAgency(f *form) agency.NewAgency {
	private := f.Bool("isPrivate", "is_private")
	return agency.NewAgency{
		Name:    f.Required("name"),
		Slug:    f.String("slug"),
		Charter: f.Text("charter"),
		Private: private != nil && *private,
	}
}

func agencyUpdate(f *form) agency.Update {
	return agency.Update{Name: f.Text("name"), Charter: f.Text("charter"), Private: f.Bool("isPrivate", "is_private")}
}

var newAgencyForm = openapi.Form(
	has("name", openapi.Text(1, agency.MaxName).Like("Reef watch"), ""),
	may("slug", openapi.Text(0, agency.MaxSlug), "Its name in addresses; made of the name without it."),
	may("charter", openapi.Text(0, agency.MaxCharter).Like("Be kind."), "What it is for."),
	may("isPrivate is_private", openapi.Bool(), "Only members see a private one, and only invites lead into it."),
)

// agencySchema is an agency.View.
var agencySchema = openapi.Object(
	has("id", idSchema, ""),
	has("name", openapi.Text(1, agency.MaxName).Like("Reef watch"), ""),
	has("slug", textSchema.Like("reef-watch"), ""),
	has("charter", openapi.Text(0, agency.MaxCharter).OrNull(), ""),
	has("isPrivate is_private", openapi.Bool(), ""),
	has("type", openapi.Enum("agency", "lobby", "dm"), ""),
	has("memberCount member_count", openapi.Count(), ""),
	has("isMember is_member", openapi.Bool(), "Whether you are one."),
	has("role", roleSchema.OrNull(), "Yours; null for outsiders."),
	has("createdAt created_at", timeSchema.OrNull(), ""),
).Named("Agency", "An agency as who asks sees it.")
