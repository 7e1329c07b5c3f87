package realtime

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"parley/actors/command"
	"parley/actors/kernel"
	"parley/actors/mirror"
	"parley/actors/platform"
	"parley/actors/session"
	"parley/transport/realtime/conn"
)

// wire is one of the two formats as a client needs it.
type wire interface {
	format() mirror.Format
	// event encodes an event into a frame.
	event(e *mirror.Event) any
	// ack encodes an ack into a frame.
	ack(id int64, data []byte) *conn.Frame
	// goodbye is sent before the connection of a dead session is closed; nil for nothing.
	goodbye() *conn.Frame
	// farewell tells whether a connection has ended because its client wanted no more, for good.
	farewell(err error) bool
}

// link is what a client writes to: a WebSocket, or a session that may poll.
type link interface {
	Push(f *conn.Frame) bool
	Close(code int, reason string)
	SetReadLimit(n int)
	// Waiting is the number of bytes that were pushed and not yet taken.
	Waiting() int
}

// client is one live connection: it reads for its session and is the session's socket.
type client struct {
	server   *Server
	conn     link
	wire     wire
	session  *session.Session // nil before admission and after the client's own farewell; the reader's
	replied  chan struct{}    // the operation that the reader waits for has been answered
	welcomed atomic.Bool      // the client has been told that it is admitted
	late     *time.Timer      // ends a connection that is not admitted in time; nil afterwards
	faulty   []string         // runs of whose failed events the client was told in an error
}

var _ session.Socket = (*client)(nil)

func (s *Server) newClient(c link, w wire) *client {
	s.o.Meter.Accepted(w.format())
	cl := &client{server: s, conn: c, wire: w, replied: make(chan struct{}, 1)}
	cl.expectCredential()
	return cl
}

// expectCredential ends a connection that is not admitted in time, and holds its messages short until it is.
func (c *client) expectCredential() {
	c.conn.SetReadLimit(authLimit)
	c.late = time.AfterFunc(AuthTimeout, func() {
		c.server.o.Meter.Refused(refusedToken)
		c.conn.Close(CloseUnauthorized, "no credential in time")
	})
}

// admit checks a credential and opens the session; welcome is called before anything else can reach the client. It is
// called by the reader.
func (c *client) admit(token string, welcome func(*platform.Identity)) error {
	ctx, cancel := context.WithTimeout(context.Background(), lookupTimeout)
	defer cancel()
	o := &c.server.o
	id, err := o.Auth.Authenticate(ctx, token)
	if err != nil {
		return c.turnAway(err)
	}
	s, err := session.Open(session.Options{System: o.System, Directory: o.Directory, Registry: o.Registry, Commands: o.Commands,
		Who: id.Sender, ID: id.Session, Expires: id.Expires, Socket: c})
	if err != nil {
		return c.turnAway(err)
	}
	// A credential that died between the check and the registration would be missed by its revocation.
	again, err := o.Auth.Authenticate(ctx, token)
	if err != nil {
		s.Close()
		return c.turnAway(err)
	}
	s.Confirm(again.Sender)
	c.late.Stop()
	c.late = nil
	c.session = s
	c.conn.SetReadLimit(o.MaxFrame)
	welcome(id)
	c.welcomed.Store(true)
	s.Welcomed()
	s.Resume(ctx)
	return nil
}

// turnAway counts a credential that is not admitted.
func (c *client) turnAway(err error) error {
	c.server.o.Meter.Refused(rejectionOf(kernel.AsError(err).Code))
	return err
}

// refuse closes a connection that was not admitted, with the code that fits.
func (c *client) refuse(err error) {
	e := kernel.AsError(err)
	switch e.Code {
	case kernel.CodeUnauthorized:
		c.conn.Close(CloseUnauthorized, e.Message)
	case kernel.CodeForbidden:
		c.conn.Close(CloseForbidden, e.Message)
	case kernel.CodeLimited:
		c.conn.Close(CloseTooMany, e.Message)
	default:
		c.conn.Close(conn.CodeTryAgainLater, e.Message)
	}
}

// noAck says that an event asks for no ack.
const noAck = -1

