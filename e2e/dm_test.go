package e2e

import (
	"encoding/json"
	"net/http"
	"sync"
	"testing"

	"parley/e2e/client"
	"parley/e2e/process"
)

// talk is a direct message as the tests read it.
type talk struct {
	ID          string `json:"id"`
	AgencyID    string `json:"agencyId"`
	AgencyID2   string `json:"agency_id"`
	Participant *struct {
		ID       string `json:"id"`
		Username string `json:"username"`
		Deleted  bool   `json:"deleted"`
	} `json:"participant"`
	LastMessage   *string `json:"last_message"`
	LastMessageAt *string `json:"last_message_at"`
	CreatedAt     string  `json:"created_at"`
}

func (d talk) room() client.Agency { return client.Agency{ID: d.ID} }

// talks lists a person's direct messages; none may lack its participant.
func (p person) talks(t *testing.T) []talk {
	t.Helper()
	list := must[[]talk](t, p.API, http.MethodGet, "/api/dm", nil)
	if list == nil {
		t.Fatal("the list is null")
	}
	for _, d := range list {
		if d.Participant == nil || d.Participant.Username == "" || d.AgencyID != d.ID || d.AgencyID2 != d.ID || d.CreatedAt == "" {
			t.Fatalf("%s lists %+v", p.Username, d)
		}
	}
	return list
}

// open opens a direct message.
func (p person) open(t *testing.T, other person) talk {
	t.Helper()
	d := must[talk](t, p.API, http.MethodPost, "/api/dm/"+other.ID, nil)
	if d.ID == "" || d.AgencyID != d.ID || d.Participant == nil || d.Participant.ID != other.ID {
		t.Fatalf("opened %+v", d)
	}
	return d
}

