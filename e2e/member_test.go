package e2e

import (
	"encoding/json"
	"net/http"
	"testing"

	"parley/e2e/client"
)

// TestEndOfMembership: who has left an agency hears no more of it, on any of its sockets.
func TestEndOfMembership(t *testing.T) {
	t.Parallel()
	api := common(t)
	ann, bob := user(t, api, "ann"), user(t, api, "bob")
	g := ann.room(t, "room", false)
	watcher := ann.plain(t)
	joined(t, watcher, g)
	sockets := []*client.Socket{bob.plain(t), bob.socketIO(t)}
	for _, s := range sockets {
		joined(t, s, g)
	}
	must[json.RawMessage](t, bob.API, http.MethodPost, "/api/agencies/"+g.ID+"/leave", nil)
	for {
		if m := event[struct{ Change string }](t, watcher, "members-updated"); m.Change == "left" {
			break
		}
	}
	ann.post(t, g, "bob has gone")
	message(t, watcher, "bob has gone")
	for _, s := range sockets {
		ack, err := s.Send(soon(t), g.ID, "may I?", "")
		if err != nil || ack.OK {
			t.Errorf("posting after leaving is acked %+v, %v", ack, err)
		}
		for _, f := range s.Log() {
			if f.Event == "message" {
				t.Errorf("after leaving came %s", f.Data)
			}
		}
	}
	must[json.RawMessage](t, ann.API, http.MethodPatch, "/api/agencies/"+g.ID, map[string]bool{"isPrivate": true})
	if _, err := sockets[0].Join(soon(t), g.ID, nil); err == nil {
		t.Error("joined an agency that has become private")
	}
}

// TestTwoSockets: rooms belong to a socket, not to an account.
func TestTwoSockets(t *testing.T) {
	t.Parallel()
	ann := user(t, common(t), "ann")
	g, other := ann.room(t, "room", false), ann.room(t, "other", false)
	first, second := ann.plain(t), ann.socketIO(t)
	joined(t, first, g)
	joined(t, second, g)
	joined(t, second, other)
	if err := first.Emit("leave-agency", map[string]string{"agency_id": g.ID}); err != nil {
		t.Fatal(err)
	}
	event[json.RawMessage](t, first, "agency-left")
	ann.post(t, other, "to the other room")
	ann.post(t, g, "to the room")
	message(t, second, "to the other room")
	message(t, second, "to the room")
	joined(t, first, other) // its answer comes behind whatever was sent before
	for _, f := range first.Log() {
		if f.Event == "message" {
			t.Errorf("the socket that has left got %s", f.Data)
		}
	}
	var a client.Ack
	if err := first.Call(soon(t), "leave-agency", map[string]string{"agencyId": g.ID}, &a); err != nil || a.OK {
		t.Errorf("leaving again is acked %+v, %v", a, err)
	}
}

// TestIdempotence: a clientId posts once, over whatever way and however often at once (decision 21).
func TestIdempotence(t *testing.T) {
	t.Parallel()
	ann := user(t, common(t), "ann")
	g := ann.room(t, "room", false)
	sockets := []*client.Socket{ann.plain(t), ann.socketIO(t), ann.plain(t), ann.socketIO(t)}
	joined(t, sockets[0], g)
	var waiting []<-chan client.Frame
	for i := range 40 {
		_, answer, err := sockets[i%len(sockets)].Begin("send-message", map[string]string{"agencyId": g.ID, "content": "once", "clientId": "same"})
		if err != nil {
			t.Fatal(err)
		}
		waiting = append(waiting, answer)
	}
	viaREST, err := ann.Post(soon(t), g.ID, "once", "same")
	if err != nil {
		t.Fatal(err)
	}
	for i, a := range acks(t, waiting) {
		if a.MessageID != viaREST.ID {
			t.Errorf("post %d got the id %s, want %s", i, a.MessageID, viaREST.ID)
		}
	}
	ann.post(t, g, "the end")
	message(t, sockets[0], "the end")
	got := 0
	for _, f := range sockets[0].Log() {
		if f.Event == "message" {
			got++
		}
	}
	history, err := ann.History(soon(t), g.ID)
	if err != nil || len(history) != 2 || got != 2 {
		t.Fatalf("%d messages came and %d are there, %v", got, len(history), err)
	}
}
