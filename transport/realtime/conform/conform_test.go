package conform

import (
	"strings"
	"testing"

	"parley/transport/realtime/asyncapi"
	"parley/transport/rest/openapi"
)

func pets() *asyncapi.Document {
	text := openapi.Text(0, 0)
	pet := openapi.Object(openapi.Has("petName pet_name", text, ""), openapi.May("age", openapi.Count(), "")).Named("Pet", "")
	return &asyncapi.Document{
		Title: "Pets", Version: "1",
		Servers: []*asyncapi.Server{
			{Name: asyncapi.Plain, Address: "https://pets.example", Path: "/ws"},
			{Name: asyncapi.SocketIO, Address: "https://pets.example", Path: "/socket.io/", Packets: []asyncapi.Packet{
				{From: "server", Text: "0", Data: openapi.Object(openapi.Has("sid", text, ""))}, {From: "server", Text: "2"}, {From: "client", Text: "3"},
			}},
		},
		Operations: []*asyncapi.Operation{
			{Name: "feed", Summary: "Feed", Form: openapi.Form(openapi.Has("petName pet_name", openapi.Text(2, 0), "")), Ack: openapi.Object(openapi.Has("ok", openapi.Bool(), "")).Named("OK", "")},
			{Name: "auth", Summary: "Come in", Form: openapi.Form(), On: asyncapi.Plain},
		},
		Events: []*asyncapi.Event{
			{Name: "pet", Summary: "A pet", Data: pet, Seq: true},
			{Name: "ready", Summary: "In", Data: openapi.Object(), On: asyncapi.Plain},
			{Name: "back", Summary: "Back", Data: openapi.Object(openapi.Has("missed", openapi.List(openapi.Object(
				openapi.Has("event", text, ""), openapi.Has("data", openapi.Map(openapi.Any()), ""))), ""))},
		},
		Failure: openapi.Object(openapi.Has("ok", openapi.Bool(), ""), openapi.Has("error", text, "")).Named("Failure", ""),
	}
}

func TestLine(t *testing.T) {
	const pet = `{"petName":"Rex","pet_name":"Rex"}`
	for name, tc := range map[string]struct {
		format, sent, received string
		want                   string // part of the fault; empty: none
	}{
		"event":                {"plain", "", `{"event":"pet","data":` + pet + `}`, ""},
		"event of Socket.IO":   {"socketio", "", `42["pet",` + pet + `]`, ""},
		"a field too many":     {"plain", "", `{"event":"pet","data":{"petName":"Rex","pet_name":"Rex","x":1}}`, "additional"},
		"a spelling missing":   {"socketio", "", `42["pet",{"petName":"Rex"}]`, "missing"},
		"unknown event":        {"plain", "", `{"event":"cat","data":{}}`, "not described"},
		"of another format":    {"socketio", "", `42["ready",{}]`, "not described"},
		"of this format":       {"plain", "", `{"event":"ready","data":{}}`, ""},
		"two arguments":        {"socketio", "", `42["pet",` + pet + `,1]`, "one argument"},
		"a frame with more":    {"plain", "", `{"event":"pet","data":` + pet + `,"x":1}`, "unknown field"},
		"event and ack":        {"plain", `{"event":"feed","ack":1,"data":{}}`, `{"event":"pet","data":` + pet + `,"ack":1}`, "neither"},
		"no JSON":              {"plain", "", `{`, "EOF"},
		"ack":                  {"plain", `{"event":"feed","ack":1,"data":{"pet_name":"Rex","more":1}}`, `{"ack":1,"data":{"ok":true}}`, ""},
		"ack of Socket.IO":     {"socketio", `421["feed",{"petName":"Rex"}]`, `431[{"ok":true}]`, ""},
		"nobody asked":         {"plain", `{"event":"feed","ack":2,"data":{}}`, `{"ack":1,"data":{"ok":true}}`, "nothing asked"},
		"refused":              {"plain", `{"event":"feed","ack":1,"data":{"petName":7}}`, `{"ack":1,"data":{"ok":false,"error":"no"}}`, ""},
		"refused, unknown":     {"plain", `{"event":"dance","ack":1,"data":{}}`, `{"ack":1,"data":{"ok":false,"error":"no"}}`, ""},
		"accepted, unknown":    {"plain", `{"event":"dance","ack":1,"data":{}}`, `{"ack":1,"data":{"ok":true}}`, "not described"},
		"accepted too little":  {"socketio", `421["feed",{"petName":"R"}]`, `431[{"ok":true}]`, "accepted"},
		"ack with more":        {"plain", `{"event":"feed","ack":1,"data":{"petName":"Rex"}}`, `{"ack":1,"data":{"ok":true,"x":1}}`, "additional"},
		"packet":               {"socketio", "", `0{"sid":"x"}`, ""},
		"packet with more":     {"socketio", "", `0{"sid":"x","y":1}`, "additional"},
		"bare packet":          {"socketio", "", `2`, ""},
		"of the other side":    {"socketio", "", `3`, "no packet"},
		"unknown packet":       {"socketio", "", `7`, "no packet"},
		"missed":               {"plain", "", `{"event":"back","data":{"missed":[{"event":"pet","data":` + pet + `}]}}`, ""},
		"missed, wrong":        {"plain", "", `{"event":"back","data":{"missed":[{"event":"pet","data":{}}]}}`, "missed"},
		"missed, not repeated": {"plain", "", `{"event":"back","data":{"missed":[{"event":"ready","data":{}}]}}`, "not described as repeated"},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := New(pets())
			if err != nil {
				t.Fatal(err)
			}
			l := c.Line(tc.format)
			if tc.sent != "" {
				l.Sent([]byte(tc.sent))
			}
			err = l.Received([]byte(tc.received))
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("the fault is %v, want %q", err, tc.want)
			}
			if faults := c.Faults(); (len(faults) > 0) != (err != nil) {
				t.Errorf("remembered are %v", faults)
			}
		})
	}
}

func TestUnseen(t *testing.T) {
	c, err := New(pets())
	if err != nil {
		t.Fatal(err)
	}
	l := c.Line(asyncapi.Plain)
	l.Sent([]byte(`{"event":"auth","data":{}}`))
	l.Sent([]byte(`{"event":"feed","data":{}}`)) // not as described: it will have failed
	if err := l.Received([]byte(`{"event":"ready","data":{}}`)); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(c.Unseen(), ","); got != "operation feed,event pet,event back" {
		t.Errorf("unseen are %s", got)
	}
	l.Sent([]byte(`{"event":"feed","data":{"petName":"Rex"}}`))
	if got := strings.Join(c.Unseen(), ","); got != "event pet,event back" {
		t.Errorf("unseen are %s", got)
	}
}
