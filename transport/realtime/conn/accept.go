package conn

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"

	"github.com/coder/websocket"
)

// AcceptOptions say how one request becomes a connection.
type AcceptOptions struct {
	// OriginOK decides about the Origin header. Nil: requests without one, those whose origin is
	// the request's own host, and those that match OriginPatterns.
	OriginOK func(r *http.Request) bool
	// OriginPatterns are host patterns, or scheme://host patterns, as path.Match knows them. They
	// are not looked at when OriginOK is set.
	OriginPatterns []string
	// Heartbeat is the frame that is sent at every PingInterval and that the client answers with
	// anything at all. Nil: a WebSocket ping.
	Heartbeat *Frame
}

// Accept makes a connection of a WebSocket request. Afterwards the HTTP handler should return,
// since net/http's memory for the request is free only then; the request is not kept. Frames may
// be pushed at once; nothing is read and no heartbeat sent before Serve.
//
// A request that does not become a connection is answered with a JSON error ({"error": sentence});
// the error is then a *HandshakeError.
func (h *Hub) Accept(w http.ResponseWriter, r *http.Request, o AcceptOptions) (*Conn, error) {
	hw := &handshakeWriter{ResponseWriter: w}
	if err := h.admit(); err != nil {
		hw.status = http.StatusServiceUnavailable
		return nil, hw.refuse(r, err)
	}
	if o.OriginOK != nil && !o.OriginOK(r) {
		hw.status = http.StatusForbidden
		return nil, hw.refuse(r, errors.New("origin is not allowed"))
	}
	lib, err := websocket.Accept(hw, r, &websocket.AcceptOptions{
		InsecureSkipVerify: o.OriginOK != nil,
		OriginPatterns:     o.OriginPatterns,
		CompressionMode:    websocket.CompressionDisabled,
	})
	if err != nil {
		if hw.conn != nil {
			_ = hw.conn.Close()
		}
		return nil, hw.refuse(r, err)
	}
	// The library's connection is a cycle with a finalizer, which the garbage collector never frees; closing it removes
	// the finalizer. It holds a detached connection: nothing happens to ours.
	_ = lib.CloseNow()
	c := newConn(h, hw.conn, hw.early, o.Heartbeat)
	if err := h.conns.add(c); err != nil {
		_ = hw.conn.Close()
		return nil, err
	}
	return c, nil
}

// handshakeWriter stands between the library and net/http: it takes the connection for itself,
// so that the library's reader and writer are garbage at once, and turns the library's plain text
// errors into JSON.
type handshakeWriter struct {
	http.ResponseWriter
	conn   net.Conn
	early  []byte // what the client sent behind its request
	status int    // of a refusal
}

// WriteHeader passes the switch of protocols on and remembers any refusal.
func (w *handshakeWriter) WriteHeader(status int) {
	if status == http.StatusSwitchingProtocols {
		w.ResponseWriter.WriteHeader(status)
		return
	}
	w.status = status
}

// Write swallows the text of a refusal; refuse writes ours.
func (w *handshakeWriter) Write(p []byte) (int, error) { return len(p), nil }

// Unwrap is for http.ResponseController.
func (w *handshakeWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Hijack implements http.Hijacker.
func (w *handshakeWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	nc, brw, err := http.NewResponseController(w.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, fmt.Errorf("hijack: %w", err)
	}
	w.conn = nc
	if n := brw.Reader.Buffered(); n > 0 {
		b, _ := brw.Reader.Peek(n)
		w.early = append([]byte(nil), b...)
	}
	none := detached{}
	return none, bufio.NewReadWriter(bufio.NewReaderSize(none, 16), bufio.NewWriterSize(none, 16)), nil
}

// refuse answers the request unless its connection was taken over already.
func (w *handshakeWriter) refuse(r *http.Request, cause error) error {
	if w.status == 0 {
		w.status = http.StatusInternalServerError
	}
	he := &HandshakeError{Status: w.status, Reason: refusal(w.status, cause), err: cause}
	if w.conn != nil {
		return he
	}
	hd := w.Header()
	hd.Del("Sec-Websocket-Accept")
	if w.status != http.StatusUpgradeRequired {
		hd.Del("Upgrade")
		hd.Del("Connection")
	}
	if w.status == http.StatusMethodNotAllowed {
		hd.Set("Allow", http.MethodGet)
	}
	hd.Set("Content-Type", "application/json; charset=utf-8")
	w.ResponseWriter.WriteHeader(w.status)
	if r.Method == http.MethodHead {
		return he
	}
	body, err := json.Marshal(map[string]string{"error": he.Reason})
	if err != nil {
		return he
	}
	_, _ = w.ResponseWriter.Write(append(body, '\n'))
	return he
}

// refusal is the sentence for a client that was refused.
func refusal(status int, cause error) string {
	switch status {
	case http.StatusUpgradeRequired:
		return "this address takes WebSocket connections only: send an upgrade request over HTTP/1.1"
	case http.StatusForbidden:
		return "WebSocket connections from this origin are not allowed"
	case http.StatusMethodNotAllowed:
		return "a WebSocket connection is opened with GET"
	case http.StatusServiceUnavailable:
		return "the server takes no more connections now: try again later"
	case http.StatusBadRequest:
		text := cause.Error()
		for _, prefix := range []string{"failed to accept WebSocket connection: ", "WebSocket protocol violation: "} {
			text = strings.TrimPrefix(text, prefix)
		}
		return "the WebSocket handshake is not valid: " + text
	}
	return "the connection can't be turned into a WebSocket"
}

// detached is the connection that the library gets. Its finaliser closes what it was given, which
// must not be the real one.
type detached struct{ net.Conn }

// Close does nothing.
func (detached) Close() error { return nil }

// Read says that the connection is not here.
func (detached) Read([]byte) (int, error) { return 0, net.ErrClosed }

// Write says that the connection is not here.
func (detached) Write([]byte) (int, error) { return 0, net.ErrClosed }
