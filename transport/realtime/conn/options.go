package conn

import (
	"log/slog"
	"runtime"
	"time"
)

// Defaults of Options. Sources: decision 31 (frame, waiting, rate); the heartbeat is that of
// Socket.IO servers, which existing clients are built around.
const (
	DefaultMaxFrame       = 8 << 20
	DefaultMaxWaiting     = 1 << 20
	DefaultMaxWait        = 10 * time.Second
	DefaultPingInterval   = 25 * time.Second
	DefaultPingTimeout    = 20 * time.Second
	DefaultCloseGrace     = 5 * time.Second
	DefaultMessageTimeout = 2 * time.Minute
	DefaultRate           = 50
	DefaultBurst          = 200
)

// burstFactor is how many times MaxWaiting an outbox may hold while its socket still takes
// everything: such frames wait for this process, not for the client.
const burstFactor = 4

// Options of a Hub. The zero value of every field stands for its default.
type Options struct {
	// MaxFrame is the largest message in bytes that a client may send, fragments added up.
	// A larger one closes the connection with 1009.
	MaxFrame int
	// MaxWaiting is how many bytes may wait for a client that reads too slowly. One frame that is
	// larger may wait alone. Beyond it the client is cut off with 1008.
	MaxWaiting int
	// MaxWait is how long a frame may wait for the client before it is cut off with 1008.
	MaxWait time.Duration
	// PingInterval is the time between two heartbeats of one connection.
	PingInterval time.Duration
	// PingTimeout is how long nothing may be read after a heartbeat before the connection counts as dead.
	PingTimeout time.Duration
	// CloseGrace bounds a close: flushing, the close frame and the peer's answer.
	CloseGrace time.Duration
	// MessageTimeout is how long one message may take to arrive; checked at heartbeats.
	MessageTimeout time.Duration
	// Rate and Burst bound the messages and control frames a second of one connection. Beyond
	// them the connection is read more slowly; nothing is dropped.
	Rate  int
	Burst int
	// MaxConns is how many connections Accept admits at a time. Zero: no bound but the system's.
	MaxConns int
	// Workers is the number of goroutines that write. Zero: GOMAXPROCS.
	Workers int
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
	orInt(&o.MaxFrame, DefaultMaxFrame)
	orInt(&o.MaxWaiting, DefaultMaxWaiting)
	orTime(&o.MaxWait, DefaultMaxWait)
	orTime(&o.PingInterval, DefaultPingInterval)
	orTime(&o.PingTimeout, DefaultPingTimeout)
	orTime(&o.CloseGrace, DefaultCloseGrace)
	orTime(&o.MessageTimeout, DefaultMessageTimeout)
	orInt(&o.Rate, DefaultRate)
	orInt(&o.Burst, DefaultBurst)
	orInt(&o.Workers, runtime.GOMAXPROCS(0))
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return o
}
