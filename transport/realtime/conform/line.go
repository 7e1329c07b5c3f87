package conform

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"sync"

	"parley/transport/realtime/asyncapi"
	rest "parley/transport/rest/conform"
)

// maxCalls is how many unanswered calls a Line remembers; acks of others are not checked.
const maxCalls = 10_000

// Line is one connection, whose frames are handed over in their order. Sent and Received may be called at the same time.
type Line struct {
	checker *Checker
	format  string

	mu    sync.Mutex
	calls map[uint64]call
}

// call is an event that asked for an ack.
type call struct {
	name string
	data []byte
}

// Line begins to watch a connection in a format of the document.
func (c *Checker) Line(format string) *Line {
	return &Line{checker: c, format: format, calls: map[uint64]call{}}
}

// Sent takes a frame that the client sends. Nothing is wrong with one that is not described: the server will say so.
func (l *Line) Sent(text []byte) {
	name, data, ack := l.readSent(text)
	switch {
	case name == "":
	case ack == nil:
		l.checker.sent(name, data)
	default:
		l.mu.Lock()
		defer l.mu.Unlock()
		if len(l.calls) < maxCalls {
			l.calls[*ack] = call{name, bytes.Clone(data)}
		}
	}
}

var sentEvent = regexp.MustCompile(`(?s)^42(\d*)(\[.*\])$`)

// readSent reads an event to the server; name is empty for anything else.
func (l *Line) readSent(text []byte) (name string, data []byte, ack *uint64) {
	if l.format == asyncapi.Plain {
		var f struct {
			Event string          `json:"event"`
			Data  json.RawMessage `json:"data"`
			Ack   *uint64         `json:"ack"`
		}
		if json.Unmarshal(text, &f) != nil {
			return "", nil, nil
		}
		return f.Event, f.Data, f.Ack
	}
	m := sentEvent.FindSubmatch(text)
	var args []json.RawMessage
	if len(m) == 0 || json.Unmarshal(m[2], &args) != nil || len(args) < 2 || json.Unmarshal(args[0], &name) != nil {
		return "", nil, nil
	}
	if n, err := strconv.ParseUint(string(m[1]), 10, 64); err == nil {
		ack = &n
	}
	return name, args[1], ack
}

// Received takes a text frame from the server, all of which must be as described.
func (l *Line) Received(text []byte) error {
	if l.format == asyncapi.Plain {
		return l.plain(text)
	}
	return l.socketIO(text)
}

func (l *Line) plain(text []byte) error {
	var f struct {
		Event string          `json:"event"`
		Data  json.RawMessage `json:"data"`
		Ack   *uint64         `json:"ack"`
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	switch err := d.Decode(&f); {
	case err != nil:
		return l.bad(text, err)
	case f.Data == nil || (f.Event == "") == (f.Ack == nil):
		return l.bad(text, errors.New("it is neither an event nor an ack"))
	case f.Ack != nil:
		return l.acked(*f.Ack, f.Data)
	}
	return l.checker.Event(l.format, f.Event, f.Data)
}

var received = regexp.MustCompile(`(?s)^4(?:(2)|3(\d+))(\[.*\])$`)

func (l *Line) socketIO(text []byte) error {
	m := received.FindSubmatch(text)
	if m == nil {
		return l.packet(text)
	}
	var args []json.RawMessage
	if err := json.Unmarshal(m[3], &args); err != nil {
		return l.bad(text, err)
	}
	if len(m[1]) == 0 {
		n, err := strconv.ParseUint(string(m[2]), 10, 64)
		if err != nil || len(args) != 1 {
			return l.bad(text, errors.New("an ack has a number and one argument"))
		}
		return l.acked(n, args[0])
	}
	var name string
	if len(args) != 2 || json.Unmarshal(args[0], &name) != nil {
		return l.bad(text, errors.New("an event has a name and one argument"))
	}
	return l.checker.Event(l.format, name, args[1])
}

// packet checks a packet that is neither event nor ack.
func (l *Line) packet(text []byte) error {
	why := errors.New("no packet like this is described")
	for i, p := range l.checker.doc.Server(l.format).Packets {
		body, begins := bytes.CutPrefix(text, []byte(p.Text))
		switch {
		case p.From != "server" || !begins || (p.Data == nil) != (len(body) == 0):
		case p.Data == nil:
			return nil
		default:
			if err := rest.Validate(l.checker.schemas[packets+strconv.Itoa(i)], body); err == nil {
				return nil
			} else {
				why = err
			}
		}
	}
	return l.bad(text, why)
}

func (l *Line) acked(n uint64, data []byte) error {
	l.mu.Lock()
	asked, ok := l.calls[n]
	full := len(l.calls) == maxCalls
	delete(l.calls, n)
	l.mu.Unlock()
	switch {
	case ok:
		return l.checker.Answered(asked.name, asked.data, data)
	case full:
		return nil
	}
	return l.bad(data, fmt.Errorf("nothing asked for the ack %d", n))
}

func (l *Line) bad(text []byte, err error) error {
	return l.checker.note("the server sent a frame of "+l.format, text, err)
}
