package conform

import (
	"bytes"
	"fmt"
	"strconv"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"parley/transport/realtime/asyncapi"
	rest "parley/transport/rest/conform"
)

// at is the address of the document for references within it.
const at = "parley-live.json"

// Keys of schemas: what of a document they belong to.
const (
	forms   = "form "   // and the name of an operation
	acks    = "ack "    // the same
	events  = "event "  // and the name of an event
	packets = "packet " // and the number of a packet of Socket.IO
)

// compile makes schemas of everything in a document. What the server sends has no fields that are not described.
func compile(d *asyncapi.Document) (map[string]*jsonschema.Schema, error) {
	text, err := d.JSON()
	if err != nil {
		return nil, err
	}
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("conform: %w", err)
	}
	doc := parsed.(map[string]any)
	places := place(d, doc)
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	compiler.AssertFormat()
	if err := compiler.AddResource(at, doc); err != nil {
		return nil, fmt.Errorf("conform: %w", err)
	}
	out := map[string]*jsonschema.Schema{}
	for key, where := range places {
		if out[key], err = compiler.Compile(at + "#/" + where); err != nil {
			return nil, fmt.Errorf("conform: %s: %w", key, err)
		}
	}
	return out, nil
}

// place puts every schema under a short address.
func place(d *asyncapi.Document, doc map[string]any) map[string]string {
	places := map[string]string{}
	var bodies []any
	put := func(key string, schema any) {
		places[key] = "bodies/" + strconv.Itoa(len(bodies))
		bodies = append(bodies, schema)
	}
	messages := member(doc, "components", "messages")
	for _, o := range d.Operations {
		put(forms+o.Name, member(messages, "client."+o.Name)["payload"])
		if ack := member(messages, "ack."+o.Name)["payload"]; ack != nil {
			rest.CloseObjects(ack)
			put(acks+o.Name, ack)
		}
	}
	for _, e := range d.Events {
		payload := member(messages, "server."+e.Name)["payload"]
		rest.CloseObjects(payload)
		put(events+e.Name, payload)
	}
	if s := d.Server(asyncapi.SocketIO); s != nil {
		list, _ := member(doc, "servers", asyncapi.SocketIO)["x-packets"].([]any)
		for i, p := range s.Packets {
			if p.Data != nil {
				payload := list[i].(map[string]any)["payload"]
				rest.CloseObjects(payload)
				put(packets+strconv.Itoa(i), payload)
			}
		}
	}
	for _, s := range member(doc, "components", "schemas") {
		rest.CloseObjects(s)
	}
	doc["bodies"] = bodies
	return places
}

// member walks down objects; nil when one is missing.
func member(o map[string]any, names ...string) map[string]any {
	for _, name := range names {
		o, _ = o[name].(map[string]any)
	}
	return o
}
