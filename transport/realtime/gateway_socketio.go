package realtime

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"net/http"

	"parley/actors/kernel"
	"parley/actors/mirror"
	"parley/actors/platform"
	"parley/transport/realtime/conn"
	"parley/transport/realtime/engineio"
	"parley/transport/realtime/socketio"
)

// enginePing is the heartbeat of Engine.IO: a text frame.
var enginePing = conn.Text([]byte("2"))

// SocketIO serves /socket.io/: Engine.IO 4 over WebSocket, carrying Socket.IO 5.
func (s *Server) SocketIO() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		req, bad := engineio.ParseRequest(r.Method, r.URL.Query())
		if bad == nil && (req.Transport != engineio.WebSocket || req.SID != "") {
			bad = engineio.ErrTransport // long-polling is not served, so nothing is upgraded from it
		}
		if bad != nil {
			s.o.Meter.Refused(refusedHandshake)
			w.Header().Set("Content-Type", "application/json; charset=utf-8")
			w.WriteHeader(bad.Status())
			_ = json.NewEncoder(w).Encode(bad)
			return
		}
		c, err := s.o.Hub.Accept(w, r, conn.AcceptOptions{OriginOK: s.originOK, Heartbeat: enginePing})
		if err != nil {
			s.refused(w, err)
			return
		}
		open, err := engineio.AppendOpen(nil, engineio.Handshake{SID: randomID(), PingInterval: s.o.PingInterval,
			PingTimeout: s.o.PingTimeout, MaxPayload: s.o.MaxFrame})
		if err != nil {
			s.o.Logger.Error("handshake can't be encoded", "error", err)
			c.Abort()
			return
		}
		c.Push(conn.Text(open))
		c.Serve(&socketClient{client: s.newClient(c, socketWire{})})
	})
}

// randomID is the id of an Engine.IO or Socket.IO session: 120 random bits.
func randomID() string {
	var b [15]byte
	_, _ = rand.Read(b[:]) // never fails
	return base64.RawURLEncoding.EncodeToString(b[:])
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

// socketClient reads Engine.IO packets.
type socketClient struct{ *client }

// Message implements conn.Handler.
func (c *socketClient) Message(_ *conn.Conn, payload []byte) {
	p, err := engineio.Decode(payload)
	if err != nil {
		c.conn.Close(conn.CodeProtocol, err.Error())
		return
	}
	switch p.Type {
	case engineio.Message:
		c.packet(p.Data)
	case engineio.Pong, engineio.Noop:
	case engineio.Close:
		c.conn.Close(conn.CodeNormal, "")
	default:
		c.conn.Close(conn.CodeProtocol, "unexpected "+p.Type.String()+" packet")
	}
}

// packet handles one Socket.IO packet.
func (c *socketClient) packet(text []byte) {
	p, err := socketio.Decode(text)
	if err != nil {
		c.conn.Close(conn.CodeProtocol, err.Error())
		return
	}
	switch {
	case p.Type == socketio.Connect:
		c.connect(&p)
	case p.Namespace != socketio.Root || c.session == nil:
		if p.Type != socketio.Disconnect && p.Type != socketio.Ack {
			c.conn.Close(conn.CodePolicy, "not connected to the namespace "+p.Namespace)
		}
	case p.Type == socketio.Event:
		name, data, _, err := socketio.SplitEvent(p.Data)
		if err != nil {
			c.conn.Close(conn.CodeProtocol, err.Error())
			return
		}
		c.operate(name, data, p.AckID)
	case p.Type == socketio.Disconnect:
		c.leave()
		c.expectCredential() // the client may connect again, but not stay for nothing
	case p.Type == socketio.Ack: // nothing of ours asks for one
	default:
		c.conn.Close(conn.CodeUnsupported, "binary events are not supported")
	}
}

// connect admits the client to the root namespace.
func (c *socketClient) connect(p *socketio.Packet) {
	refuse := func(sentence string) {
		c.conn.Push(message(func(dst []byte) []byte { return socketio.AppendConnectError(dst, p.Namespace, sentence) }))
	}
	if p.Namespace != socketio.Root {
		refuse("Invalid namespace")
		return
	}
	if c.session != nil {
		c.conn.Close(conn.CodeProtocol, "connected already")
		return
	}
	var auth struct {
		Token string `json:"token"`
	}
	if len(p.Data) > 0 {
		if err := json.Unmarshal(p.Data, &auth); err != nil {
			c.server.o.Meter.Refused(refusedToken)
			refuse("auth must be an object with a token")
			return
		}
	}
	err := c.admit(auth.Token, func(*platform.Identity) {
		sid := randomID()
		c.conn.Push(message(func(dst []byte) []byte { return socketio.AppendConnect(dst, socketio.Root, sid, "") }))
	})
	if err != nil {
		e := kernel.AsError(err)
		if e.Code == kernel.CodeUnauthorized || e.Code == kernel.CodeForbidden {
			refuse(e.Message) // the client stops for good (clients.md 6.1)
			return
		}
		c.client.refuse(err) // the client comes back
	}
}

// Closed implements conn.Handler.
func (c *socketClient) Closed(_ *conn.Conn, err error) { c.closed(err) }
