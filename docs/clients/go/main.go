// A client of Parley over /ws: it joins the Lobby, answers who mentions it, and misses nothing. PARLEY_URL is the server,
// PARLEY_TOKEN a session token or a personal access token. See docs/protocol.md.
package main

import (
	"context"
	"encoding/json"
	"log"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/coder/websocket"
	"github.com/coder/websocket/wsjson"
)

type object = map[string]any

// data has the fields of all events and answers that this client reads; the names differ from these in case alone.
type data struct {
	ID, AgencyID, Content, Message string
	SenderID                       string `json:"sender_id"`
	Sender                         string `json:"sender_username"`
	User                           struct{ ID, Username string }
	Seq                            uint64
	Missed                         []event
	More                           bool
}

type event struct {
	Event string
	Ack   int // the event of ours that this answers
	Data  data
}

var (
	url, token = strings.TrimSuffix(os.Getenv("PARLEY_URL"), "/"), os.Getenv("PARLEY_TOKEN")
	me, lobby  data
	inside     bool               // agency-joined has come on this connection
	seen       *uint64            // the highest seq of the Lobby whose event was dealt with; nil: never joined
	owed       = map[int]object{} // answers that were not acked, by ack
	asked      int
)

func main() {
	for {
		err := live(context.Background())
		if code := websocket.CloseStatus(err); code == 4401 || code == 4403 {
			log.Fatal(err) // the same token would not do the next time either
		}
		log.Print("will try again: ", err)
		time.Sleep(time.Second/5 + rand.N(2*time.Second))
	}
}

// live is one connection, until it ends.
func live(ctx context.Context) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/api/agencies/lookup/lobby", nil)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	err = json.NewDecoder(res.Body).Decode(&lobby)
	_ = res.Body.Close()
	if err != nil {
		return err
	}
	conn, _, err := websocket.Dial(ctx, strings.Replace(url, "http", "ws", 1)+"/ws", nil) //nolint:bodyclose // the library closes it
	if err != nil {
		return err
	}
	defer func() { _ = conn.CloseNow() }()
	conn.SetReadLimit(16 << 20)
	send := func(name string, ack int, fields object) { // what fails here fails in Read, too
		frame := object{"event": name, "data": fields}
		if ack != 0 {
			frame["ack"] = ack
		}
		_ = wsjson.Write(ctx, conn, frame)
	}
	send("auth", 0, object{"token": token})
	for {
		var e event
		if err := wsjson.Read(ctx, conn, &e); err != nil {
			return err
		}
		take(e, send)
	}
}

// take deals with an event.
func take(e event, send func(name string, ack int, fields object)) {
	d := e.Data
	switch {
	case e.Event == "ready":
		me.User, inside = d.User, false
		send("join-agency", 0, object{"agencyId": lobby.ID, "since": seen})
	case e.Ack != 0: // done, or refused for good
		log.Print("answered ", owed[e.Ack]["replyTo"])
		delete(owed, e.Ack)
	case e.Event == "error":
		log.Print("error: ", d.Message)
	case d.AgencyID != lobby.ID:
	case e.Event == "agency-joined":
		for ack, answer := range owed {
			send("send-message", ack, answer)
		}
		for _, missed := range d.Missed {
			take(missed, send)
		}
		seen, inside = &d.Seq, !d.More
		log.Print("joined ", d.Seq)
		if d.More { // the rest comes with the next join
			send("join-agency", 0, object{"agencyId": lobby.ID, "since": seen})
		}
	default:
		if e.Event == "message" && d.SenderID != me.User.ID && strings.Contains(strings.ToLower(d.Content), "@"+strings.ToLower(me.User.Username)) {
			// The clientId makes it one answer, however often this is sent.
			asked++
			owed[asked] = object{"agencyId": lobby.ID, "content": "@" + d.Sender + " yes?", "replyTo": d.ID, "clientId": d.ID}
			send("send-message", asked, owed[asked])
		}
		if inside && d.Seq > *seen {
			seen = &d.Seq
		}
	}
}
