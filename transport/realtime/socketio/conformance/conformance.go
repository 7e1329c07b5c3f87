// Package conformance is a server of a few lines over packages engineio and socketio, as the public test suites of the two
// protocols expect it: one path speaks Engine.IO alone and echoes messages, the other one speaks Socket.IO.
package conformance

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"time"

	"parley/transport/realtime/conn"
	"parley/transport/realtime/engineio"
	"parley/transport/realtime/socketio"
)

// Options of a Server. The zero value of every field stands for what the test suites expect.
type Options struct {
	PingInterval time.Duration // 300 ms
	PingTimeout  time.Duration // 200 ms
	MaxPayload   int           // 1,000,000 bytes
	Logger       *slog.Logger  // slog.Default()
}

// Server serves /engine.io/ and /socket.io/.
type Server struct {
	Hub      *conn.Hub
	EngineIO *engineio.Server
	SocketIO *socketio.Server
}

// New starts a server. Its Hub must be closed.
func New(o Options) *Server {
	if o.PingInterval <= 0 {
		o.PingInterval = 300 * time.Millisecond
	}
	if o.PingTimeout <= 0 {
		o.PingTimeout = 200 * time.Millisecond
	}
	if o.MaxPayload <= 0 {
		o.MaxPayload = 1_000_000
	}
	s := &Server{Hub: conn.NewHub(conn.Options{PingInterval: o.PingInterval, PingTimeout: o.PingTimeout, MaxFrame: o.MaxPayload, Logger: o.Logger})}
	engine := engineio.Options{Hub: s.Hub, Logger: o.Logger}
	s.SocketIO = socketio.New(socketio.Options{Engine: engine},
		map[string]socketio.Namespace{"/": socketio.NamespaceFunc(connect), "/custom": socketio.NamespaceFunc(connect)})
	engine.Open = func(*engineio.Session, *http.Request) engineio.Handler { return echo{} }
	s.EngineIO = engineio.New(engine)
	return s
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/engine.io/":
		s.EngineIO.ServeHTTP(w, r)
	case "/socket.io/":
		s.SocketIO.ServeHTTP(w, r)
	default:
		http.NotFound(w, r)
	}
}

// echo sends messages of Engine.IO back.
type echo struct{}

func (echo) Message(s *engineio.Session, data []byte, binary bool) {
	if binary {
		s.Push(engineio.Binary(data))
		return
	}
	s.Push(engineio.Text(data))
}

func (echo) Closed(*engineio.Session, error) {}

// connect lets everybody in, and tells them how they have shown themselves.
func connect(s *socketio.Socket, auth json.RawMessage) {
	s.Accept(handler{})
	if len(auth) == 0 {
		auth = json.RawMessage("{}")
	}
	s.Emit("auth", nil, auth)
}

// handler answers the events of the test suites.
type handler struct{}

func (handler) Event(s *socketio.Socket, e socketio.Incoming) {
	switch e.Name {
	case "message":
		s.Emit("message-back", e.Attachments, e.Args()...)
	case "message-with-ack":
		if e.AckID != socketio.NoAck {
			s.Ack(e.AckID, e.Attachments, e.Args()...)
		}
	}
}

func (handler) Disconnected(*socketio.Socket, error) {}