// crash kills a server and starts it again.
func crash(t *testing.T, server *process.Server) {
	t.Helper()
	if err := server.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := server.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestDirectMessages: two open one, speak live and over REST, hide it, and one of them goes; with a kill in the middle.
func TestDirectMessages(t *testing.T) {
	t.Parallel()
	server := own(t)
	api := client.API{Base: server.URL()}
	ann, bob, eve := user(t, api, "ann"), user(t, api, "bob"), user(t, api, "eve")
	var wg sync.WaitGroup
	found := make([]string, 8)
	for i := range found {
		wg.Go(func() {
			who, other := ann, bob
			if i%2 == 1 {
				who, other = bob, ann
			}
			found[i] = who.open(t, other).ID
		})
	}
	wg.Wait()
	d := ann.open(t, bob)
	for _, id := range found {
		if id != d.ID {
			t.Fatalf("opening at once found %v", found)
		}
	}
	refused(t, ann.API, http.MethodPost, "/api/dm/"+ann.ID, nil, http.StatusBadRequest)
	refused(t, ann.API, http.MethodPost, "/api/dm/nobody", nil, http.StatusNotFound)

	sockets := []*client.Socket{bob.plain(t), bob.socketIO(t)}
	for _, s := range sockets {
		joined(t, s, d.room())
	}
	stranger := eve.plain(t)
	if _, err := stranger.Join(soon(t), d.ID, nil); err == nil {
		t.Error("a stranger joined")
	}
	sent := ann.post(t, d.room(), "hello bob")
	for _, s := range sockets {
		e := event[struct {
			ID       string `json:"id"`
			DM       bool   `json:"dm"`
			AgencyID string `json:"agencyId"`
			SenderID string `json:"sender_id"`
		}](t, s, "message")
		if e.ID != sent.ID || !e.DM || e.AgencyID != d.ID || e.SenderID != ann.ID {
			t.Errorf("%+v", e)
		}
	}
	ack, err := sockets[0].Send(soon(t), d.ID, "hello ann", "")
	if err != nil || !ack.OK {
		t.Fatal(ack, err)
	}
	for _, path := range []string{"/api/agencies/" + d.ID, "/api/agencies/" + d.ID + "/messages", "/api/dm/" + d.ID + "/messages"} {
		refused(t, eve.API, http.MethodGet, path, nil, http.StatusNotFound)
	}
	refused(t, bob.API, http.MethodPost, "/api/agencies/"+d.ID+"/leave", nil, http.StatusForbidden)
	refused(t, bob.API, http.MethodPost, "/api/agencies/"+d.ID+"/invites", nil, http.StatusForbidden)
	refused(t, bob.API, http.MethodDelete, "/api/agencies/"+d.ID, nil, http.StatusForbidden)
	must[json.RawMessage](t, bob.API, http.MethodDelete, "/api/dm/"+d.ID, nil)

	crash(t, server)
	for _, g := range must[[]client.Agency](t, ann.API, http.MethodGet, "/api/agencies", nil) {
		if g.ID == d.ID {
			t.Error("a direct message is among the agencies")
		}
	}
	if hidden, shown := bob.talks(t), ann.talks(t); len(hidden) != 0 || len(shown) != 1 || *shown[0].LastMessage != "hello ann" || shown[0].LastMessageAt == nil {
		t.Errorf("bob lists %+v, ann %+v", hidden, shown)
	}
	history := must[[]client.Message](t, bob.API, http.MethodGet, "/api/dm/"+d.ID+"/messages?limit=20", nil)
	if len(history) != 2 || history[1].ID != sent.ID {
		t.Errorf("%+v", history)
	}
	ann.post(t, d.room(), "still there?")
	if list := bob.talks(t); len(list) != 1 || *list[0].LastMessage != "still there?" {
		t.Errorf("bob lists %+v", list)
	}
	must[json.RawMessage](t, ann.API, http.MethodDelete, "/api/auth/account", map[string]string{"password": password})
	if list := bob.talks(t); len(list) != 1 || !list[0].Participant.Deleted || list[0].Participant.ID != ann.ID {
		t.Errorf("bob lists %+v", list)
	}
	refused(t, bob.API, http.MethodPost, "/api/agencies/"+d.ID+"/messages", map[string]string{"content": "alone"}, http.StatusForbidden)
}

// TestPurgeOverAKill: the server dies in the middle of a purge, and afterwards both sides see nothing.
func TestPurgeOverAKill(t *testing.T) {
	t.Parallel()
	server := own(t)
	api := client.API{Base: server.URL()}
	ann, bob := user(t, api, "ann"), user(t, api, "bob")
	d := ann.open(t, bob)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 320 {
				if _, err := []person{ann, bob}[i%2].Post(soon(t), d.ID, "x", ""); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	purging := make(chan error, 1)
	go func() { purging <- bob.Call(soon(t), http.MethodPost, "/api/dm/"+d.ID+"/purge", nil, nil) }()
	total := func() int {
		return must[struct {
			Platform struct {
				Messages int `json:"total_messages"`
			}
		}](t, api, http.MethodGet, "/metrics/snapshot", nil).Platform.Messages
	}
	before := total()
	eventually(t, "the beginning of the purge", func() bool { return total() < before })
	crash(t, server)
	t.Logf("%d messages, killed; the purge was answered with %v", before, <-purging)
	for _, who := range []person{ann, bob} {
		eventually(t, "the end of the purge", func() bool {
			return len(must[[]client.Message](t, who.API, http.MethodGet, "/api/dm/"+d.ID+"/messages", nil)) == 0
		})
		if list := who.talks(t); len(list) != 1 || list[0].LastMessage != nil {
			t.Errorf("%s lists %+v", who.Username, list)
		}
	}
	if n := total(); n != 0 {
		t.Errorf("%d messages are counted", n)
	}
	ann.post(t, d.room(), "anew")
	if list := bob.talks(t); *list[0].LastMessage != "anew" {
		t.Errorf("%+v", list)
	}
}
