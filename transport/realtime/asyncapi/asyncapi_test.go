package asyncapi

import (
	"encoding/json"
	"strings"
	"testing"

	"parley/transport/rest/openapi"
)

func small() *Document {
	return &Document{
		Title: "Pets", Version: "1", Failure: openapi.Object(),
		Servers:    []*Server{{Name: Plain, Address: "http://pets.example:8080/base", Path: "/ws", Header: true}},
		Operations: []*Operation{{Name: "feed", Summary: "Feed", Form: openapi.Form(openapi.Has("name", openapi.Text(1, 0).Like("Rex"), "")), Ack: openapi.Object(), Causes: []string{"feed"}}},
		Events:     []*Event{{Name: "feed", Summary: "Fed", Data: openapi.Object(openapi.Has("name", openapi.Text(1, 0).Like("<Rex>"), ""))}, {Name: "in", Summary: "In", Data: openapi.Object(), On: Plain}},
	}
}

func TestJSON(t *testing.T) {
	text, err := small().JSON()
	if err != nil {
		t.Fatal(err)
	}
	if !json.Valid(text) {
		t.Fatalf("it is no JSON: %s", text)
	}
	for _, want := range []string{
		`"host":"pets.example:8080"`, `"pathname":"/base/ws"`, `"protocol":"ws"`, `"$ref":"#/components/securitySchemes/bearer"`,
		`"plain":"{\"event\":\"feed\",\"data\":{\"name\":\"Rex\"},\"ack\":1}"`, `"socketio":"421[\"feed\",{\"name\":\"Rex\"}]"`,
		`"$ref":"#/channels/events/messages/ack.feed"`, `"$ref":"#/channels/plain/messages/server.in"`, `"x-causes":["feed"]`, `<Rex>`,
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%s is not in\n%s", want, text)
		}
	}
	again, err := small().JSON()
	if err != nil || string(again) != string(text) {
		t.Errorf("it is another one each time: %v", err)
	}
}

func TestFaultsOfDocuments(t *testing.T) {
	d := small()
	d.Events[0].Data, d.Events[1].Data = openapi.Object().Named("X", ""), openapi.Text(0, 0).Named("X", "")
	if _, err := d.JSON(); err == nil || !strings.Contains(err.Error(), "called X") {
		t.Errorf("two schemas of one name: %v", err)
	}
	d = small()
	d.Servers[0].Address = "http://\x00"
	if _, err := d.JSON(); err == nil {
		t.Error("a malformed address is accepted")
	}
}
