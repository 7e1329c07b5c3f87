package engineio

import (
	"encoding/json"
	"net/http"
	"net/url"
	"time"
)

// Version is the protocol version that a client names in the query parameter EIO.
const Version = "4"

// Transports of the protocol that are known here.
const (
	Polling   = "polling"
	WebSocket = "websocket"
)

// Handshake is what the server's first packet says.
type Handshake struct {
	// SID is the session's id.
	SID string
	// Upgrades are the transports that the client may change to.
	Upgrades []string
	// PingInterval and PingTimeout are the heartbeat, sent in whole milliseconds.
	PingInterval time.Duration
	PingTimeout  time.Duration
	// MaxPayload is the largest polling body in bytes.
	MaxPayload int
}

// AppendOpen appends the open packet.
func AppendOpen(dst []byte, h Handshake) ([]byte, error) {
	upgrades := h.Upgrades
	if upgrades == nil {
		upgrades = []string{}
	}
	b, err := json.Marshal(struct {
		SID          string   `json:"sid"`
		Upgrades     []string `json:"upgrades"`
		PingInterval int64    `json:"pingInterval"`
		PingTimeout  int64    `json:"pingTimeout"`
		MaxPayload   int      `json:"maxPayload"`
	}{h.SID, upgrades, h.PingInterval.Milliseconds(), h.PingTimeout.Milliseconds(), h.MaxPayload})
	if err != nil {
		return dst, err
	}
	return Append(dst, Packet{Type: Open, Data: b}), nil
}

// Error is a refusal in the protocol's form, the JSON body of a 400 (403 for ErrForbidden).
type Error struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// Error implements error.
func (e *Error) Error() string { return "engine.io: " + e.Message }

// Status is the HTTP status that goes with the error.
func (e *Error) Status() int {
	if e.Code == ErrForbidden.Code {
		return http.StatusForbidden
	}
	return http.StatusBadRequest
}

// The refusals of the protocol; compare with errors.Is.
var (
	ErrTransport = &Error{0, "Transport unknown"}
	ErrSession   = &Error{1, "Session ID unknown"}
	ErrMethod    = &Error{2, "Bad handshake method"}
	ErrRequest   = &Error{3, "Bad request"}
	ErrForbidden = &Error{4, "Forbidden"}
	ErrVersion   = &Error{5, "Unsupported protocol version"}
)

// maxSID is the longest session id in bytes that is looked at.
const maxSID = 64

// Request is what a request's query says.
type Request struct {
	// Transport is Polling or WebSocket.
	Transport string
	// SID is empty for a handshake.
	SID string
}

// ParseRequest checks the query of a request. The error is one of the protocol's refusals. That a
// session exists, and that it may change its transport, is for the caller to check.
func ParseRequest(method string, query url.Values) (Request, *Error) {
	r := Request{Transport: query.Get("transport"), SID: query.Get("sid")}
	switch {
	case r.Transport != Polling && r.Transport != WebSocket:
		return Request{}, ErrTransport
	case query.Get("EIO") != Version:
		return Request{}, ErrVersion
	case len(r.SID) > maxSID:
		return Request{}, ErrSession
	case r.SID == "" && method != http.MethodGet:
		return Request{}, ErrMethod
	case method != http.MethodGet && (method != http.MethodPost || r.Transport != Polling):
		return Request{}, ErrRequest
	}
	return r, nil
}
