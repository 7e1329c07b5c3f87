package realtime

import (
	"encoding/json"
	"errors"
	"net/http"

	"parley/actors/kernel"
	"parley/actors/mirror"
	"parley/actors/platform"
	"parley/transport/realtime/conn"
	"parley/transport/realtime/plain"
)

// Events of the plain format alone (decision 45).
const (
	eventAuth  = "auth"
	eventReady = "ready"
)

// Plain serves /ws: JSON frames over WebSocket. A client authenticates by its first frame, or by an Authorization header.
func (s *Server) Plain() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := s.o.Hub.Accept(w, r, conn.AcceptOptions{OriginOK: s.originOK})
		if err != nil {
			s.refused(w, err)
			return
		}
		cl := &plainClient{client: s.newClient(c, plainWire{})}
		if token := bearer(r); token != "" {
			cl.authenticate(token)
		}
		c.Serve(cl)
	})
}

// plainWire is the format of /ws.
type plainWire struct{}

func (plainWire) format() mirror.Format { return mirror.Plain }

func (plainWire) event(e *mirror.Event) any {
	return conn.Text(plain.AppendEvent(make([]byte, 0, len(e.Name)+len(e.Data)+32), e.Name, e.Data, plain.NoAck))
}

func (plainWire) ack(id int64, data []byte) *conn.Frame {
	return conn.Text(plain.AppendAck(nil, id, data))
}

func (plainWire) goodbye() *conn.Frame { return nil }

// farewell: a client that closes in order goes, and one that vanishes comes back.
func (plainWire) farewell(err error) bool {
	var closed *conn.CloseError
	if !errors.As(err, &closed) || !closed.Remote {
		return false
	}
	switch closed.Code {
	case conn.CodeNormal, conn.CodeGoingAway, conn.CodeNoStatus:
		return true
	}
	return false
}

// plainClient reads JSON frames.
type plainClient struct{ *client }

// Message implements conn.Handler. A frame that can't be read is told of; the connection stays.
func (c *plainClient) Message(_ *conn.Conn, payload []byte) {
	f, err := plain.Decode(payload)
	switch {
	case err != nil && c.session == nil:
		c.server.o.Meter.Refused(refusedToken)
		c.conn.Close(CloseUnauthorized, "the first frame must be auth")
	case err != nil:
		c.push(errorEvent("", kernel.Invalid("%s", err)))
	case c.session == nil:
		c.first(f)
	case f.Event == "": // an answer, and nothing of ours asks for one
	case f.Event == eventAuth:
		c.fail(operation{}, eventAuth, nil, f.Ack, kernel.Invalid("this connection is authenticated already"))
	default:
		c.operate(f.Event, f.Data, f.Ack)
	}
}

// first takes the frame that authenticates.
func (c *plainClient) first(f plain.Frame) {
	var auth struct {
		Token string `json:"token"`
	}
	if f.Event != eventAuth || len(f.Data) == 0 || json.Unmarshal(f.Data, &auth) != nil {
		c.server.o.Meter.Refused(refusedToken)
		c.conn.Close(CloseUnauthorized, "the first frame must be auth with a token")
		return
	}
	c.authenticate(auth.Token)
}

func (c *plainClient) authenticate(token string) {
	err := c.admit(token, func(id *platform.Identity) {
		user := map[string]any{"id": id.ID, "username": id.Username, "displayName": id.DisplayName, "display_name": id.DisplayName, "type": id.Type}
		c.push(&mirror.Event{Name: eventReady, Data: mustJSON(map[string]any{"user": user, "sessionId": id.Session})})
	})
	if err != nil {
		c.refuse(err)
	}
}

// Closed implements conn.Handler.
func (c *plainClient) Closed(_ *conn.Conn, err error) { c.closed(err) }
