package socketio

import (
	"encoding/json"
	"net/http"
	"time"

	"parley/transport/realtime/engineio"
)

const (
	// DefaultConnectTimeout is how long a session may be in no namespace, as in the reference implementation.
	DefaultConnectTimeout = 45 * time.Second
	// MaxPendingAcks is how many acks of one socket may be waited for.
	MaxPendingAcks = 1000
)

// Namespace admits clients.
type Namespace interface {
	// Connect is called for each client that asks to enter. It answers by Socket.Accept or Socket.Refuse, or closes the
	// session, before it returns. auth is a JSON object, or empty, and valid during the call only.
	Connect(s *Socket, auth json.RawMessage)
}

// NamespaceFunc is a function as a Namespace.
type NamespaceFunc func(s *Socket, auth json.RawMessage)

// Connect implements Namespace.
func (f NamespaceFunc) Connect(s *Socket, auth json.RawMessage) { f(s, auth) }

// Options of a Server. The zero value of every field but Engine.Hub stands for its default.
type Options struct {
	// Engine are the options of the transport. Its field Open is set by New.
	Engine engineio.Options
	// Open is told of each new session before anything is read from it, and Closed, last, of its end.
	Open   func(s *Session, r *http.Request)
	Closed func(s *Session, err error)
	// ConnectTimeout is how long a session may be in no namespace. Negative: Open sees to that.
	ConnectTimeout time.Duration
	// MaxAttachmentBytes is how many bytes the attachments of one packet may have together: the largest message.
	MaxAttachmentBytes int
}

// Server serves namespaces.
type Server struct {
	o          Options
	engine     *engineio.Server
	namespaces map[string]Namespace
}

var _ http.Handler = (*Server)(nil)

// New makes a server of the namespaces by their names, each of which begins with a slash.
func New(o Options, namespaces map[string]Namespace) *Server {
	if o.Open == nil {
		o.Open = func(*Session, *http.Request) {}
	}
	if o.Closed == nil {
		o.Closed = func(*Session, error) {}
	}
	if o.ConnectTimeout == 0 {
		o.ConnectTimeout = DefaultConnectTimeout
	}
	if o.MaxAttachmentBytes <= 0 {
		o.MaxAttachmentBytes = max(o.Engine.MaxPayload, o.Engine.Hub.Options().MaxFrame)
	}
	s := &Server{namespaces: namespaces}
	o.Engine.Open = s.open
	s.o = o
	s.engine = engineio.New(o.Engine)
	return s
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.engine.ServeHTTP(w, r) }

// Len is the number of live sessions, and how many of them poll.
func (s *Server) Len() (all, polling int) { return s.engine.Len() }

func (s *Server) open(e *engineio.Session, r *http.Request) engineio.Handler {
	session := &Session{server: s, engine: e}
	session.expectConnect()
	s.o.Open(session, r)
	return session
}
