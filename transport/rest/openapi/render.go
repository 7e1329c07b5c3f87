package openapi

// components gathers the schemas with names while a document is rendered.
type components struct {
	names  []string
	byName map[string]*Schema
	clash  string // a name that two schemas have
}

// ref renders a schema where it is used.
func (c *components) ref(s *Schema) any {
	if s.name == "" {
		return c.body(s)
	}
	if c.byName == nil {
		c.byName = map[string]*Schema{}
	}
	switch known := c.byName[s.name]; {
	case known == nil:
		c.byName[s.name] = s
		c.names = append(c.names, s.name)
		c.body(s) // finds what it uses
	case known != s:
		c.clash = s.name
	}
	return object{{"$ref", "#/components/schemas/" + s.name}}
}

// body renders a schema itself.
func (c *components) body(s *Schema) object {
	var o object
	switch len(s.types) {
	case 0:
	case 1:
		o.set("type", s.types[0])
	default:
		o.set("type", s.types)
	}
	o.text("description", s.about)
	o.text("format", s.format)
	o.text("pattern", s.pattern)
	if s.enum != nil {
		values := make([]any, 0, len(s.enum)+1)
		for _, v := range s.enum {
			values = append(values, v)
		}
		if len(s.types) > 1 { // a nullable one
			values = append(values, nil)
		}
		o.set("enum", values)
	}
	c.bounds(&o, s)
	if s.item != nil {
		o.set("items", c.ref(s.item))
	}
	c.members(&o, s)
	if len(s.anyOf) > 0 {
		options := make([]any, len(s.anyOf))
		for i, option := range s.anyOf {
			options[i] = c.ref(option)
		}
		o.set("anyOf", options)
	}
	if s.example != nil {
		o.set("examples", []any{s.example})
	}
	return o
}

func (c *components) bounds(o *object, s *Schema) {
	if s.least != nil {
		o.set("minimum", *s.least)
	}
	if s.most != nil {
		o.set("maximum", *s.most)
	}
	if s.minText > 0 {
		o.set("minLength", s.minText)
	}
	if s.maxText > 0 {
		o.set("maxLength", s.maxText)
	}
}

// members renders the fields of an object.
func (c *components) members(o *object, s *Schema) {
	var properties object
	var required []string
	var choices []any // of spellings, of which one is required
	for _, f := range s.fields {
		for i, name := range f.Names {
			about := f.About
			if i > 0 {
				about = "The same as " + f.Names[0] + "."
			}
			properties.set(name, c.described(f.Schema, about))
		}
		switch {
		case f.Needed && s.form && len(f.Names) > 1:
			choices = append(choices, object{{"anyOf", eachRequired(f.Names)}})
		case f.Needed:
			required = append(required, f.Names...)
		}
	}
	if properties != nil {
		o.set("properties", properties)
	}
	if required != nil {
		o.set("required", required)
	}
	if choices != nil {
		o.set("allOf", choices)
	}
	if s.rest != nil {
		o.set("additionalProperties", c.ref(s.rest))
	}
}

func eachRequired(names []string) []any {
	out := make([]any, len(names))
	for i, name := range names {
		out[i] = object{{"required", []string{name}}}
	}
	return out
}

// described renders a schema with a text of its own, which may stand beside a reference.
func (c *components) described(s *Schema, about string) any {
	o, ok := c.ref(s).(object)
	if !ok || about == "" {
		return o
	}
	out := object{}
	for _, m := range o {
		if m.key != "description" {
			out = append(out, m)
		}
	}
	out.set("description", about)
	return out
}
