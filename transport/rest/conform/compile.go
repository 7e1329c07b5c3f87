package conform

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"parley/transport/rest/openapi"
)

// at is the address of the document for references within it.
const at = "parley.json"

func key(o *openapi.Operation, status int) string { return o.ID() + " " + strconv.Itoa(status) }

// compile makes schemas of everything that is JSON in a document.
func compile(d *openapi.Document) (answers, forms map[string]*jsonschema.Schema, err error) {
	text, err := d.JSON()
	if err != nil {
		return nil, nil, err
	}
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, nil, fmt.Errorf("conform: %w", err)
	}
	doc := parsed.(map[string]any)
	for _, s := range member(doc, "components", "schemas") {
		CloseObjects(s)
	}
	places := place(d, doc)
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	if err := compiler.AddResource(at, doc); err != nil {
		return nil, nil, fmt.Errorf("conform: %w", err)
	}
	answers, forms = map[string]*jsonschema.Schema{}, map[string]*jsonschema.Schema{}
	for name, where := range places {
		s, err := compiler.Compile(at + "#/" + where)
		if err != nil {
			return nil, nil, fmt.Errorf("conform: %s: %w", name, err)
		}
		if strings.Contains(name, " ") {
			answers[name] = s
		} else {
			forms[name] = s
		}
	}
	return answers, forms, nil
}

// place puts every schema of a body under a short address, the answers' closed.
func place(d *openapi.Document, doc map[string]any) map[string]string {
	places := map[string]string{}
	bodies := []any{}
	put := func(name string, schema any) {
		places[name] = "bodies/" + strconv.Itoa(len(bodies))
		bodies = append(bodies, schema)
	}
	for _, o := range d.Operations {
		rendered := member(doc, "paths", o.Path, strings.ToLower(o.Method))
		if s := member(rendered, "requestBody", "content", openapi.JSON)["schema"]; s != nil {
			put(o.ID(), s)
		}
		for status := range member(rendered, "responses") {
			s := member(rendered, "responses", status, "content", openapi.JSON)["schema"]
			if n, err := strconv.Atoi(status); err == nil && s != nil {
				CloseObjects(s)
				put(key(o, n), s)
			}
		}
	}
	doc["bodies"] = bodies
	return places
}

// member walks down objects; nil when one is missing.
func member(o map[string]any, names ...string) map[string]any {
	for _, name := range names {
		o, _ = o[name].(map[string]any)
	}
	return o
}

// CloseObjects forbids fields that a schema does not describe.
func CloseObjects(schema any) {
	s, ok := schema.(map[string]any)
	if !ok {
		return
	}
	properties, _ := s["properties"].(map[string]any)
	for _, p := range properties {
		CloseObjects(p)
	}
	CloseObjects(s["items"])
	CloseObjects(s["additionalProperties"])
	options, _ := s["anyOf"].([]any)
	for _, option := range options {
		CloseObjects(option)
	}
	if _, open := s["additionalProperties"]; properties != nil && !open {
		s["additionalProperties"] = false
	}
}

// Document checks that a document is well-formed against a meta-schema, both as JSON.
func Document(document, meta []byte) error {
	m, err := jsonschema.UnmarshalJSON(bytes.NewReader(meta))
	if err != nil {
		return fmt.Errorf("conform: the meta-schema: %w", err)
	}
	var named struct {
		ID string `json:"$id"`
	}
	if err := json.Unmarshal(meta, &named); err != nil {
		return fmt.Errorf("conform: the meta-schema: %w", err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource(named.ID, m); err != nil {
		return fmt.Errorf("conform: the meta-schema: %w", err)
	}
	s, err := compiler.Compile(named.ID)
	if err != nil {
		return fmt.Errorf("conform: the meta-schema: %w", err)
	}
	return Validate(s, document)
}
