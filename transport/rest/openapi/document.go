package openapi

import (
	"cmp"
	"fmt"
	"slices"
)

// Document is the description of a whole interface.
type Document struct {
	Title   string
	Version string
	About   string // a blank line begins a paragraph
	Base    string // address of the server, without a slash at the end
	Tags    []Tag  // in the order in which people should read them
	Schemes []Scheme

	// Operations are all there is.
	Operations []*Operation
}

// Tag is a chapter.
type Tag struct {
	Name  string `json:"name"`
	About string `json:"description"`
}

// Scheme is a way to show who calls.
type Scheme struct {
	Name   string
	Cookie string // the cookie's name; empty: Authorization: Bearer
	About  string
}

// Sort puts the operations in order: by tag, then by path and method.
func (d *Document) Sort() {
	place := func(o *Operation) int {
		return slices.IndexFunc(d.Tags, func(t Tag) bool { return t.Name == o.Tag })
	}
	slices.SortStableFunc(d.Operations, func(x, y *Operation) int {
		return cmp.Or(place(x)-place(y), cmp.Compare(x.Path, y.Path), cmp.Compare(methodRank(x.Method), methodRank(y.Method)))
	})
}

func methodRank(m string) int {
	return slices.Index([]string{"GET", "POST", "PUT", "PATCH", "DELETE"}, m)
}

// Find returns the operation of a method and a path with its variables.
func (d *Document) Find(method, path string) *Operation {
	for _, o := range d.Operations {
		if o.Method == method && o.Path == path {
			return o
		}
	}
	return nil
}

// JSON renders the document as OpenAPI 3.1. It fails if two schemas have one name.
func (d *Document) JSON() ([]byte, error) {
	var c components
	paths := object{}
	for _, o := range d.Operations {
		if slices.ContainsFunc(paths, func(m member) bool { return m.key == o.Path }) {
			continue
		}
		var methods object
		for _, other := range d.Operations {
			if other.Path == o.Path {
				methods.set(lower[other.Method], other.render(&c))
			}
		}
		paths.set(o.Path, methods)
	}
	schemas, err := c.all()
	if err != nil {
		return nil, err
	}
	schemes := object{}
	for _, s := range d.Schemes {
		schemes.set(s.Name, s.render())
	}
	doc := object{
		{"openapi", "3.1.0"},
		{"info", object{{"title", d.Title}, {"version", d.Version}, {"description", d.About}}},
		{"servers", []any{object{{"url", d.Base}}}},
		{"tags", d.Tags},
		{"paths", paths},
		{"components", object{{"schemas", schemas}, {"securitySchemes", schemes}}},
	}
	text, err := encode(doc)
	if err != nil {
		return nil, fmt.Errorf("openapi: %w", err)
	}
	return append(text, '\n'), nil
}

var lower = map[string]string{"GET": "get", "POST": "post", "PUT": "put", "PATCH": "patch", "DELETE": "delete"}

func (s *Scheme) render() object {
	if s.Cookie != "" {
		return object{{"type", "apiKey"}, {"in", "cookie"}, {"name", s.Cookie}, {"description", s.About}}
	}
	return object{{"type", "http"}, {"scheme", "bearer"}, {"description", s.About}}
}
