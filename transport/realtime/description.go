package realtime

import (
	"net/url"
	"slices"
	"strings"
	"time"

	"parley/actors/session"
	"parley/transport/realtime/asyncapi"
	"parley/transport/realtime/conn"
	"parley/transport/resource"
	"parley/transport/rest/openapi"
)

// Short names for the fields of schemas.
var has, may = openapi.Has, openapi.May

// Describe is the description of all that is sent over live connections, in both formats, for a server at an address.
// What there is to say of an operation stands beside it in the table.
func Describe(base *url.URL, version string) *asyncapi.Document {
	at := strings.TrimSuffix(base.String(), "/")
	d := &asyncapi.Document{
		Title: "Parley, live", Version: version, About: aboutLive, Docs: at + "/docs",
		Servers: []*asyncapi.Server{describePlain(at), describeSocketIO(at)},
		Failure: ackFailure, Closes: closes, Limits: limits,
	}
	for name, op := range operations {
		if op.doc != nil {
			o := *op.doc
			o.Name = name
			d.Operations = append(d.Operations, &o)
		}
	}
	slices.SortFunc(d.Operations, func(x, y *asyncapi.Operation) int { return strings.Compare(x.Name, y.Name) })
	d.Operations = append(d.Operations, authDoc)
	d.Events = slices.Concat(roomEvents, messageEvents, signalEvents, runEvents, ownEvents)
	return d
}

const aboutLive = `Live events of Parley, in two formats over one set of events: JSON frames over a WebSocket, and Socket.IO. The document is written from the view of the server: it receives what clients send. docs/protocol.md in its source explains how to write a client.

Connect, show a token, and send join-agency for each room after each connect: being a member is not enough to hear a room. Any event to the server may ask for an ack; it comes before the events that the same event causes. Without an ack a failure comes as the event error. Events of one connection take effect in their order.

Where two spellings of a field are given (agencyId and agency_id), requests may use either and events carry both. In requests unknown fields are ignored. Events may get more fields; pass over what you do not know.`

// Fields that many events have.
var (
	inAgency  = has("agencyId agency_id", resource.ID, "")
	atSeq     = has("seq", openapi.Count(), "Its place in the agency's log: keep the highest.")
	mayBeDM   = may("dm", openapi.Bool(), "true in direct messages.")
	ofMessage = has("messageId", resource.ID, "")
	emoji     = resource.Text.Like("👍")
	rooms     = has("agencyId agency_id", resource.ID, "The agency.")
	messages  = has("messageId message_id", resource.ID, "The message.")
)

// Acks (clients.md 3.4).
var (
	ackOK = openapi.Object(has("ok", openapi.Bool(), "Always true.")).Named("AckOK", "It is done.")

	ackFailure = openapi.Object(
		has("ok", openapi.Bool().Like(false), "Always false."),
		has("error", resource.Text.Like("agencyId is required"), "A sentence that a person can act on."),
		has("content", resource.Text, "The same, for clients that show the content of each ack."),
		has("type", openapi.Enum("system"), ""),
	).Named("AckFailure", "Nothing has happened.")

	ackPosted = openapi.Object(
		has("ok", openapi.Bool(), "Always true."), has("messageId", resource.ID, "The message's id. It is durable."),
	).Named("AckPosted", "A message was posted.")

	ackReacted = openapi.Object(
		has("ok", openapi.Bool(), "Always true."), has("messageId", resource.ID, ""), has("emoji", emoji, "As it is kept."),
		has("count", openapi.Count(), "How many reacted with it."),
	).Named("AckReacted", "A message's reactions are as they were asked to be.")
)

// closes are the codes that a client can see, and what it should do (decision 45).
var closes = []asyncapi.Close{
	{Code: conn.CodeNormal, About: "The end that you asked for.", Then: "Nothing."},
	{Code: conn.CodeProtocol, About: "A frame that the protocol does not have.", Then: "Mend the client: it would happen again."},
	{Code: conn.CodeUnsupported, About: "A binary frame where only text is taken.", Then: "Mend the client."},
	{Code: conn.CodeInvalidPayload, About: "A text frame that is not UTF-8.", Then: "Mend the client."},
	{Code: conn.CodePolicy, About: "You read too slowly, a frame of yours took too long, or you sent events before CONNECT.", Then: "Come back with a pause that grows, and recover with since."},
	{Code: conn.CodeTooBig, About: "A frame larger than frame_bytes, or before the credential than frame_bytes_before_auth.", Then: "Send it in smaller parts."},
	{Code: conn.CodeInternal, About: "The server failed.", Then: "Come back with a pause that grows."},
	{Code: conn.CodeServiceRestart, About: "The server restarts, or the room had to be rebuilt.", Then: "Come back after a random pause of up to two seconds, and recover with since."},
	{Code: conn.CodeTryAgainLater, About: "The credential can't be checked now.", Then: "Come back with a pause that grows."},
	{Code: CloseUnauthorized, About: "No valid credential in time, or it has ended.", Then: "Do not try the same token again: log in, or exchange the agent's permanent token, then come back."},
	{Code: CloseForbidden, About: "The agent is not verified.", Then: "Stay away until its owner has verified it."},
	{Code: CloseTooMany, About: "The account has connections_per_account connections.", Then: "Close another one, or come back after a minute."},
}

