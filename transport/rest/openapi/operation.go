package openapi

import (
	"slices"
	"strconv"
	"strings"
)

// JSON is the content type of answers that do not name another.
const JSON = "application/json"

// Operation describes one method of one path.
type Operation struct {
	Tag     string // the name of one of the document's tags
	Summary string // a few words, without a full stop
	About   string // what is worth knowing beyond the summary; a blank line begins a paragraph
	Query   []Param
	Params  map[string]string // what the variables of the path are, by name
	Body    *Schema           // a Form; nil: a body is not needed
	Upload  string            // the body is multipart/form-data instead of JSON, with a file in the part of this name
	Answers []Answer          // successes, the usual one first
	Errors  []Answer          // failures, by status

	// What follows is the table's to fill in.

	Method, Path string
	Security     []string // names of schemes, each of which suffices alone
	Anonymous    bool     // nobody is needed; with Security it is optional
	Budget       *Budget  // nil: not limited
}

// Param is a value in the query of an address.
type Param struct {
	Name   string
	Schema *Schema
	About  string
}

// Answer is what comes back with one status.
type Answer struct {
	Status  int
	Type    string            // content type; empty: JSON
	Schema  *Schema           // nil: no body
	About   string            // empty: the usual words for the status
	Headers map[string]string // what they mean, by name
}

// Budget is a rate limit.
type Budget struct {
	Name     string `json:"budget"` // operations with one name share it
	Requests int    `json:"requests"`
	Seconds  int    `json:"seconds"`
}

// ID is the operation's identifier, made of its method and path.
func (o *Operation) ID() string {
	var b strings.Builder
	b.WriteString(strings.ToLower(o.Method))
	for _, segment := range strings.FieldsFunc(o.Path, func(r rune) bool { return strings.ContainsRune("/.-_", r) }) {
		if name, ok := variable(segment); ok {
			b.WriteString("By")
			segment = name
		}
		if segment != "api" {
			b.WriteString(strings.ToUpper(segment[:1]) + segment[1:])
		}
	}
	return b.String()
}

// Variables are the names of the variable segments of the path, in their order.
func (o *Operation) Variables() []string {
	var names []string
	for _, segment := range strings.Split(o.Path, "/") {
		if name, ok := variable(segment); ok {
			names = append(names, name)
		}
	}
	return names
}

func variable(segment string) (string, bool) {
	if strings.HasPrefix(segment, "{") && strings.HasSuffix(segment, "}") {
		return segment[1 : len(segment)-1], true
	}
	return "", false
}

// Answer finds the answer for a status.
func (o *Operation) Answer(status int) (Answer, bool) {
	for _, a := range slices.Concat(o.Answers, o.Errors) {
		if a.Status == status {
			return a, true
		}
	}
	return Answer{}, false
}

// ContentType is Type, or JSON.
func (a *Answer) ContentType() string {
	if a.Type == "" {
		return JSON
	}
	return a.Type
}

// render makes the Operation Object.
func (o *Operation) render(c *components) object {
	var out object
	out.set("operationId", o.ID())
	out.set("tags", []string{o.Tag})
	out.set("summary", o.Summary)
	out.text("description", o.About)
	if params := o.renderParams(c); params != nil {
		out.set("parameters", params)
	}
	switch {
	case o.Upload != "":
		file := object{{"type", "object"}, {"properties", object{{o.Upload, object{{"type", "string"}, {"format", "binary"}}}}}, {"required", []string{o.Upload}}}
		out.set("requestBody", object{{"required", true}, {"content", object{{"multipart/form-data", object{{"schema", file}}}}}})
	case o.Body != nil:
		out.set("requestBody", object{{"required", o.needsBody()}, {"content", object{{JSON, object{{"schema", c.ref(o.Body)}, {"example", o.Body.Example()}}}}}})
	}
	answers := object{}
	for _, a := range o.byStatus() {
		answers.set(strconv.Itoa(a.Status), a.render(c))
	}
	out.set("responses", answers)
	out.set("security", o.renderSecurity())
	if o.Budget != nil {
		out.set("x-rate-limit", o.Budget)
	}
	return out
}

// needsBody says whether a form has a field that is required.
func (o *Operation) needsBody() bool {
	return slices.ContainsFunc(o.Body.fields, func(f Field) bool { return f.Needed })
}

func (o *Operation) renderParams(c *components) []any {
	var params []any
	for _, name := range o.Variables() {
		params = append(params, object{{"name", name}, {"in", "path"}, {"required", true}, {"description", o.Params[name]}, {"schema", c.ref(Text(1, 0))}})
	}
	for _, q := range o.Query {
		params = append(params, object{{"name", q.Name}, {"in", "query"}, {"description", q.About}, {"schema", c.ref(q.Schema)}})
	}
	return params
}

// renderSecurity lists the schemes; an empty requirement means that nothing is needed.
func (o *Operation) renderSecurity() []any {
	out := []any{}
	for _, s := range o.Security {
		out = append(out, object{{s, []string{}}})
	}
	if o.Anonymous && len(out) > 0 {
		out = append(out, object{})
	}
	return out
}

// byStatus are all answers in the order of their statuses.
func (o *Operation) byStatus() []Answer {
	all := slices.Concat(o.Answers, o.Errors)
	slices.SortStableFunc(all, func(x, y Answer) int { return x.Status - y.Status })
	return all
}

func (a *Answer) render(c *components) object {
	out := object{{"description", a.About}}
	if len(a.Headers) > 0 {
		var headers object
		for _, name := range sortedKeys(a.Headers) {
			headers.set(name, object{{"description", a.Headers[name]}, {"schema", object{{"type", "string"}}}})
		}
		out.set("headers", headers)
	}
	if a.Schema != nil {
		out.set("content", object{{a.ContentType(), object{{"schema", c.ref(a.Schema)}}}})
	}
	return out
}

func sortedKeys[T any](m map[string]T) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
