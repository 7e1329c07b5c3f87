package engineio

import (
	"log/slog"
	"net/http"
	"time"

	"parley/transport/realtime/conn"
)

// Defaults of Options.
const (
	// DefaultMaxPolling is how many sessions may poll at a time. They are dear: each holds a request of net/http.
	DefaultMaxPolling = 10_000
	// DefaultMaxHalfOpen is how many sessions may be open that have made no request behind their handshake.
	DefaultMaxHalfOpen = 4096
	// DefaultFirstRequest is how long a session may take to make its first request behind the handshake.
	DefaultFirstRequest = 10 * time.Second
	// DefaultUpgradeTimeout is how long a change to a WebSocket may take, as in the reference implementation.
	DefaultUpgradeTimeout = 10 * time.Second
	// DefaultBodyTimeout is how long the body of a POST may take.
	DefaultBodyTimeout = time.Minute
)

const (
	// stallTime is how long messages may wait for a poll before the client counts as slow and the smaller of the Hub's
	// bounds holds.
	stallTime = time.Second
	// upgradeHold is how long a poll is held while the client tries a WebSocket, which it takes only between two polls.
	upgradeHold = 100 * time.Millisecond
	// maxProbe is the largest packet in bytes that a WebSocket may send before it is the session's.
	maxProbe = 64
	// retryAfter is the time in seconds after which a client that was refused for lack of room should come back.
	retryAfter = "5"
)

// Handler gets what a session receives. Its methods are called one at a time, in order; while one runs, nothing more is
// read from that client.
type Handler interface {
	// Message gets a message, of valid UTF-8 unless it is binary. data is valid during the call only and may be changed.
	Message(s *Session, data []byte, binary bool)
	// Closed is called once, last. err is what package conn's Handler gets: a *conn.CloseError, conn.ErrPingTimeout,
	// conn.ErrSlowConsumer and so on, for polling too; or one of this package's.
	Closed(s *Session, err error)
}

// Options of a Server. The zero value of every field but the first two stands for its default.
type Options struct {
	// Hub has the connections, the heartbeat, and the bounds of what waits for a client. Required.
	Hub *conn.Hub
	// Open makes the handler of a new session; nothing is read from it before. Required.
	Open func(s *Session, r *http.Request) Handler
	// OriginOK says whether a page of the request's Origin is trusted: others get no WebSocket (403, code 4), and no
	// credentials with polling. Requests without an Origin are not of a page. Nil: all are.
	OriginOK func(r *http.Request) bool
	// Refused is told of handshakes that failed and were answered.
	Refused func(w http.ResponseWriter, err error)
	// MaxPayload is the largest message, and the largest polling body, in bytes; the Hub's MaxFrame.
	MaxPayload int
	// WebSocketOnly turns polling off.
	WebSocketOnly bool
	// MaxPolling, MaxHalfOpen, FirstRequest, UpgradeTimeout and BodyTimeout bound polling; see the defaults. A session over
	// MaxPolling is refused with 503. One over MaxHalfOpen ends the oldest that has made no request, so that whoever opens
	// sessions and lets them lie keeps nobody out.
	MaxPolling, MaxHalfOpen                   int
	FirstRequest, UpgradeTimeout, BodyTimeout time.Duration
	// Logger gets what an operator should see. Nil: slog.Default().
	Logger *slog.Logger
}

func (o Options) withDefaults() Options {
	orInt := func(v *int, d int) {
		if *v <= 0 {
			*v = d
		}
	}
	orTime := func(v *time.Duration, d time.Duration) {
		if *v <= 0 {
			*v = d
		}
	}
	orInt(&o.MaxPayload, o.Hub.Options().MaxFrame)
	orInt(&o.MaxPolling, DefaultMaxPolling)
	orInt(&o.MaxHalfOpen, DefaultMaxHalfOpen)
	orTime(&o.FirstRequest, DefaultFirstRequest)
	orTime(&o.UpgradeTimeout, DefaultUpgradeTimeout)
	orTime(&o.BodyTimeout, DefaultBodyTimeout)
	if o.OriginOK == nil {
		o.OriginOK = func(*http.Request) bool { return true }
	}
	if o.Refused == nil {
		o.Refused = func(http.ResponseWriter, error) {}
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return o
}
