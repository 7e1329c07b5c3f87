package rest

import (
	"net/url"
	"regexp"
	"slices"
	"strings"

	"parley/transport/realtime"
	"parley/transport/realtime/asyncapi"
)

// placeholder is a word in braces that a program fills in. Braces of JSON never enclose a bare word.
var placeholder = regexp.MustCompile(`\{([a-z][a-z_]*)\}`)

// live is the realtime part of the manifest: two wire formats over one set of events (decision 26).
type live struct {
	About    string            `json:"description"`
	Send     []string          `json:"events_to_server"`
	Receive  map[string]string `json:"events_from_server"`
	Plain    livePlain         `json:"websocket"`
	SocketIO liveSocketIO      `json:"socketio"`
	Resume   string            `json:"after_a_reconnect"`
	Closes   map[int]string    `json:"close_codes"`
	Limits   map[string]int    `json:"limits"`
	// Describes is where all fields are.
	Describes string `json:"asyncapi"`
}

type livePlain struct {
	About string      `json:"description"`
	URL   string      `json:"url"`
	Steps []plainStep `json:"steps"`
}

// plainStep is a frame that the client sends, or one that it waits for while it passes over others.
type plainStep struct {
	Send    any               `json:"send,omitempty"`
	Receive any               `json:"receive,omitempty"` // the frame has these members
	Saves   map[string]string `json:"saves,omitempty"`   // placeholder → JSON pointer into the frame
	About   string            `json:"description,omitempty"`
}

type liveSocketIO struct {
	About      string         `json:"description"`
	URL        string         `json:"url"`
	Path       string         `json:"path"`
	Version    string         `json:"protocol"`
	Transports []string       `json:"transports"`
	Auth       map[string]any `json:"auth"`
	Raw        rawSocketIO    `json:"without_a_library"`
}

type rawSocketIO struct {
	URL   string    `json:"url"`
	Ping  rawPing   `json:"heartbeat"`
	Steps []rawStep `json:"steps"`
}

type rawPing struct {
	Receive string `json:"receive"`
	Answer  string `json:"answer"`
}

// rawStep is a text frame: what is sent as it is, or how an awaited one begins.
type rawStep struct {
	Send    string            `json:"send,omitempty"`
	Receive string            `json:"receive_prefix,omitempty"`
	Saves   map[string]string `json:"saves,omitempty"` // placeholder → JSON pointer into what follows the prefix
	About   string            `json:"description,omitempty"`
}

// frame is a frame of /ws.
type frame = map[string]any

// newLive fills in the addresses.
func newLive(base string) (live, error) {
	u, err := url.Parse(base)
	if err != nil {
		return live{}, err // it was checked long before
	}
	d := realtime.Describe(u, InterfaceVersion)
	socket := *u
	socket.Scheme = "ws" + strings.TrimPrefix(u.Scheme, "http")
	at := strings.TrimSuffix(socket.String(), "/")
	return live{
		About: "Live events, over plain WebSocket or Socket.IO; the events are the same. Being a member of a room is not enough to hear it: send join-agency after each connect.",
		Send:  sendable(), Receive: heard(d), Closes: endings(d), Describes: strings.TrimSuffix(base, "/") + pathAsyncAPI,
		Resume: "Keep the highest seq that you have seen of each agency. After a reconnect send join-agency with {\"agencyId\": \"…\", \"since\": SEQ}: missed in the answer has what you have not seen, as {event, data}. With more: true send it again with the new seq. recovered: false means that too much happened: read the history over REST.",
		Plain: livePlain{
			About: "Text frames of JSON: {\"event\": NAME, \"data\": {…}, \"ack\": N?} both ways, and {\"ack\": N, \"data\": {…}} as the answer to an event that asked for one.",
			URL:   at + "/ws", Steps: plainSteps,
		},
		SocketIO: liveSocketIO{
			About: "With any client library of Socket.IO 4. Without one, the frames are below.",
			URL:   strings.TrimSuffix((&url.URL{Scheme: u.Scheme, Host: u.Host}).String(), "/"), Path: strings.TrimSuffix(u.Path, "/") + "/socket.io/",
			Version: "Socket.IO protocol 5 over Engine.IO protocol 4", Transports: []string{"websocket", "polling"},
			Auth: map[string]any{"token": "{session_token}", "recover": false},
			Raw:  rawSocketIO{URL: at + "/socket.io/?EIO=4&transport=websocket", Ping: rawPing{"2", "3"}, Steps: rawSteps},
		},
		Limits: bounds(d),
	}, nil
}

// sendable are the events that clients can send.
func sendable() []string {
	return slices.DeleteFunc(realtime.Operations(), func(name string) bool { return name == "unknown" }) // the name of all others, in metrics
}

var plainSteps = []plainStep{
	{Send: frame{"event": "auth", "data": frame{"token": "{session_token}"}}, About: "The first frame. A header Authorization: Bearer does it too."},
	{Receive: frame{"event": "ready"}, Saves: map[string]string{"session_id": "/data/sessionId"}},
	{Send: frame{"event": "join-agency", "data": frame{"agencyId": "{agency_id}"}}},
	{Receive: frame{"event": "agency-joined"}, Saves: map[string]string{"seq": "/data/seq"}, About: "Or the event error, with a sentence in message."},
	{Send: frame{"event": "send-message", "data": frame{"agencyId": "{agency_id}", "content": "{content}", "clientId": "{client_id}"}, "ack": 1}},
	{Receive: frame{"ack": 1}, Saves: map[string]string{"message_id": "/data/messageId"}, About: "With ok: true the message is durable; with ok: false error says why not."},
	{Receive: frame{"event": "message"}, Saves: map[string]string{"heard": "/data/content", "seq": "/data/seq"}, About: "Every message of the room, your own too."},
}

var rawSteps = []rawStep{
	{Receive: "0", About: "The handshake of Engine.IO."},
	{Send: `40{"token":"{session_token}","recover":false}`},
	{Receive: "40", Saves: map[string]string{"session_id": "/sid"}, About: "44 is a refusal, with a sentence in message."},
	{Send: `42["join-agency",{"agencyId":"{agency_id}"}]`},
	{Receive: `42["agency-joined",`},
	{Send: `421["send-message",{"agencyId":"{agency_id}","content":"{content}","clientId":"{client_id}"}]`, About: "1 is the number that the ack repeats."},
	{Receive: "431", Saves: map[string]string{"message_id": "/0/messageId"}},
	{Receive: `42["message",`, About: "Every message of the room, your own too."},
}

// heard is what a client can hear: the fields of each event, those that can be absent with a question mark.
func heard(d *asyncapi.Document) map[string]string {
	out := map[string]string{}
	for _, e := range d.Events {
		var names []string
		for _, f := range e.Data.Fields() {
			name := f.Names[0]
			if !f.Needed {
				name += "?"
			}
			names = append(names, name)
		}
		out[e.Name] = e.Summary + ": " + strings.Join(names, ", ")
	}
	return out
}

// endings say what each close code means, and what to do.
func endings(d *asyncapi.Document) map[int]string {
	out := map[int]string{}
	for _, c := range d.Closes {
		out[c.Code] = c.About + " " + c.Then
	}
	return out
}

// bounds are the limits by name.
func bounds(d *asyncapi.Document) map[string]int {
	out := map[string]int{}
	for _, l := range d.Limits {
		out[l.Name] = l.Value
	}
	return out
}
