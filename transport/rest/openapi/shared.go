package openapi

import (
	"fmt"
	"slices"
)

// Schemas renders schemas for a document of another kind that keeps those with names under #/components/schemas, too.
type Schemas struct{ c components }

// Use renders a schema where it is used.
func (s *Schemas) Use(x *Schema) any { return s.c.ref(x) }

// Named are those with names that were used so far. It fails if two have one name.
func (s *Schemas) Named() (any, error) { return s.c.all() }

// Encode renders a document, with <, > and & as they are.
func Encode(document any) ([]byte, error) { return encode(document) }

// all renders the schemas with names.
func (c *components) all() (object, error) {
	if c.clash != "" {
		return nil, fmt.Errorf("openapi: two schemas are called %s", c.clash)
	}
	out := object{}
	slices.Sort(c.names)
	for _, name := range c.names {
		out.set(name, c.body(c.byName[name]))
	}
	return out, nil
}
