package asyncapi

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"parley/transport/rest/openapi"
)

// object is a JSON object.
type object = map[string]any

// Keys of messages and operations by where they come from: the same name can go both ways.
const (
	fromClient = "client."
	fromServer = "server."
	answers    = "ack."
)

// everywhere is the channel of what all servers know.
const everywhere = "events"

// renderer gathers what a document refers to.
type renderer struct {
	schemas  openapi.Schemas
	messages object
	channels map[string]object // messages by channel
	doc      *Document
}

// JSON renders the document as AsyncAPI 3.0. It fails if two schemas have one name.
func (d *Document) JSON() ([]byte, error) {
	r := &renderer{messages: object{}, channels: map[string]object{}, doc: d}
	operations := object{}
	for _, o := range d.Operations {
		operations[fromClient+o.Name] = r.operation(o)
	}
	for _, e := range d.Events {
		operations[fromServer+e.Name] = r.event(e)
	}
	servers, err := r.servers()
	if err != nil {
		return nil, err
	}
	channels := r.renderChannels()
	schemas, err := r.schemas.Named()
	if err != nil {
		return nil, fmt.Errorf("asyncapi: %w", err)
	}
	text, err := openapi.Encode(struct {
		Version    string  `json:"asyncapi"`
		Info       object  `json:"info"`
		Type       string  `json:"defaultContentType"`
		Servers    object  `json:"servers"`
		Channels   object  `json:"channels"`
		Operations object  `json:"operations"`
		Components object  `json:"components"`
		Closes     []Close `json:"x-close-codes"`
		Limits     []Limit `json:"x-limits"`
	}{
		"3.0.0", d.info(), openapi.JSON, servers, channels, operations,
		object{"schemas": schemas, "messages": r.messages, "securitySchemes": object{"bearer": object{"type": "http", "scheme": "bearer",
			"description": "A session token or a personal access token."}}},
		d.Closes, d.Limits,
	})
	if err != nil {
		return nil, fmt.Errorf("asyncapi: %w", err)
	}
	return append(text, '\n'), nil
}

func (d *Document) info() object {
	out := object{"title": d.Title, "version": d.Version, "description": d.About}
	if d.Docs != "" {
		out["externalDocs"] = object{"url": d.Docs}
	}
	return out
}

func (r *renderer) servers() (object, error) {
	out := object{}
	for _, s := range r.doc.Servers {
		u, err := url.Parse(s.Address)
		if err != nil {
			return nil, fmt.Errorf("asyncapi: %w", err)
		}
		packets := make([]object, len(s.Packets))
		for i, p := range s.Packets {
			packets[i] = object{"from": p.From, "text": p.Text, "description": p.About}
			if p.Data != nil {
				packets[i]["payload"] = r.schemas.Use(p.Data)
			}
		}
		server := object{"host": u.Host, "protocol": "ws" + strings.TrimPrefix(u.Scheme, "http"), "pathname": strings.TrimSuffix(u.Path, "/") + s.Path,
			"title": s.Title, "description": s.About, "x-frames": s.Frames, "x-packets": packets, "x-refusals": s.Rejected}
		if s.Header {
			server["security"] = []object{{"$ref": "#/components/securitySchemes/bearer"}}
		}
		if len(s.Query) > 0 {
			server["x-query"] = s.Query
		}
		out[s.Name] = server
	}
	return out, nil
}

func (r *renderer) renderChannels() object {
	out := object{}
	for name, messages := range r.channels {
		var servers []object
		for _, s := range r.doc.Servers {
			if name == everywhere || name == s.Name {
				servers = append(servers, object{"$ref": "#/servers/" + s.Name})
			}
		}
		about := "What both formats carry. The address is the server's."
		if name != everywhere {
			about = "What this format alone carries. The address is the server's."
		}
		out[name] = object{"address": nil, "description": about, "servers": servers, "messages": messages,
			"bindings": object{"ws": object{"method": "GET", "bindingVersion": "0.1.0"}}}
	}
	return out
}

// add makes a message and returns the reference to it in its channel, and to the channel.
func (r *renderer) add(on, key string, message object) (ref, channel object) {
	if on == "" {
		on = everywhere
	}
	r.messages[key] = message
	if r.channels[on] == nil {
		r.channels[on] = object{}
	}
	r.channels[on][key] = object{"$ref": "#/components/messages/" + key}
	return object{"$ref": "#/channels/" + on + "/messages/" + key}, object{"$ref": "#/channels/" + on}
}

func (r *renderer) operation(o *Operation) object {
	example := o.Form.Example()
	ref, channel := r.add(o.On, fromClient+o.Name, object{"name": o.Name, "title": o.Name, "summary": o.Summary, "payload": r.schemas.Use(o.Form),
		"examples": []object{{"payload": example}}, "x-frames": r.frames(o.On, o.Name, example, true)})
	out := object{"action": "receive", "channel": channel, "title": o.Name, "summary": o.Summary, "messages": []object{ref}}
	if o.About != "" {
		out["description"] = o.About
	}
	if len(o.Causes) > 0 {
		out["x-causes"] = o.Causes
	}
	if o.Ack != nil {
		ack, _ := r.add(o.On, answers+o.Name, object{"name": answers + o.Name, "title": "The ack of " + o.Name,
			"payload": object{"anyOf": []any{r.schemas.Use(o.Ack), r.schemas.Use(r.doc.Failure)}}})
		out["reply"] = object{"channel": channel, "messages": []object{ack}}
	}
	return out
}

func (r *renderer) event(e *Event) object {
	example := e.Data.Example()
	ref, channel := r.add(e.On, fromServer+e.Name, object{"name": e.Name, "title": e.Name, "summary": e.Summary, "payload": r.schemas.Use(e.Data),
		"examples": []object{{"payload": example}}, "x-frames": r.frames(e.On, e.Name, example, false)})
	out := object{"action": "send", "channel": channel, "title": e.Name, "summary": e.Summary, "messages": []object{ref}, "x-repeated-after-reconnect": e.Seq}
	if e.About != "" {
		out["description"] = e.About
	}
	return out
}

// frames are an event as each format has it on the line.
func (r *renderer) frames(on, name string, data any, asks bool) object {
	text, err := json.Marshal(data)
	if err != nil {
		text = []byte("{}") // can't be: examples are plain values
	}
	ack, id := "", ""
	if asks {
		ack, id = `,"ack":1`, "1"
	}
	all := object{
		Plain:    fmt.Sprintf(`{"event":%q,"data":%s%s}`, name, text, ack),
		SocketIO: fmt.Sprintf(`42%s[%q,%s]`, id, name, text),
	}
	if on != "" {
		return object{on: all[on]}
	}
	return all
}

// Names of the formats, which are those of the servers.
const (
	Plain    = "plain"
	SocketIO = "socketio"
)
