package openapi

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

//go:embed page.html
var pageText string

// Style is the style sheet of the pages.
//
//go:embed page.css
var Style template.CSS

var pageTemplate = template.Must(template.New("page").Parse(pageText))

// Page renders the document for people: one HTML page that needs nothing else.
func (d *Document) Page() ([]byte, error) {
	v := pageView{Document: d, Style: Style, Paragraphs: paragraphs(d.About)}
	var c components
	for _, t := range d.Tags {
		chapter := chapterView{Tag: t, Anchor: anchor(t.Name)}
		for _, o := range d.Operations {
			if o.Tag == t.Name {
				chapter.Operations = append(chapter.Operations, d.viewOperation(o))
				o.render(&c)
			}
		}
		if chapter.Operations != nil {
			v.Chapters = append(v.Chapters, chapter)
		}
	}
	slices.Sort(c.names)
	for _, name := range c.names {
		s := c.byName[name]
		v.Schemas = append(v.Schemas, schemaView{Name: name, About: s.about, Shape: label(s, true), Fields: rows(s)})
	}
	var b bytes.Buffer
	if err := pageTemplate.Execute(&b, v); err != nil {
		return nil, fmt.Errorf("openapi: page: %w", err)
	}
	return b.Bytes(), nil
}

// PagePolicy is the Content-Security-Policy under which a page shows itself and nothing else: its own style, no scripts.
func PagePolicy(page []byte) string {
	style := ""
	if _, after, ok := bytes.Cut(page, []byte("<style>")); ok {
		text, _, _ := bytes.Cut(after, []byte("</style>"))
		sum := sha256.Sum256(text)
		style = " style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "';"
	}
	return "default-src 'none';" + style + " base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
}

type pageView struct {
	*Document
	Style      template.CSS
	Paragraphs []string
	Chapters   []chapterView
	Schemas    []schemaView
}

type chapterView struct {
	Tag
	Anchor     string
	Operations []operationView
}

type operationView struct {
	*Operation
	Anchor     string
	Access     string
	Paragraphs []string
	Inputs     []rowView // of path and query
	Fields     []rowView // of the body
	Results    []resultView
	Curl       string
}

type resultView struct {
	Status int
	Name   string
	About  string
	Shape  labelView
	Fields []rowView
	Notes  []string // headers
}

type schemaView struct {
	Name, About string
	Shape       labelView
	Fields      []rowView
}

// rowView is a parameter or a field.
type rowView struct {
	Name   string
	Others []string // other spellings
	Shape  labelView
	Needed bool
	About  string
}

func paragraphs(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n\n")
}

func anchor(name string) string {
	return strings.ToLower(strings.ReplaceAll(name, " ", "-"))
}

func (d *Document) viewOperation(o *Operation) operationView {
	v := operationView{Operation: o, Anchor: o.ID(), Access: o.access(), Paragraphs: paragraphs(o.About), Curl: d.Curl(o)}
	for _, name := range o.Variables() {
		v.Inputs = append(v.Inputs, rowView{Name: "{" + name + "}", Shape: words("in the path"), Needed: true, About: o.Params[name]})
	}
	for _, q := range o.Query {
		v.Inputs = append(v.Inputs, rowView{Name: q.Name, Shape: append(words("in the query, "), label(q.Schema, false)...), About: q.About})
	}
	if o.Body != nil {
		v.Fields = rows(o.Body)
	}
	if o.Upload != "" {
		v.Fields = []rowView{{Name: o.Upload, Shape: words("a file, in a part of multipart/form-data"), Needed: true}}
	}
	for _, a := range o.byStatus() {
		r := resultView{Status: a.Status, Name: http.StatusText(a.Status), About: a.About}
		if a.Schema != nil && a.Status < http.StatusBadRequest {
			r.Shape = label(a.Schema, false)
			if a.Schema.name == "" {
				r.Fields = rows(a.Schema)
			}
			if a.Type != "" && a.Type != JSON {
				r.Shape = words(a.Type)
			}
		}
		for _, name := range sortedKeys(a.Headers) {
			r.Notes = append(r.Notes, name+": "+a.Headers[name])
		}
		v.Results = append(v.Results, r)
	}
	return v
}

