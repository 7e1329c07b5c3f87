// Package conform holds answers of the service against its own description. It is for tests: the program does not link it.
package conform

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"parley/transport/rest/openapi"
)

// maxFaults is how many faults a Checker remembers.
const maxFaults = 100

// ErrStatus means that an operation answered with a status that is not described.
var ErrStatus = errors.New("the status is not described")

// Exchange is a request and its answer.
type Exchange struct {
	Method string
	Path   string // decoded or not, without the query
	Sent   []byte // the request's body; nil when it is not known
	Status int
	Header http.Header
	Body   []byte
}

// Checker holds exchanges against a document. It is safe for concurrent use.
type Checker struct {
	doc     *openapi.Document
	answers map[string]*jsonschema.Schema // by operation and status
	forms   map[string]*jsonschema.Schema // by operation

	mu     sync.Mutex
	served map[string]bool // operations that have succeeded
	faults []error
}

// New makes a Checker. In it no object of an answer has fields that are not described.
func New(d *openapi.Document) (*Checker, error) {
	c := &Checker{doc: d, served: map[string]bool{}}
	var err error
	c.answers, c.forms, err = compile(d)
	return c, err
}

// Check tells what an answer has that its description has not, or lacks.
func (c *Checker) Check(e Exchange) error {
	err := c.check(&e)
	if err == nil {
		return nil
	}
	err = fmt.Errorf("the answer is not as described: %s %s answered %d: %w\n%.1000s", e.Method, e.Path, e.Status, err, e.Body)
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.faults) < maxFaults {
		c.faults = append(c.faults, err)
	}
	return err
}

// Faults are the faults that were found so far.
func (c *Checker) Faults() []error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.faults)
}

// Unserved are the operations that have not succeeded so far.
func (c *Checker) Unserved() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []string
	for _, o := range c.doc.Operations {
		if !c.served[o.ID()] {
			out = append(out, o.Method+" "+o.Path)
		}
	}
	return out
}

func (c *Checker) check(e *Exchange) error {
	if e.Header.Get("X-Request-Id") == "" {
		return errors.New("it has no X-Request-Id")
	}
	method := e.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	o, known := find(c.doc, method, e.Path)
	switch {
	case e.Method == http.MethodOptions && (e.Status == http.StatusNoContent || known && e.Status == http.StatusOK):
		return nil
	case o == nil && known:
		return outside(e, http.StatusMethodNotAllowed, "Allow")
	case o == nil:
		return outside(e, http.StatusNotFound, "")
	case e.Method == http.MethodHead && e.Status == http.StatusMethodNotAllowed: // a GET that changes something
		return outside(e, http.StatusMethodNotAllowed, "Allow")
	}
	return c.described(o, e)
}

// outside checks the answer to what there is no operation for.
func outside(e *Exchange, status int, header string) error {
	var failure struct {
		Error string `json:"error"`
	}
	switch {
	case e.Status != status:
		return fmt.Errorf("nothing like this is described, so the status should be %d", status)
	case header != "" && e.Header.Get(header) == "":
		return fmt.Errorf("%s is missing", header)
	case e.Method != http.MethodHead && (json.Unmarshal(e.Body, &failure) != nil || failure.Error == ""):
		return errors.New("it has no sentence in error")
	}
	return nil
}

// described checks the answer of an operation.
func (c *Checker) described(o *openapi.Operation, e *Exchange) error {
	a, ok := o.Answer(e.Status)
	if !ok {
		return ErrStatus
	}
	for name := range a.Headers {
		if e.Header.Get(name) == "" {
			return fmt.Errorf("the header %s is missing", name)
		}
	}
	if e.Status < http.StatusBadRequest {
		c.mu.Lock()
		c.served[o.ID()] = true
		c.mu.Unlock()
		if err := c.Admits(o, e.Sent); err != nil {
			return fmt.Errorf("the request was accepted, but %w", err)
		}
	}
	if a.Schema == nil {
		if len(e.Body) > 0 {
			return errors.New("no body is described")
		}
		return nil
	}
	kind, _, err := mime.ParseMediaType(e.Header.Get("Content-Type"))
	if err != nil || !covers(a.ContentType(), kind) {
		return fmt.Errorf("its type is %q, not %s", e.Header.Get("Content-Type"), a.ContentType())
	}
	if e.Method == http.MethodHead || kind != openapi.JSON {
		return nil
	}
	return Validate(c.answers[key(o, a.Status)], e.Body)
}

// covers tells whether a content type is the one that is described, or lies in a range such as image/*.
func covers(described, kind string) bool {
	family, ranged := strings.CutSuffix(described, "*")
	return kind == described || ranged && strings.HasPrefix(kind, family)
}

// Admits tells what a request's body has that the description does not admit. It is asked of every request that was
// accepted, so that the description is not stricter than the service.
func (c *Checker) Admits(o *openapi.Operation, sent []byte) error {
	if o.Body == nil || len(bytes.TrimSpace(sent)) == 0 {
		return nil
	}
	if !o.Body.Open() { // null counts as absent
		var fields map[string]any
		if err := json.Unmarshal(sent, &fields); err != nil {
			return fmt.Errorf("the body is malformed: %w", err)
		}
		for name, v := range fields {
			if v == nil {
				delete(fields, name)
			}
		}
		var err error
		if sent, err = json.Marshal(fields); err != nil {
			return err
		}
	}
	if err := Validate(c.forms[o.ID()], sent); err != nil {
		return fmt.Errorf("the body %.500s is not as described: %w", sent, err)
	}
	return nil
}

// Validate tells what a text of JSON has that a schema does not admit, or lacks.
func Validate(s *jsonschema.Schema, body []byte) error {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("it is not JSON: %w", err)
	}
	return s.Validate(v)
}

// find returns the operation of a request, and whether its path is known at all. A literal segment beats a variable one.
func find(d *openapi.Document, method, path string) (found *openapi.Operation, known bool) {
	segments := split(path)
	best := ""
	for _, o := range d.Operations {
		if !matches(split(o.Path), segments) || (best != "" && o.Path != best && !moreLiteral(o.Path, best)) {
			continue
		}
		if o.Path != best {
			best, found = o.Path, nil
		}
		if o.Method == method {
			found = o
		}
	}
	return found, best != ""
}

// split leaves out empty segments, as the service does.
func split(path string) []string {
	return strings.FieldsFunc(path, func(r rune) bool { return r == '/' })
}

func isVariable(segment string) bool { return strings.HasPrefix(segment, "{") }

func matches(pattern, path []string) bool {
	return slices.EqualFunc(pattern, path, func(p, s string) bool { return p == s || isVariable(p) })
}

// moreLiteral compares two patterns of one length that match the same path.
func moreLiteral(x, y string) bool {
	xs, ys := split(x), split(y)
	for i := range xs {
		if isVariable(xs[i]) != isVariable(ys[i]) {
			return isVariable(ys[i])
		}
	}
	return false
}
