package e2e

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"parley/e2e/client"
)

// TestSkills: installing and listing (decisions 19, 37).
func TestSkills(t *testing.T) {
	t.Parallel()
	api := common(t)
	ann, bob := user(t, api, "ann"), user(t, api, "bob")
	room := ann.room(t, "workshop", true)
	at := "/api/agencies/" + room.ID + "/skills"
	type lists struct {
		Installed, Available []struct{ Name, Description string }
	}
	if l := must[lists](t, ann.API, http.MethodGet, at, nil); len(l.Installed) != 0 || len(l.Available) != 4 {
		t.Fatalf("%+v", l)
	}
	must[json.RawMessage](t, ann.API, http.MethodPost, at, map[string]string{"skillName": "dice"})
	if l := must[lists](t, ann.API, http.MethodPost, at, map[string]string{"skill_name": "dice"}); len(l.Installed) != 1 || l.Installed[0].Name != "dice" || l.Installed[0].Description == "" {
		t.Errorf("%+v", l)
	}
	if says := refused(t, ann.API, http.MethodPost, at, map[string]string{"name": "nope"}, 404); !strings.Contains(says, "echo") {
		t.Error(says)
	}
	refused(t, bob.API, http.MethodGet, at, nil, 404)
	must[json.RawMessage](t, ann.API, http.MethodDelete, at+"/dice", nil)
	refused(t, ann.API, http.MethodDelete, at+"/dice", nil, 404)
	lobby := must[client.Agency](t, ann.API, http.MethodGet, "/api/agencies/lookup/lobby", nil)
	refused(t, ann.API, http.MethodPost, "/api/agencies/"+lobby.ID+"/skills", map[string]string{"skillName": "echo"}, 403)
}
