package socketio

import (
	"encoding/json"
	"errors"
	"slices"
	"sync"
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

// Errors of acks.
var (
	// ErrManyAcks: MaxPendingAcks are waited for.
	ErrManyAcks = errors.New("too many acks are waited for")
	// ErrGone: the socket has ended.
	ErrGone = errors.New("the socket has ended")
)

// Answer gets the ack to an event of the server: its arguments as a JSON array, and its attachments. err is why none comes.
type Answer func(args json.RawMessage, attachments [][]byte, err error)

// Socket is a client in a namespace. Emit, EmitWithAck, Ack, Disconnect and Close may be called from any goroutine once it
// was accepted.
type Socket struct {
	session   *Session
	namespace string
	handler   Handler
	id        engineio.ID
	answered  bool
	gone      atomic.Bool

	mu      sync.Mutex
	next    int64            // id of the next ack
	pending map[int64]Answer // nil until the first
	ended   error
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
	k.mu.Lock()
	if k.ended != nil || len(k.pending) >= MaxPendingAcks {
		defer k.mu.Unlock()
		if k.ended != nil {
			return ErrGone
		}
		return ErrManyAcks
	}
	if k.pending == nil {
		k.pending = map[int64]Answer{}
	}
	id := k.next
	k.next++
	k.pending[id] = answer
	k.mu.Unlock()
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
	k.mu.Lock()
	answer := k.pending[id]
	delete(k.pending, id)
	k.mu.Unlock()
	if answer != nil {
		answer(args, attachments, nil)
	}
}

// Disconnect puts the client out of the namespace; the session stays. The handler hears of nothing after it, except of an
// event that is being handled.
func (k *Socket) Disconnect() {
	if k.gone.CompareAndSwap(false, true) {
		k.send(AppendDisconnect(nil, k.namespace))
		k.fail(ErrGone)
	}
}

// Close ends the whole session with a code and a reason.
func (k *Socket) Close(code int, reason string) { k.session.engine.Close(code, reason) }

// end is the last that a socket hears of.
func (k *Socket) end(err error) {
	told := !k.gone.Swap(true)
	k.fail(err)
	if told {
		k.handler.Disconnected(k, err)
	}
}

// fail answers the acks that nobody will send.
func (k *Socket) fail(err error) {
	k.mu.Lock()
	if k.ended == nil {
		k.ended = err
	}
	var waiting []Answer
	ids := make([]int64, 0, len(k.pending))
	for id := range k.pending {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for _, id := range ids {
		waiting = append(waiting, k.pending[id])
	}
	k.pending = nil
	k.mu.Unlock()
	for _, answer := range waiting {
		answer(nil, nil, err)
	}
}