// access says who may call, in words.
func (o *Operation) access() string {
	switch {
	case len(o.Security) == 0:
		return "no credential"
	case o.Anonymous:
		return "credential optional: " + strings.Join(o.Security, " or ")
	default:
		return strings.Join(o.Security, " or ")
	}
}

// rows are the fields of an object, those of objects without a name in it under names with dots.
func rows(s *Schema) []rowView {
	var out []rowView
	for _, f := range s.fields {
		out = append(out, rowView{Name: f.Names[0], Others: f.Names[1:], Shape: label(f.Schema, false), Needed: f.Needed, About: f.About})
		if f.Schema.name != "" {
			continue
		}
		for _, inner := range rows(f.Schema) {
			inner.Name = f.Names[0] + "." + inner.Name
			out = append(out, inner)
		}
	}
	return out
}

// labelView is a schema in a few words.
type labelView []wordView

// wordView is a part of it, a text or the name of a component to link to.
type wordView struct{ Text, Link string }

func words(text string) labelView { return labelView{{Text: text}} }

// label describes a schema; whole asks for a component's own shape instead of a link to it.
func label(s *Schema, whole bool) labelView {
	switch {
	case s.name != "" && !whole:
		return labelView{{Link: s.name}}
	case s.item != nil:
		return append(words("list of "), label(s.item, false)...)
	case len(s.anyOf) > 0:
		var out labelView
		for i, option := range s.anyOf {
			if i > 0 {
				out = append(out, wordView{Text: " or "})
			}
			out = append(out, label(option, false)...)
		}
		return out
	case len(s.types) == 0:
		return words("anything")
	case s.rest != nil && s.fields == nil:
		return append(words("object of "), label(s.rest, false)...)
	}
	text := strings.Join(s.types, " or ")
	if s.enum != nil {
		text += ": " + strings.Join(s.enum, ", ")
	}
	return words(text + bounds(s))
}

// bounds are a schema's limits in words.
func bounds(s *Schema) string {
	switch {
	case s.least != nil && s.most != nil:
		return fmt.Sprintf(", %d to %d", *s.least, *s.most)
	case s.format != "":
		return ", " + s.format
	case s.minText > 0 && s.maxText > 0:
		return fmt.Sprintf(", %d to %d characters", s.minText, s.maxText)
	case s.maxText > 0:
		return ", at most " + strconv.Itoa(s.maxText) + " characters"
	}
	return ""
}

// Curl is a command for a shell that calls an operation. Values to fill in are variables of the shell.
func (d *Document) Curl(o *Operation) string {
	var b strings.Builder
	b.WriteString("curl -s")
	if o.Method != http.MethodGet && (o.Method != http.MethodPost || (o.Body == nil && o.Upload == "")) {
		b.WriteString(" -X " + o.Method)
	}
	path := o.Path
	for _, name := range o.Variables() {
		path = strings.ReplaceAll(path, "{"+name+"}", "$"+strings.ToUpper(snake(name)))
	}
	b.WriteString(` "` + d.Base + path + `"`)
	if len(o.Security) > 0 && !o.Anonymous {
		b.WriteString(` -H "Authorization: Bearer $TOKEN"`)
	}
	if o.Upload != "" {
		b.WriteString(" -F " + o.Upload + "=@picture.png")
	} else if o.Body != nil {
		body, err := json.Marshal(o.Body.Example())
		if err != nil { // examples are plain values
			return b.String()
		}
		b.WriteString(" \\\n  -H 'Content-Type: application/json' -d '" + strings.ReplaceAll(string(body), "'", `'\''`) + "'")
	}
	return b.String()
}

// snake spells agencyId as agency_id.
func snake(name string) string {
	var b strings.Builder
	for _, c := range name {
		if c >= 'A' && c <= 'Z' {
			b.WriteByte('_')
			c += 'a' - 'A'
		}
		b.WriteRune(c)
	}
	return b.String()
}
