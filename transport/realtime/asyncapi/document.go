package asyncapi

import "parley/transport/rest/openapi"

// Document is the description of a whole interface, from the view of the server: it receives what clients send.
type Document struct {
	Title   string
	Version string
	About   string
	Docs    string // address of a page to be read; empty: none
	Servers []*Server
	// Operations are all that clients can send, and Events all that they can hear.
	Operations []*Operation
	Events     []*Event
	// Failure is the ack of whatever failed.
	Failure *openapi.Schema
	Closes  []Close
	Limits  []Limit
}

// Server is one of the formats with its address.
type Server struct {
	Name     string // of the format
	Title    string
	Address  string // begins with http or https
	Path     string // behind the address
	About    string
	Query    map[string]string // what the address of the connection has to say besides
	Header   bool              // the credential may come in a header Authorization
	Packets  []Packet
	Frames   map[string]string // how events and acks look, by what they are
	Rejected []Rejection       // answers to a handshake that opens no connection
}

// Packet is a frame that carries no event and no ack.
type Packet struct {
	From  string          `json:"from"` // client, server
	Text  string          `json:"text"` // the frame, or with Data how it begins
	About string          `json:"description"`
	Data  *openapi.Schema `json:"-"` // of the JSON behind Text; nil: there is nothing
}

// Rejection is an answer of HTTP.
type Rejection struct {
	Status int    `json:"status"`
	About  string `json:"description"`
	Then   string `json:"then"` // what the client should do
}

// Operation is an event that clients send.
type Operation struct {
	Name    string
	Summary string          // a few words, without a full stop
	About   string          // what is worth knowing beyond the summary
	Form    *openapi.Schema // its data
	Ack     *openapi.Schema // what a success is answered with
	Causes  []string        // events that a success is told in
	On      string          // the only server that knows it; empty: all
}

// Event is an event that the server sends.
type Event struct {
	Name    string
	Summary string
	About   string
	Data    *openapi.Schema
	Seq     bool   // it has a place in the log, and is in missed after a reconnect
	On      string // the only server that knows it; empty: all
}

// Close is a code with which the server closes a WebSocket.
type Close struct {
	Code  int    `json:"code"`
	About string `json:"description"`
	Then  string `json:"then"` // what the client should do
}

// Limit is a bound that clients can run into.
type Limit struct {
	Name  string `json:"name"`
	Value int    `json:"value"`
	Unit  string `json:"unit"`
	About string `json:"description"`
}

// Operation finds what clients send; nil when it is not described.
func (d *Document) Operation(name string) *Operation {
	for _, o := range d.Operations {
		if o.Name == name {
			return o
		}
	}
	return nil
}

// Event finds what the server sends; nil when it is not described.
func (d *Document) Event(name string) *Event {
	for _, e := range d.Events {
		if e.Name == name {
			return e
		}
	}
	return nil
}

// Server finds a format; nil when it is not described.
func (d *Document) Server(name string) *Server {
	for _, s := range d.Servers {
		if s.Name == name {
			return s
		}
	}
	return nil
}
