package conn

import (
	"errors"
	"fmt"
)

// Why a connection ended, as Handler.Closed gets it; compare with errors.Is. A close frame of
// either side arrives as *CloseError instead.
var (
	// ErrSlowConsumer: the client did not read what waited for it (decision 31).
	ErrSlowConsumer = errors.New("slow consumer")
	// ErrPingTimeout: the client did not answer a heartbeat.
	ErrPingTimeout = errors.New("ping timeout")
	// ErrMessageTimeout: a message took longer than Options.MessageTimeout to arrive.
	ErrMessageTimeout = errors.New("message timeout")
	// ErrAborted: Abort was called.
	ErrAborted = errors.New("connection aborted")
	// ErrHubClosed: the hub was closed. Accept returns it too.
	ErrHubClosed = errors.New("hub closed")
	// ErrFull: Accept refused the connection because Options.MaxConns are open.
	ErrFull = errors.New("too many connections")
)

// Close codes of RFC 6455, section 7.4.1, and of the IANA registry, as far as they are used here.
const (
	CodeNormal         = 1000
	CodeGoingAway      = 1001
	CodeProtocol       = 1002
	CodeUnsupported    = 1003
	CodeNoStatus       = 1005 // never on the wire: a close frame without a code
	CodeInvalidPayload = 1007
	CodePolicy         = 1008
	CodeTooBig         = 1009
	CodeInternal       = 1011
	CodeServiceRestart = 1012
	CodeTryAgainLater  = 1013
)

// CloseError says that a close frame ended the connection.
type CloseError struct {
	Code   int
	Reason string
	// Remote is true when the client closed, false when this side did.
	Remote bool
}

// Error implements error.
func (e *CloseError) Error() string {
	side := "server"
	if e.Remote {
		side = "client"
	}
	if e.Reason == "" {
		return fmt.Sprintf("closed by %s: %d", side, e.Code)
	}
	return fmt.Sprintf("closed by %s: %d %s", side, e.Code, e.Reason)
}

// HandshakeError is what Accept returns for a request that did not become a WebSocket. The client
// has been answered.
type HandshakeError struct {
	// Status is the HTTP status that was sent.
	Status int
	// Reason is the sentence that was sent.
	Reason string
	err    error
}

// Error implements error.
func (e *HandshakeError) Error() string {
	return fmt.Sprintf("websocket handshake: %d: %s", e.Status, e.Reason)
}

// Unwrap returns the cause, such as ErrFull.
func (e *HandshakeError) Unwrap() error { return e.err }