// limits are the bounds of connections.
var limits = []asyncapi.Limit{
	{Name: "frame_bytes", Value: conn.DefaultMaxFrame, Unit: "bytes", About: "The largest frame to the server, unless the handshake of Socket.IO says otherwise."},
	{Name: "frame_bytes_before_auth", Value: authLimit, Unit: "bytes", About: "The largest frame before the credential is accepted."},
	{Name: "events_per_second", Value: conn.DefaultRate, Unit: "events", About: "Who sends more is read more slowly; nothing is dropped."},
	{Name: "burst", Value: conn.DefaultBurst, Unit: "events", About: "How many may come at once before that."},
	{Name: "connections_per_account", Value: session.MaxConnections, Unit: "connections", About: "One more is closed with 4429."},
	{Name: "rooms_per_connection", Value: session.MaxRooms, Unit: "rooms", About: "How many one connection can have joined."},
	{Name: "waiting_commands_per_connection", Value: session.MaxDetached, Unit: "commands", About: "Slash commands whose result is still to come; one more is refused."},
	{Name: "seconds_to_authenticate", Value: int(AuthTimeout / time.Second), Unit: "seconds", About: "How long a connection may take to show its credential."},
	{Name: "unread_bytes", Value: conn.DefaultMaxWaiting, Unit: "bytes", About: "What waits for a client that reads too slowly before it is closed with 1008."},
	{Name: "unread_seconds", Value: int(conn.DefaultMaxWait / time.Second), Unit: "seconds", About: "How long it may wait."},
	{Name: "seconds_between_pings", Value: int(conn.DefaultPingInterval / time.Second), Unit: "seconds", About: "The server's heartbeat, unless the handshake says otherwise."},
	{Name: "seconds_to_answer_a_ping", Value: int(conn.DefaultPingTimeout / time.Second), Unit: "seconds", About: "Who is silent for longer is taken for gone."},
}

// rejections are answers to handshakes that both formats have.
var rejections = []asyncapi.Rejection{
	{Status: 400, About: "It is no handshake of this format.", Then: "Mend the client."},
	{Status: 403, About: "A browser's page of a foreign origin.", Then: "Connect from the service's or the web front end's pages."},
	{Status: 426, About: "It is no WebSocket handshake.", Then: "Mend the client, or a proxy in between."},
	{Status: 503, About: "Too many connections, too many new ones at once, or the server ends.", Then: "Come back after Retry-After seconds, with a random pause."},
}

func describePlain(at string) *asyncapi.Server {
	return &asyncapi.Server{
		Name: asyncapi.Plain, Title: "JSON frames over a WebSocket", Address: at, Path: "/ws", Header: true, Rejected: rejections,
		About: "Text frames of JSON. The first frame is auth, unless the handshake has a header Authorization: Bearer. The heartbeat is the WebSocket's own: pings, which every library answers.",
		Frames: map[string]string{
			"event": `{"event":NAME,"data":{…},"ack":N?}`,
			"ack":   `{"ack":N,"data":{…}}`,
		},
	}
}

func describeSocketIO(at string) *asyncapi.Server {
	return &asyncapi.Server{
		Name: asyncapi.SocketIO, Title: "Socket.IO 4, over WebSocket or long-polling", Address: at, Path: "/socket.io/", Rejected: rejections,
		About: "Protocol 5 of Socket.IO over protocol 4 of Engine.IO, for any client library of Socket.IO 4. Only the namespace / is served. Every event has one argument, and so has every ack.",
		Query: map[string]string{"EIO": "4", "transport": "websocket or polling"},
		Frames: map[string]string{
			"event": `42N?[NAME,{…}]`,
			"ack":   `43N[{…}]`,
		},
		Packets: []asyncapi.Packet{
			{From: "server", Text: "0", Data: openHandshake, About: "The handshake of Engine.IO, first of all."},
			{From: "client", Text: "40", Data: connectAuth, About: "CONNECT: the credential."},
			{From: "server", Text: "40", Data: connected, About: "The credential is accepted."},
			{From: "server", Text: "44", Data: refusal, About: "CONNECT_ERROR: the credential is not accepted, and nothing follows. Do not try the same again."},
			{From: "server", Text: "2", About: "A ping, every pingInterval."},
			{From: "client", Text: "3", About: "The answer to a ping, within pingTimeout."},
			{From: "client", Text: "41", About: "DISCONNECT: you leave for good; your rooms are not kept."},
			{From: "server", Text: "41", About: "DISCONNECT: the credential has ended. Do not try the same again."},
			{From: "client", Text: "1", About: "The end of the connection."},
			{From: "server", Text: "1", About: "The end of the connection."},
			{From: "client", Text: "2probe", About: "On a WebSocket with sid: may the session change to it?"},
			{From: "server", Text: "3probe", About: "It may."},
			{From: "client", Text: "5", About: "The session has changed to the WebSocket."},
			{From: "server", Text: "6", About: "Nothing: it ends a poll while the transport changes."},
		},
	}
}

var (
	openHandshake = openapi.Object(
		has("sid", resource.Text, "The id of the transport's session."), has("upgrades", openapi.List(resource.Text), "Transports that it can change to."),
		has("pingInterval", openapi.Count().Like(25000), "In ms."), has("pingTimeout", openapi.Count().Like(20000), "In ms."),
		has("maxPayload", openapi.Count().Like(conn.DefaultMaxFrame), "The largest message to the server in bytes."),
	).Named("EngineIOHandshake", "What Engine.IO says first.")

	connectAuth = openapi.Form(
		has("token", resource.Text, "A session token or a personal access token."),
		may("recover", openapi.Bool(), "false: without Socket.IO's own recovery; recover with since."),
	).Named("Auth", "Who connects.")

	connected = openapi.Object(
		has("sid", resource.Text, "The id of the socket."), may("pid", resource.Text, "The id for Socket.IO's own recovery."),
	).Named("Connected", "The credential is accepted.")

	refusal = openapi.Object(has("message", openapi.Text(1, 0), "A sentence.")).Named("ConnectError", "The credential is not accepted.")
)
