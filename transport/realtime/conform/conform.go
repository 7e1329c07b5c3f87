// Package conform holds what travels over live connections against the description of it. It is for tests: the program
// does not link it.
package conform

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"parley/transport/realtime/asyncapi"
	rest "parley/transport/rest/conform"
)

// maxFaults is how many faults a Checker remembers.
const maxFaults = 100

// Checker holds frames against a document. It is safe for concurrent use.
type Checker struct {
	doc     *asyncapi.Document
	schemas map[string]*jsonschema.Schema

	mu     sync.Mutex
	seen   map[string]bool // by key, as in schemas
	faults []error
}

// New makes a Checker.
func New(d *asyncapi.Document) (*Checker, error) {
	schemas, err := compile(d)
	return &Checker{doc: d, schemas: schemas, seen: map[string]bool{}}, err
}

// Faults are the faults that were found so far.
func (c *Checker) Faults() []error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.faults)
}

// Unseen are the operations that were not carried out so far, and the events that were not heard.
func (c *Checker) Unseen() (out []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, o := range c.doc.Operations {
		if !c.seen[forms+o.Name] {
			out = append(out, "operation "+o.Name)
		}
	}
	for _, e := range c.doc.Events {
		if !c.seen[events+e.Name] {
			out = append(out, events+e.Name)
		}
	}
	return out
}

// Event checks an event from the server; format may be empty when it is not known.
func (c *Checker) Event(format, name string, data []byte) error {
	return c.note("the server sent "+name, data, c.event(format, name, data))
}

func (c *Checker) event(format, name string, data []byte) error {
	e := c.doc.Event(name)
	if e == nil || (e.On != "" && format != "" && e.On != format) {
		return errors.New("the event is not described")
	}
	if err := rest.Validate(c.schemas[events+name], data); err != nil {
		return err
	}
	c.saw(events + name)
	var inside struct {
		Missed []struct {
			Event string          `json:"event"`
			Data  json.RawMessage `json:"data"`
		} `json:"missed"`
	}
	_ = json.Unmarshal(data, &inside) // the schema has said what it is
	for _, m := range inside.Missed {
		was := c.doc.Event(m.Event)
		if was == nil || !was.Seq {
			return fmt.Errorf("%s is in missed, and not described as repeated", m.Event)
		}
		if err := rest.Validate(c.schemas[events+m.Event], m.Data); err != nil {
			return fmt.Errorf("%s in missed: %w", m.Event, err)
		}
	}
	return nil
}

// Answered checks an operation that asked for an ack, and the ack. sent is nil when it is not known.
func (c *Checker) Answered(name string, sent, ack []byte) error {
	return c.note("the server acked "+name, ack, c.answered(name, sent, ack))
}

func (c *Checker) answered(name string, sent, ack []byte) error {
	var result struct {
		OK bool `json:"ok"`
	}
	if err := json.Unmarshal(ack, &result); err != nil {
		return fmt.Errorf("the ack is no object: %w", err)
	}
	if c.schemas[acks+name] == nil {
		if result.OK {
			return errors.New("it succeeded, and is not described")
		}
		return nil
	}
	if err := rest.Validate(c.schemas[acks+name], ack); err != nil {
		return err
	}
	if !result.OK {
		return nil // refused: what was sent may be anything
	}
	if sent != nil {
		if err := rest.Validate(c.schemas[forms+name], sent); err != nil {
			return fmt.Errorf("what was sent was accepted, but %.500s is not as described: %w", sent, err)
		}
	}
	c.saw(forms + name)
	return nil
}

// sent notes an operation that asked for no ack. Whether it succeeds is not seen, so it counts if it is as described.
func (c *Checker) sent(name string, data []byte) {
	if s := c.schemas[forms+name]; s != nil && rest.Validate(s, data) == nil {
		c.saw(forms + name)
	}
}

func (c *Checker) saw(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen[key] = true
}

// note remembers a fault.
func (c *Checker) note(what string, text []byte, err error) error {
	if err == nil {
		return nil
	}
	err = fmt.Errorf("%s, which is not as described: %w\n%.1000s", what, err, text)
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.faults) < maxFaults {
		c.faults = append(c.faults, err)
	}
	return err
}
