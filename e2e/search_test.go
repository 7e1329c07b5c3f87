package e2e

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"parley/e2e/client"
	"parley/transport/rest/scenario"
)

// TestSearch: what is said is found by its words and by who it mentions, after edits, deletions and a kill, in a room
// that is longer than what is read without an index.
func TestSearch(t *testing.T) {
	t.Parallel()
	server := own(t)
	api := client.API{Base: server.URL()}
	ann, bob, eve := user(t, api, "ann"), user(t, api, "bob"), user(t, api, "eve")
	g := ann.room(t, "talk", true)
	vars := map[string]string{"ann": ann.Token, "eve": eve.Token, "bob": bob.Username, "m": "/api/agencies/" + g.ID + "/messages"}
	run := func(steps ...step) {
		t.Helper()
		scenario.Run(t, scenario.Server(api.Base), vars, bearing("ann", steps))
	}
	run(step{URL: "{{m}}", Body: `{"content":"The Quick brown fox <b>"}`, Status: 201, Save: map[string]string{"fox": "id"}},
		step{URL: "{{m}}", Body: `{"content":"quick, @{{bob}}: a brown bear","replyTo":"{{fox}}"}`, Status: 201, Want: []string{`"reply_to":"{{fox}}"`}, Save: map[string]string{"bear": "id"}},
		step{URL: "{{m}}", Body: `{"content":"@{{bob}}_x is somebody else's wolf"}`, Status: 201, Save: map[string]string{"wolf": "id"}},
		step{URL: "{{m}}", Body: `{"content":"to nobody","reply_to":"00000000-0000-8000-8000-000000000001"}`, Status: 400, Want: []string{"replyTo"}})
	fill(t, ann.API, g, 1100)
	find := func() {
		t.Helper()
		run(step{URL: "{{m}}?q=QUICK+brown", Status: 200, Want: []string{"{{fox}}", "{{bear}}"}, WantNot: []string{`"id":"{{wolf}}"`, "straw"}, Save: map[string]string{"newest": "0.id"}},
			step{URL: "{{m}}?q=quick&order=asc&limit=1", Status: 200, Save: map[string]string{"oldest": "0.id"}},
			step{URL: "{{m}}?q=%22brown+fox%22", Status: 200, Want: []string{"brown fox <b>"}, WantNot: []string{"bear"}},
			step{URL: "{{m}}?q=%22brown+quick%22", Status: 200, WantNot: []string{"id"}},
			step{URL: "{{m}}?mentions={{bob}}", Status: 200, Want: []string{"bear"}, WantNot: []string{"wolf"}},
			step{URL: "{{m}}?mentions=" + strings.ToUpper(vars["bob"]) + "&q=fox", Status: 200, WantNot: []string{"id"}},
			step{URL: "{{m}}?q=quick&before={{bear}}", Status: 200, Want: []string{"fox"}, WantNot: []string{"bear"}},
			step{URL: "{{m}}?q=straw&limit=100", Status: 200, Want: []string{"straw 1099 "}},
			step{URL: "{{m}}?q=%22straw+500%22", Status: 200, Want: []string{"straw 500 "}, WantNot: []string{"straw 501 "}})
		if vars["newest"] != vars["bear"] || vars["oldest"] != vars["fox"] {
			t.Errorf("newest %s, oldest %s of %s and %s", vars["newest"], vars["oldest"], vars["fox"], vars["bear"])
		}
	}
	restart := func() {
		t.Helper()
		if err := server.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := server.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	find()
	restart()
	find()
	run(step{URL: "{{m}}?q=%3F!", Status: 400, Want: []string{"q must have a word"}},
		step{URL: "{{m}}?mentions=a%20b", Status: 400, Want: []string{"mentions must be a username"}},
		step{URL: "{{m}}?q=" + strings.Repeat("x", 257), Status: 400, Want: []string{"q is longer"}},
		step{URL: "{{m}}?q=quick", Token: "{{eve}}", Status: 404},
		step{Method: "PATCH", URL: "{{m}}/{{fox}}", Body: `{"content":"a slow hedgehog"}`, Status: 200},
		step{Method: "DELETE", URL: "{{m}}/{{bear}}", Status: 200})
	restart()
	run(step{URL: "{{m}}?q=hedgehog", Status: 200, Want: []string{`"id":"{{fox}}"`}},
		step{URL: "{{m}}?q=quick", Status: 200, WantNot: []string{"id"}},
		step{URL: "{{m}}?mentions={{bob}}", Status: 200, WantNot: []string{"id"}})
}

// fill posts messages from several connections.
func fill(t *testing.T, api client.API, g client.Agency, n int) {
	t.Helper()
	var wg sync.WaitGroup
	ctx := soon(t)
	const posters = 8
	for p := range posters {
		wg.Go(func() {
			for i := p; i < n; i += posters {
				if _, err := api.Post(ctx, g.ID, fmt.Sprintf("straw %d .", i), ""); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}
