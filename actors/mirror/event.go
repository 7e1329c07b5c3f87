package mirror

import "sync/atomic"

// Format is a wire format of realtime events. The transport knows what they look like; a mirror only keeps what the
// transport has encoded, so that an event is encoded once for all sockets of a format.
type Format uint8

// Formats of decision 26.
const (
	SocketIO Format = iota
	Plain
	formats
)

// Event is a realtime event on its way to any number of sockets. It does not change.
type Event struct {
	Name string
	Data []byte // JSON object
	Seq  uint64 // place in the agency's log; 0 for events without
	// Fleeting events are worth nothing later: a socket for which much waits need not get them.
	Fleeting bool

	encoded [formats]atomic.Value
}

// Encoded returns what encode once made of the event for a format. encode may run more than once at a race; it must
// always return the same type.
func (e *Event) Encoded(f Format, encode func(*Event) any) any {
	if v := e.encoded[f].Load(); v != nil {
		return v
	}
	v := encode(e)
	e.encoded[f].Store(v)
	return v
}

// Formats are all of them.
func Formats() []Format { return []Format{SocketIO, Plain} }

// String names the format in logs and metrics.
func (f Format) String() string {
	switch f {
	case SocketIO:
		return "socketio"
	case Plain:
		return "plain"
	default:
		return "unknown"
	}
}

// Socket is a live connection to which events can be handed.
type Socket interface {
	// Deliver queues events in order. It never blocks; a socket that can't keep up is closed by its owner.
	Deliver(events ...*Event)
}
