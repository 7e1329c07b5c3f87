package e2e

import (
	"encoding/json"
	"net/http"
	"net/url"
	"testing"

	"parley/e2e/client"
)

// reaction is one emoji on a message.
type reaction struct {
	Emoji string   `json:"emoji"`
	Count int      `json:"count"`
	Users []string `json:"users"`
}

// reactionUpdated is the event.
type reactionUpdated struct {
	AgencyID  string `json:"agencyId"`
	MessageID string `json:"messageId"`
	Emoji     string `json:"emoji"`
	Count     int    `json:"count"`
	User      struct {
		ID string `json:"id"`
	} `json:"user"`
	Added bool   `json:"added"`
	Seq   uint64 `json:"seq"`
}

// TestReactions: over REST and both wire formats, seen live, in the history and after a kill by who comes back.
func TestReactions(t *testing.T) {
	t.Parallel()
	server := own(t)
	api := client.API{Base: server.URL()}
	ann, bob, eve := user(t, api, "ann"), user(t, api, "bob"), user(t, api, "eve")
	g := ann.room(t, "room", false)
	bob.enter(t, g)
	m := ann.post(t, g, "hi")
	at := "/api/agencies/" + g.ID + "/messages/" + m.ID + "/reactions/"
	watcher, socket := ann.socketIO(t), bob.plain(t)
	joined(t, watcher, g)
	type answer struct {
		OK        bool       `json:"ok"`
		MessageID string     `json:"messageId"`
		Emoji     string     `json:"emoji"`
		Count     int        `json:"count"`
		Reactions []reaction `json:"reactions"`
	}
	thumb, heart := "👍🏽", "❤️"
	for range 2 {
		r := must[answer](t, ann.API, http.MethodPut, at+url.PathEscape(thumb), nil)
		if !r.OK || r.MessageID != m.ID || r.Emoji != thumb || r.Count != 1 || len(r.Reactions) != 1 {
			t.Fatalf("%+v", r)
		}
	}
	var ack answer
	if err := socket.Call(soon(t), "react-message", map[string]string{"agencyId": g.ID, "messageId": m.ID, "emoji": thumb}, &ack); err != nil || !ack.OK || ack.Count != 2 {
		t.Fatalf("%+v, %v", ack, err)
	}
	if err := socket.Call(soon(t), "react-message", map[string]string{"agency_id": g.ID, "message_id": m.ID, "emoji": heart}, &ack); err != nil || !ack.OK || ack.Count != 1 {
		t.Fatalf("%+v, %v", ack, err)
	}
	if err := socket.Call(soon(t), "remove-reaction", map[string]string{"agencyId": g.ID, "messageId": m.ID, "emoji": heart}, &ack); err != nil || !ack.OK || ack.Count != 0 {
		t.Fatalf("%+v, %v", ack, err)
	}
	want := []reactionUpdated{{Emoji: thumb, Count: 1, Added: true}, {Emoji: thumb, Count: 2, Added: true}, {Emoji: heart, Count: 1, Added: true}, {Emoji: heart}}
	check := func(i int, e reactionUpdated) {
		t.Helper()
		who := bob.ID
		if i == 0 {
			who = ann.ID
		}
		if w := want[i]; e.Emoji != w.Emoji || e.Count != w.Count || e.Added != w.Added || e.User.ID != who || e.AgencyID != g.ID || e.MessageID != m.ID || e.Seq != m.Seq+uint64(i)+1 {
			t.Errorf("event %d is %+v", i, e)
		}
	}
	for i := range want {
		check(i, event[reactionUpdated](t, watcher, "reaction-updated"))
	}
	refused(t, eve.API, http.MethodPut, at+url.PathEscape(thumb), nil, http.StatusForbidden)
	refused(t, ann.API, http.MethodPut, at+"thumbs", nil, http.StatusBadRequest)
	refused(t, ann.API, http.MethodPut, "/api/agencies/"+g.ID+"/messages/none/reactions/"+url.PathEscape(thumb), nil, http.StatusNotFound)

	crash(t, server)
	history := must[[]struct{ Reactions []reaction }](t, bob.API, http.MethodGet, "/api/agencies/"+g.ID+"/messages", nil)
	if len(history) != 1 || len(history[0].Reactions) != 1 || history[0].Reactions[0].Count != 2 || history[0].Reactions[0].Users[1] != bob.ID {
		t.Errorf("%+v", history)
	}
	j, err := ann.plain(t).Join(soon(t), g.ID, &m.Seq)
	if err != nil || j.Recovered == nil || !*j.Recovered || len(j.Missed) != len(want) {
		t.Fatalf("%v, %v", j, err)
	}
	for i, missed := range j.Missed {
		var e reactionUpdated
		if err := json.Unmarshal(missed.Data, &e); err != nil || missed.Event != "reaction-updated" {
			t.Fatal(missed.Event, err)
		}
		check(i, e)
	}
	must[answer](t, bob.API, http.MethodDelete, at+url.PathEscape(thumb), nil)
	must[json.RawMessage](t, ann.API, http.MethodDelete, "/api/agencies/"+g.ID+"/messages/"+m.ID, nil)
	refused(t, ann.API, http.MethodPut, at+url.PathEscape(thumb), nil, http.StatusNotFound)
}