// operate executes one event and waits for its answer, so that events take effect in their order.
func (c *client) operate(name string, data []byte, ack int64) {
	begun := time.Now()
	op, known := operations[name]
	if !known {
		err := unknownOperation(name)
		c.server.o.Meter.Operated(unknownName, resultOf(err), time.Since(begun))
		c.fail(op, name, nil, ack, err)
		return
	}
	what, err := c.server.decode(op, data)
	if err != nil {
		c.server.o.Meter.Operated(name, resultOf(err), time.Since(begun))
		c.fail(op, name, what, ack, err)
		return
	}
	c.session.Do(what, func(result any, err error) {
		c.server.o.Meter.Operated(name, resultOf(err), time.Since(begun))
		later, detached := result.(*session.Detached)
		switch {
		case err != nil:
			c.fail(op, name, what, ack, err)
		case detached:
			later.Then(func(result any) { c.succeed(what, result, ack) })
		default:
			c.succeed(what, result, ack)
		}
		c.replied <- struct{}{}
	})
	<-c.replied
}

func (c *client) succeed(what, result any, ack int64) {
	if ack != noAck {
		c.conn.Push(c.wire.ack(ack, ackOf(result)))
		return
	}
	send, isSend := what.(session.Send)
	if r, isCommand := result.(command.Result); isSend && isCommand && !send.Silent && r.MessageID == "" {
		c.push(whisper(send, r))
	}
}

func (c *client) fail(op operation, name string, what any, ack int64, err error) {
	e := kernel.AsError(err)
	if e.Code == kernel.CodeInternal {
		c.server.o.Logger.Error("realtime event failed", "event", name, "error", err)
	}
	if ack != noAck {
		c.conn.Push(c.wire.ack(ack, ackOfError(e)))
	}
	if (ack == noAck || op.speaks) && !c.muted(what, e) {
		c.push(errorEvent(name, e))
	}
}

// Deliver implements mirror.Socket. Before its welcome the client is in no room and asks for what there is behind it, so
// that it misses nothing of what is dropped here.
func (c *client) Deliver(events ...*mirror.Event) {
	switch {
	case !c.welcomed.Load():
	case len(events) == 1 && events[0].Fleeting && c.conn.Waiting() > fleetingLimit:
	default:
		c.push(events...)
	}
}

// fleetingLimit is how much may wait for a client, in bytes, that still gets events which are worth nothing later.
const fleetingLimit = 64 << 10

// push queues events of the client's own.
func (c *client) push(events ...*mirror.Event) {
	for _, e := range events {
		c.conn.Push(e.Encoded(c.wire.format(), c.wire.event).(*conn.Frame))
	}
}

// Revoked implements session.Socket.
func (c *client) Revoked() {
	if f := c.wire.goodbye(); f != nil {
		c.conn.Push(f)
	}
	c.conn.Close(CloseUnauthorized, "the session is no longer valid")
}

// Restart implements session.Socket.
func (c *client) Restart() { c.conn.Close(conn.CodeServiceRestart, "service restart") }

// leave ends the session by the client's own will. It is called by the reader, any number of times.
func (c *client) leave() { c.end((*session.Session).Close) }

// lose ends the session of a lost connection: its rooms wait for the next one (clients.md 6.2).
func (c *client) lose() { c.end((*session.Session).Lose) }

func (c *client) end(how func(*session.Session)) {
	if c.late != nil {
		c.late.Stop()
	}
	if c.session != nil {
		how(c.session)
		c.session = nil
	}
}

// closed is the end of the connection.
func (c *client) closed(err error) {
	c.server.o.Meter.Ended(c.wire.format(), endingOf(err))
	if c.session != nil && c.server.o.Logger.Enabled(context.Background(), slog.LevelDebug) {
		c.server.o.Logger.Debug("connection ended", "account", c.session.Who().ID, "reason", err)
	}
	if errors.Is(err, conn.ErrSlowConsumer) && c.session != nil {
		c.server.o.Logger.Info("slow consumer cut off", "account", c.session.Who().ID)
	}
	if c.wire.farewell(err) {
		c.leave()
		return
	}
	c.lose()
}
