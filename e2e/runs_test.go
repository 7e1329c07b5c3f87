package e2e

import (
	"encoding/json"
	"net/http"
	"testing"
)

// TestRunsOverREST: the listing of an agency without runs, and what nobody may see.
func TestRunsOverREST(t *testing.T) {
	t.Parallel()
	api := common(t)
	ann, eve := user(t, api, "ann"), user(t, api, "eve")
	open, hidden := ann.room(t, "room", false), ann.room(t, "room", true)
	if runs := must[[]json.RawMessage](t, ann.API, http.MethodGet, "/api/agencies/"+hidden.ID+"/runs?limit=100&offset=0&status=running", nil); runs == nil || len(runs) != 0 {
		t.Errorf("runs are %v", runs)
	}
	refused(t, ann.API, http.MethodGet, "/api/agencies/"+open.ID+"/runs?status=odd", nil, http.StatusBadRequest)
	refused(t, eve.API, http.MethodGet, "/api/agencies/"+open.ID+"/runs", nil, http.StatusForbidden)
	refused(t, eve.API, http.MethodGet, "/api/agencies/"+hidden.ID+"/runs", nil, http.StatusNotFound)
	for _, id := range []string{"none", "6f0d3f0a-6b0b-4a58-9c0b-0d9a3a1d2c01", hidden.ID} {
		refused(t, ann.API, http.MethodGet, "/api/runs/"+id, nil, http.StatusNotFound)
	}
	refused(t, api, http.MethodGet, "/api/runs/none", nil, http.StatusUnauthorized)
	// A reply and a cursor may name messages by ids that clients made, which have no place of their own.
	refused(t, ann.API, http.MethodGet, "/api/agencies/"+open.ID+"/messages?before=6f0d3f0a-6b0b-4a58-9c0b-0d9a3a1d2c01", nil, http.StatusBadRequest)
}
