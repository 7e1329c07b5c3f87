package socketio

import (
	"encoding/json"
	"sync/atomic"

	"parley/transport/realtime/conn"
	"parley/transport/realtime/engineio"
)

// Handler gets what a socket receives. Its methods are called one at a time, in order; while one runs, nothing more is
// read from that client.
type Handler interface {
	// Event gets an event. What it points to is valid during the call only, attachments excepted.
	Event(s *Socket, e Incoming)
	// Disconnected is called once, last, unless the server disconnected the socket itself: with ErrDisconnected when the
	// client left the namespace, else with the reason for which the session ended.
	Disconnected(s *Socket, err error)
}

// Incoming is an event of a client.
type Incoming struct {
	Name string
	// First is the first argument, nil for none, and Rest what follows it, as SplitEvent has them.
	First, Rest json.RawMessage
	// AckID is the number that the client wants its ack under; NoAck for none.
	AckID int64
	// Attachments are binary arguments, in whose place First and Rest have {"_placeholder":true,"num":N}.
	Attachments [][]byte
}

// Args are all arguments.
func (e *Incoming) Args() []json.RawMessage {
	if e.First == nil {
		return nil
	}
	args := []json.RawMessage{e.First}
	if e.Rest == nil {
		return args
	}
	var rest []json.RawMessage
	_ = json.Unmarshal(append([]byte{'['}, e.Rest...), &rest) // Decode has checked it
	return append(args, rest...)
}

// Socket is a client in a namespace. Emit, EmitWithAck, Ack, Disconnect and Close may be called from any goroutine once it
// was accepted.
type Socket struct {
	session   *Session
	namespace string
	handler   Handler
	acks      atomic.Pointer[acks] // nil until the first is asked for
	id        engineio.ID
	answered  bool
	gone      atomic.Bool
}

// Session is the client with all its namespaces.
func (k *Socket) Session() *Session { return k.session }

// Namespace is the name of the namespace.
func (k *Socket) Namespace() string { return k.namespace }

// Accept lets the client in: h gets its events from now on. It may be called once, from Namespace.Connect.
func (k *Socket) Accept(h Handler) {
	k.answered, k.handler, k.id = true, h, engineio.NewID()
	k.session.add(k)
	k.send(AppendConnect(nil, k.namespace, k.id.String(), ""))
}

// Refuse answers with CONNECT_ERROR, for which clients stop to try again.
func (k *Socket) Refuse(message string) {
	k.answered = true
	k.send(AppendConnectError(nil, k.namespace, message))
}

// Leave lets Namespace.Connect return without an answer, because the session is being closed.
func (k *Socket) Leave() { k.answered = true }

// ID is the socket's id, which its client knows; it is not that of the session.
func (k *Socket) ID() string { return k.id.String() }

func (k *Socket) send(packet []byte) bool { return k.session.engine.Push(engineio.Text(packet)) }

// Emit sends an event. Each argument must be valid JSON; attachments stand where a placeholder names them.
func (k *Socket) Emit(name string, attachments [][]byte, args ...json.RawMessage) bool {
	return k.transmit(Packet{Type: Event, AckID: NoAck, Data: EventData(name, args...)}, attachments)
}

// EmitWithAck is Emit for an event that asks for an ack. answer is called exactly once unless an error is returned, by the
// reader of the session, and must not wait.
func (k *Socket) EmitWithAck(answer Answer, name string, attachments [][]byte, args ...json.RawMessage) error {
	if k.acks.Load() == nil {
		k.acks.CompareAndSwap(nil, &acks{pending: map[int64]Answer{}})
	}
	id, err := k.acks.Load().add(answer, &k.gone)
	if err != nil {
		return err
	}
	k.transmit(Packet{Type: Event, AckID: id, Data: EventData(name, args...)}, attachments) // a failure is the session's end
	return nil
}

// Ack answers an event of the client.
func (k *Socket) Ack(id int64, attachments [][]byte, args ...json.RawMessage) bool {
	return k.transmit(Packet{Type: Ack, AckID: id, Data: AckData(args...)}, attachments)
}

// transmit sends an event or an ack with its attachments.
func (k *Socket) transmit(p Packet, attachments [][]byte) bool {
	if k.gone.Load() {
		return false
	}
	p.Namespace, p.Attachments = k.namespace, len(attachments)
	if len(attachments) == 0 {
		return k.send(AppendPacket(nil, p))
	}
	p.Type += BinaryEvent - Event
	frames := make([]*conn.Frame, 0, 1+len(attachments))
	frames = append(frames, engineio.Text(AppendPacket(nil, p)))
	for _, a := range attachments {
		frames = append(frames, engineio.Binary(a))
	}
	return k.session.engine.PushAll(frames...)
}

// acked passes on an ack. One that nothing waits for is dropped, as the reference implementation does.
func (k *Socket) acked(id int64, args json.RawMessage, attachments [][]byte) {
	if a := k.acks.Load(); a != nil {
		if answer := a.take(id); answer != nil {
			answer(args, attachments, nil)
		}
	}
}

// Disconnect puts the client out of the namespace; the session stays. The handler hears of nothing after it, except of an
// event that is being handled.
func (k *Socket) Disconnect() {
	if k.gone.CompareAndSwap(false, true) {
		k.send(AppendDisconnect(nil, k.namespace))
		k.acks.Load().fail(ErrGone)
	}
}

// Close ends the whole session with a code and a reason.
func (k *Socket) Close(code int, reason string) { k.session.engine.Close(code, reason) }

// end is the last that a socket hears of.
func (k *Socket) end(err error) {
	told := !k.gone.Swap(true)
	k.acks.Load().fail(err)
	if told {
		k.handler.Disconnected(k, err)
	}
}
