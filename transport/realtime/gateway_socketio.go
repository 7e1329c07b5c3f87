package realtime

import (
	"encoding/json"
	"errors"
	"net/http"

	"parley/actors/kernel"
	"parley/actors/mirror"
	"parley/actors/platform"
	"parley/transport/realtime/conn"
	"parley/transport/realtime/engineio"
	"parley/transport/realtime/socketio"
)

// SocketIO serves /socket.io/: Engine.IO 4 over WebSocket and long-polling, carrying Socket.IO 5 (decision 26). Only the
// namespace "/" carries chat.
func (s *Server) SocketIO() http.Handler {
	return socketio.New(socketio.Options{
		Engine: engineio.Options{Hub: s.o.Hub, OriginOK: s.originOK, MaxPayload: s.o.MaxFrame, Refused: s.refused, Logger: s.o.Logger},
		Open: func(k *socketio.Session, _ *http.Request) {
			k.Value = (*socketClient)(s.newClient(k.Engine(), socketWire{}))
		},
		Closed:         func(k *socketio.Session, err error) { k.Value.(*socketClient).client().closed(err) },
		ConnectTimeout: -1, // who shows no credential is not kept for as long as that
	}, map[string]socketio.Namespace{socketio.Root: socketio.NamespaceFunc(connectSocket)})
}

// message wraps a Socket.IO packet into an Engine.IO message.
func message(packet func(dst []byte) []byte) *conn.Frame {
	return conn.Text(packet([]byte{'0' + byte(engineio.Message)}))
}

// socketWire is the format of Socket.IO.
type socketWire struct{}

func (socketWire) format() mirror.Format { return mirror.SocketIO }

func (socketWire) event(e *mirror.Event) any {
	return message(func(dst []byte) []byte { return socketio.AppendEvent(dst, e.Name, e.Data, socketio.NoAck) })
}

func (socketWire) ack(id int64, data []byte) *conn.Frame {
	return message(func(dst []byte) []byte { return socketio.AppendAck(dst, id, data) })
}

func (socketWire) goodbye() *conn.Frame {
	return message(func(dst []byte) []byte { return socketio.AppendDisconnect(dst, socketio.Root) })
}

// farewell: a client that goes says so with a packet, and has left by then.
func (socketWire) farewell(error) bool { return false }

// socketClient is a client as a handler of Socket.IO events.
type socketClient client

var _ socketio.Handler = (*socketClient)(nil)

func (c *socketClient) client() *client { return (*client)(c) }

// connectSocket admits a client to the root namespace.
func connectSocket(k *socketio.Socket, data json.RawMessage) {
	c := k.Session().Value.(*socketClient)
	var auth struct {
		Token string `json:"token"`
	}
	if len(data) > 0 {
		if err := json.Unmarshal(data, &auth); err != nil {
			c.server.o.Meter.Refused(refusedToken)
			k.Refuse("auth must be an object with a token")
			return
		}
	}
	err := c.client().admit(auth.Token, func(*platform.Identity) { k.Accept(c) })
	if err == nil {
		return
	}
	e := kernel.AsError(err)
	if e.Code == kernel.CodeUnauthorized || e.Code == kernel.CodeForbidden {
		k.Refuse(e.Message) // the client stops for good (clients.md 6.1)
		return
	}
	k.Leave()
	c.client().refuse(err) // the client comes back
}

// Event implements socketio.Handler.
func (c *socketClient) Event(_ *socketio.Socket, e socketio.Incoming) {
	if len(e.Attachments) > 0 {
		c.client().fail(operation{}, e.Name, nil, e.AckID, kernel.Invalid("binary data is not taken; send it as text"))
		return
	}
	c.client().operate(e.Name, e.First, e.AckID)
}

// Disconnected implements socketio.Handler. A client that left the namespace may connect again, but not stay for nothing.
func (c *socketClient) Disconnected(_ *socketio.Socket, err error) {
	if errors.Is(err, socketio.ErrDisconnected) {
		c.client().leave()
		c.welcomed.Store(false)
		c.client().expectCredential()
	}
}
