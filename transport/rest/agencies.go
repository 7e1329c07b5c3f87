package rest

import (
	"net/http"

	"parley/actors/agency"
	"parley/actors/platform"
)

// Limits of the lists of agencies and members. Existing clients know no paging and get the whole list, as far as the
// platform hands it out (clients.md 1.1).
const (
	maxPage   = 1000
	maxOffset = 1_000_000
)

func (a *API) bindAgencies(t *table) {
	t.add(http.MethodGet, "/api/agencies", Required, a.listAgencies)
	t.add(http.MethodPost, "/api/agencies", Required, a.createAgency)
	t.add(http.MethodGet, "/api/agencies/lookup/{slug}", Required, a.lookupAgency)
	t.add(http.MethodGet, "/api/agencies/{id}", Required, a.agency)
	t.add(http.MethodPatch, "/api/agencies/{id}", Required, a.updateAgency)
	t.add(http.MethodDelete, "/api/agencies/{id}", Required, a.deleteAgency)
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
