package openapi

import (
	"slices"
	"strings"
)

// Schema says what a JSON value may be. It is not changed after it was made.
type Schema struct {
	name    string   // of the component; empty: written where it is used
	types   []string // JSON types; empty: anything
	format  string
	pattern string
	about   string
	enum    []string
	least   *int64 // of a number
	most    *int64
	minText int // characters
	maxText int // characters; 0: no limit
	item    *Schema
	fields  []Field
	form    bool    // of several names of a field one suffices
	rest    *Schema // what fields without a description hold; nil: not said
	anyOf   []*Schema
	example any
}

// Field is a member of an object.
type Field struct {
	// Names are its spellings. An answer has all of them with the same value; in a form one suffices, and of several the
	// first one listed counts.
	Names  []string
	Schema *Schema
	Needed bool // in an answer: always there; in a form: required
	About  string
}

// Has is a field that is always there, or that a form requires. names are separated by spaces.
func Has(names string, s *Schema, about string) Field {
	return Field{Names: strings.Fields(names), Schema: s, Needed: true, About: about}
}

// May is a field that can be absent.
func May(names string, s *Schema, about string) Field {
	return Field{Names: strings.Fields(names), Schema: s, About: about}
}

// Text is a string of least to most characters; most 0: without a limit.
func Text(least, most int) *Schema {
	return &Schema{types: []string{"string"}, minText: least, maxText: most}
}

// Int is a whole number in a range.
func Int(least, most int64) *Schema {
	return &Schema{types: []string{"integer"}, least: &least, most: &most}
}

// Count is a whole number that is not negative.
func Count() *Schema {
	var least int64
	return &Schema{types: []string{"integer"}, least: &least}
}

// Number is any number.
func Number() *Schema { return &Schema{types: []string{"number"}} }

// Bool is a truth value.
func Bool() *Schema { return &Schema{types: []string{"boolean"}} }

// Enum is one of some strings.
func Enum(values ...string) *Schema { return &Schema{types: []string{"string"}, enum: values} }

// Any is any value.
func Any() *Schema { return &Schema{} }

// List is an array.
func List(item *Schema) *Schema { return &Schema{types: []string{"array"}, item: item} }

// Object is an object of an answer.
func Object(fields ...Field) *Schema { return &Schema{types: []string{"object"}, fields: fields} }

// Form is the object of a request.
func Form(fields ...Field) *Schema {
	return &Schema{types: []string{"object"}, fields: fields, form: true}
}

// Map is an object whose keys are not known beforehand.
func Map(value *Schema) *Schema { return &Schema{types: []string{"object"}, rest: value} }

// Either is a value that one of some schemas describes.
func Either(options ...*Schema) *Schema { return &Schema{anyOf: options} }

// With is an object with more fields.
func (s *Schema) With(more ...Field) *Schema {
	c := *s
	c.name, c.about, c.example = "", "", nil
	c.fields = slices.Concat(s.fields, more)
	return &c
}

// Rest says what fields hold that have no description of their own.
func (s *Schema) Rest(value *Schema) *Schema { c := *s; c.rest = value; return &c }

// Named makes a component of the document of the schema. Two that differ must not have one name.
func (s *Schema) Named(name, about string) *Schema { c := *s; c.name, c.about = name, about; return &c }

// Format is one of the formats of JSON Schema, such as date-time.
func (s *Schema) Format(f string) *Schema { c := *s; c.format = f; return &c }

// Pattern is a regular expression that a string matches.
func (s *Schema) Pattern(p string) *Schema { c := *s; c.pattern = p; return &c }

// Like gives an example.
func (s *Schema) Like(example any) *Schema { c := *s; c.example = example; return &c }

// OrNull admits null too.
func (s *Schema) OrNull() *Schema {
	if s.name != "" || len(s.types) == 0 {
		return &Schema{anyOf: []*Schema{s, {types: []string{"null"}}}}
	}
	c := *s
	c.types = append(slices.Clone(s.types), "null")
	return &c
}

// Fields are an object's fields.
func (s *Schema) Fields() []Field { return slices.Clone(s.fields) }

// Open says whether fields that have no description are part of what is described.
func (s *Schema) Open() bool { return s.rest != nil }

// Limits are the lengths of a string in characters; most 0: without a limit.
func (s *Schema) Limits() (least, most int) { return s.minText, s.maxText }

// Kind is the first JSON type, empty for anything.
func (s *Schema) Kind() string {
	switch {
	case len(s.anyOf) > 0:
		return s.anyOf[0].Kind()
	case len(s.types) == 0:
		return ""
	}
	return s.types[0]
}

// Example is a value that the schema admits: the one that it was given, or one that follows from its parts. Fields of
// forms are in it when they are required or have an example of their own.
func (s *Schema) Example() any {
	switch {
	case s.example != nil:
		return s.example
	case len(s.enum) > 0:
		return s.enum[0]
	case len(s.anyOf) > 0:
		return s.anyOf[0].Example()
	}
	switch s.Kind() {
	case "string":
		return "text"
	case "integer", "number":
		if s.least != nil {
			return *s.least
		}
		return 1
	case "boolean":
		return true
	case "array":
		return []any{s.item.Example()}
	default:
		return s.exampleObject()
	}
}

func (s *Schema) exampleObject() any {
	var o object
	for _, f := range s.fields {
		if f.Needed || f.Schema.example != nil {
			o.set(f.Names[0], f.Schema.Example())
		}
	}
	return o
}
