// Package realtime serves live connections: Socket.IO and plain WebSocket, two wire formats over one table of
// operations (decision 26). It turns frames into operations of a session and events into frames; it decides nothing.
package realtime

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"runtime"
	"strings"
	"time"

	"parley/actors/kernel"
	"parley/actors/platform"
	"parley/actors/session"
	"parley/transport/realtime/conn"
)

// Limits of connections that are not admitted yet.
const (
	// AuthTimeout is how long a connection may take to show its credential (decision 45).
	AuthTimeout = 10 * time.Second
	// authLimit is the largest message in bytes before that.
	authLimit = 64 << 10
	// lookupTimeout bounds the check of a credential.
	lookupTimeout = 5 * time.Second
)

// Close codes of our own (decision 45). 44xx: the client must change something before it comes back.
const (
	CloseUnauthorized = 4401 // no, bad or revoked credential
	CloseForbidden    = 4403 // an agent that is not verified
	CloseTooMany      = 4429 // the account has too many connections; it may try again later
)

// Authenticator finds who a token belongs to.
type Authenticator interface {
	Authenticate(ctx context.Context, token string) (*platform.Identity, error)
}

// Options of a Server. All fields but Logger and Meter are required.
type Options struct {
	Hub       *conn.Hub
	Auth      Authenticator
	System    *kernel.System
	Directory kernel.Directory
	Registry  *session.Registry
	Commands  session.Commands
	// PublicURL and WebURL are the origins from which browsers may connect (decision 26).
	PublicURL, WebURL *url.URL
	// PingInterval and PingTimeout are what Socket.IO clients are told of the Hub's heartbeat.
	PingInterval, PingTimeout time.Duration
	// MaxFrame is what Socket.IO clients are told of the largest message in bytes.
	MaxFrame int
	Logger   *slog.Logger // nil: slog.Default
	Meter    Meter        // nil: nothing is measured
}

// Server makes live connections of requests.
type Server struct {
	o     Options
	heavy chan struct{} // holds a place for each heavy event that is being read
}

// New makes a server.
func New(o Options) *Server {
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Meter == nil {
		o.Meter = noMeter{}
	}
	return &Server{o: o, heavy: make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2))}
}

// heavyEvent is the size in bytes from which on events are read a few at a time: several that come at once would leave
// other sockets no processor.
const heavyEvent = 256 << 10

// decode reads the data of an event. Only the socket that sent it waits.
func (s *Server) decode(op operation, data []byte) (any, error) {
	if len(data) > heavyEvent {
		s.heavy <- struct{}{}
		defer func() { <-s.heavy }()
	}
	return op.decode(data)
}

// Connections returns the number of live connections.
func (s *Server) Connections() int { return s.o.Hub.Len() }

// Drain refuses new connections and closes the live ones with 1012, spread over a time, so that their clients do not all
// come back at once. It returns when they are gone or ctx ends.
func (s *Server) Drain(ctx context.Context, spread time.Duration) error {
	return s.o.Hub.Drain(ctx, conn.CodeServiceRestart, "service restart", spread)
}

// refused notes a handshake that failed. The transport in front has given the request its id.
func (s *Server) refused(w http.ResponseWriter, err error) {
	s.o.Meter.Refused(refusalOf(err))
	s.o.Logger.Debug("handshake failed", "request", w.Header().Get("X-Request-Id"), "error", err)
}

// originOK admits the service's own and the web front end's origins, and clients without one (decision 26).
func (s *Server) originOK(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if origin == "" {
		return true
	}
	u, err := url.Parse(origin)
	if err != nil || u.Host == "" {
		return false
	}
	for _, own := range []*url.URL{s.o.PublicURL, s.o.WebURL} {
		if strings.EqualFold(u.Scheme, own.Scheme) && strings.EqualFold(u.Host, own.Host) {
			return true
		}
	}
	return strings.EqualFold(u.Host, r.Host)
}

// bearer returns the token of an Authorization header, empty for none.
func bearer(r *http.Request) string {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}
