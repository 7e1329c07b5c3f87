package socketio

import (
	"bytes"
	"errors"
	"time"

	"parley/transport/realtime/conn"
	"parley/transport/realtime/engineio"
)

// ErrDisconnected is why a socket ended whose client has left the namespace by a packet.
var ErrDisconnected = errors.New("disconnected by the client")

// Session is one client, which may be in several namespaces. What is not said to be safe belongs to its reader: call it from
// handlers only.
type Session struct {
	// Value is the application's.
	Value any

	server  *Server
	engine  *engineio.Session
	root    *Socket            // in the namespace "/"
	others  map[string]*Socket // in all others
	partial *partial           // a packet whose attachments are not all there
	late    *time.Timer        // ends a session that is in no namespace; nil while it is in one
	greeted bool               // it was let into a namespace once
}

var _ engineio.Handler = (*Session)(nil)

// Engine is the session of the transport. What is pushed there must be whole packets.
func (s *Session) Engine() *engineio.Session { return s.engine }

// expectConnect ends the session if it does not enter a namespace in time.
func (s *Session) expectConnect() {
	if t := s.server.o.ConnectTimeout; t > 0 {
		s.late = time.AfterFunc(t, func() { s.engine.Close(conn.CodePolicy, "no CONNECT in time") })
	}
}

// violated ends the session of a client that broke the protocol.
func (s *Session) violated(reason string) { s.engine.Close(conn.CodeProtocol, reason) }

// Message implements engineio.Handler.
func (s *Session) Message(_ *engineio.Session, data []byte, binary bool) {
	if binary {
		s.attachment(data)
		return
	}
	if s.partial != nil {
		s.violated("a packet came before all attachments of the last")
		return
	}
	p, err := Decode(data)
	if err != nil {
		s.violated(err.Error())
		return
	}
	if p.Type == Connect {
		s.connect(&p)
		return
	}
	k := s.addressee(&p)
	switch {
	case k == nil && p.Attachments == 0:
	case p.Attachments > 0:
		s.partial = &partial{packet: p, socket: k}
		s.partial.packet.Data = bytes.Clone(p.Data)
	default:
		s.handle(k, &p, nil)
	}
}

// addressee finds the socket that a packet is for. Nil: there is none, and the packet is dropped. One that can't cross with
// the end of a socket closes the session.
func (s *Session) addressee(p *Packet) *Socket {
	k := s.socket(p.Namespace)
	if k != nil && k.gone.Load() {
		return nil // it was sent before the client knew
	}
	farewell := p.Type == Disconnect || p.Type == Ack || p.Type == BinaryAck
	if k == nil && !(s.greeted && farewell) {
		s.engine.Close(conn.CodePolicy, "not connected to the namespace "+p.Namespace)
	}
	return k
}

func (s *Session) socket(namespace string) *Socket {
	if namespace == Root {
		return s.root
	}
	return s.others[namespace]
}

// connect lets a client into a namespace, or not.
func (s *Session) connect(p *Packet) {
	if old := s.socket(p.Namespace); old != nil {
		if !old.gone.Load() {
			s.violated("connected already")
			return
		}
		s.remove(old)
	}
	k := &Socket{session: s, namespace: p.Namespace}
	n, ok := s.server.namespaces[p.Namespace]
	if !ok {
		k.Refuse("Invalid namespace")
		return
	}
	n.Connect(k, p.Data)
	if !k.answered {
		k.Refuse("not admitted")
	}
}

// handle takes a whole packet of a socket.
func (s *Session) handle(k *Socket, p *Packet, attachments [][]byte) {
	switch p.Type {
	case Event, BinaryEvent:
		name, first, rest, err := SplitEvent(p.Data)
		if err != nil {
			s.violated(err.Error())
			return
		}
		k.handler.Event(k, Incoming{Name: name, First: first, Rest: rest, AckID: p.AckID, Attachments: attachments})
	case Ack, BinaryAck:
		k.acked(p.AckID, p.Data, attachments)
	case Disconnect:
		s.remove(k)
		if s.root == nil && len(s.others) == 0 {
			s.expectConnect()
		}
		k.end(ErrDisconnected)
	default:
		s.violated("unexpected CONNECT_ERROR packet")
	}
}

// add notes that a socket was let in.
func (s *Session) add(k *Socket) {
	s.greeted = true
	if s.late != nil {
		s.late.Stop()
		s.late = nil
	}
	if k.namespace == Root {
		s.root = k
		return
	}
	if s.others == nil {
		s.others = map[string]*Socket{}
	}
	s.others[k.namespace] = k
}

func (s *Session) remove(k *Socket) {
	if k == s.root {
		s.root = nil
	}
	if s.others[k.namespace] == k {
		delete(s.others, k.namespace)
	}
}

// Closed implements engineio.Handler.
func (s *Session) Closed(_ *engineio.Session, err error) {
	if s.late != nil {
		s.late.Stop()
	}
	s.partial = nil
	if s.root != nil {
		s.root.end(err)
	}
	for _, k := range s.others {
		k.end(err)
	}
	s.server.o.Closed(s, err)
}
