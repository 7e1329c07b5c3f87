package realtime

import (
	"errors"
	"io"
	"net/http"
	"slices"
	"time"

	"parley/actors/kernel"
	"parley/actors/mirror"
	"parley/transport/realtime/conn"
	"parley/transport/realtime/engineio"
)

// Meter is told what happens to live connections. Its methods are called from any goroutine and must not wait. The texts
// that it is given are those of Operations, Results, Refusals and Endings, and no others.
type Meter interface {
	// Accepted tells of a handshake that became a connection. Ended follows once.
	Accepted(f mirror.Format)
	// Refused tells of a handshake or a credential that was turned away.
	Refused(reason string)
	// Ended tells of the end of a connection.
	Ended(f mirror.Format, reason string)
	// Operated tells of an event of a client that was answered.
	Operated(operation, result string, took time.Duration)
}

type noMeter struct{}

func (noMeter) Accepted(mirror.Format)                 {}
func (noMeter) Refused(string)                         {}
func (noMeter) Ended(mirror.Format, string)            {}
func (noMeter) Operated(string, string, time.Duration) {}

// unknownName stands for every operation that is not in the table: clients must not be able to make up names.
const unknownName = "unknown"

// Operations are the names that Operated may be given.
func Operations() []string {
	names := []string{unknownName}
	for name := range operations {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// results are the outcomes of operations, by the code of their error.
var results = map[kernel.Code]string{
	kernel.CodeInternal: "internal", kernel.CodeInvalid: "invalid", kernel.CodeUnauthorized: "unauthorized",
	kernel.CodeForbidden: "forbidden", kernel.CodeNotFound: "not_found", kernel.CodeTaken: "taken", kernel.CodeGone: "gone",
	kernel.CodeTooLarge: "too_large", kernel.CodeLimited: "limited", kernel.CodeOverloaded: "overloaded",
	kernel.CodeUnavailable: "unavailable", kernel.CodeUnsupported: "unsupported", kernel.CodeMediaType: "media_type",
}

const resultOK = "ok"

// Results are the outcomes that Operated may be given.
func Results() []string {
	all := []string{resultOK}
	for _, r := range results {
		all = append(all, r)
	}
	slices.Sort(all)
	return all
}

func resultOf(err error) string {
	if err == nil {
		return resultOK
	}
	if r, ok := results[kernel.AsError(err).Code]; ok {
		return r
	}
	return results[kernel.CodeInternal]
}

// Reasons for refusals.
const (
	refusedOrigin    = "origin"     // a page of a foreign origin
	refusedFull      = "full"       // no more connections, or shutting down
	refusedHandshake = "handshake"  // no valid WebSocket or Engine.IO request
	refusedToken     = "credential" // no, bad or late credential
	refusedForbidden = "forbidden"  // an agent that is not verified
	refusedTooMany   = "too_many"   // the account has its connections already
	refusedTrouble   = "trouble"    // the credential could not be checked
	// RefusedOverload is a handshake that an Admission turned away.
	RefusedOverload = "overload"
)

// Refusals are the reasons that Refused may be given.
func Refusals() []string {
	return []string{refusedOrigin, refusedFull, refusedHandshake, refusedToken, refusedForbidden, refusedTooMany, refusedTrouble, RefusedOverload}
}

// refusalOf names the reason why conn.Accept failed.
func refusalOf(err error) string {
	var h *conn.HandshakeError
	switch {
	case errors.Is(err, conn.ErrFull), errors.Is(err, conn.ErrHubClosed):
		return refusedFull
	case errors.As(err, &h) && h.Status == http.StatusForbidden, errors.Is(err, engineio.ErrForbidden):
		return refusedOrigin
	default:
		return refusedHandshake
	}
}

// rejectionOf names the reason why a credential was not admitted.
func rejectionOf(code kernel.Code) string {
	switch code {
	case kernel.CodeUnauthorized:
		return refusedToken
	case kernel.CodeForbidden:
		return refusedForbidden
	case kernel.CodeLimited:
		return refusedTooMany
	default:
		return refusedTrouble
	}
}

// Reasons for ends.
const (
	endedByClient = "client"          // the client closed, or its network connection ended
	endedByServer = "server"          // this side closed, for a reason that the close code tells
	endedSlow     = "slow_consumer"   // cut off: it did not read (decision 31)
	endedPing     = "ping_timeout"    // it did not answer a heartbeat
	endedMessage  = "message_timeout" // a message took too long to arrive
	endedProtocol = "protocol"        // it broke the protocol
	endedNetwork  = "network"         // an error of the network connection
)

// Endings are the reasons that Ended may be given.
func Endings() []string {
	return []string{endedByClient, endedByServer, endedSlow, endedPing, endedMessage, endedProtocol, endedNetwork}
}

// endingOf names the reason that conn gave for an end.
func endingOf(err error) string {
	var closed *conn.CloseError
	switch {
	case errors.Is(err, conn.ErrSlowConsumer):
		return endedSlow
	case errors.Is(err, conn.ErrPingTimeout):
		return endedPing
	case errors.Is(err, conn.ErrMessageTimeout):
		return endedMessage
	case errors.Is(err, conn.ErrAborted), errors.Is(err, conn.ErrHubClosed):
		return endedByServer
	case errors.Is(err, engineio.ErrHalfOpen), errors.Is(err, engineio.ErrOverlap):
		return endedProtocol
	case errors.Is(err, io.EOF), errors.Is(err, engineio.ErrPollAborted):
		return endedByClient
	case !errors.As(err, &closed):
		return endedNetwork
	case closed.Remote:
		return endedByClient
	}
	switch closed.Code {
	case conn.CodeProtocol, conn.CodeUnsupported, conn.CodeInvalidPayload, conn.CodeTooBig:
		return endedProtocol
	}
	return endedByServer
}
