package realtime

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"parley/transport/realtime/asyncapi"
	"parley/transport/realtime/conform"
	restconform "parley/transport/rest/conform"
	"parley/transport/rest/openapi"
)

func description() *asyncapi.Document {
	return Describe(&url.URL{Scheme: "https", Host: "chat.example", Path: "/base"}, "1.2.3")
}

// TestEveryOperationIsDescribed: with all that a reader needs, and what it causes exists.
func TestEveryOperationIsDescribed(t *testing.T) {
	d := description()
	for name, op := range operations {
		o := d.Operation(name)
		if op.doc == nil || o == nil {
			t.Errorf("%s is not described: give it a doc in the table", name)
			continue
		}
		if o.Ack == nil {
			t.Errorf("%s has no ack", name)
		}
	}
	for _, o := range d.Operations {
		if o.Name != eventAuth && operations[o.Name].decode == nil {
			t.Errorf("%s is described, and not in the table", o.Name)
		}
		told(t, o.Name, o.Summary)
		for _, e := range o.Causes {
			if d.Event(e) == nil {
				t.Errorf("%s causes %s, which is not described", o.Name, e)
			}
		}
	}
	for _, e := range d.Events {
		told(t, e.Name, e.Summary)
		hasSeq := slices.ContainsFunc(e.Data.Fields(), func(f openapi.Field) bool { return f.Names[0] == "seq" && f.Needed })
		if e.Seq && !hasSeq {
			t.Errorf("%s is repeated after a reconnect, and has no seq", e.Name)
		}
	}
}

func told(t *testing.T, name, summary string) {
	t.Helper()
	if summary == "" || strings.HasSuffix(summary, ".") {
		t.Errorf("%s: the summary %q is a few words without a full stop", name, summary)
	}
}

// TestEveryEventIsDescribed looks through the source for the names of events.
func TestEveryEventIsDescribed(t *testing.T) {
	d := description()
	found := 0
	for name, where := range eventNames(t, ".", "../../actors") {
		found++
		if d.Event(name) == nil && d.Operation(name) == nil {
			t.Errorf("the event %s (%s) is not described", name, where)
		}
	}
	if found < 10 {
		t.Errorf("%d events were found in the source", found)
	}
}

var eventConst = regexp.MustCompile(`^[Ee]vent[A-Z]`)

// eventNames are the values of the constants whose names begin with Event.
func eventNames(t *testing.T, roots ...string) map[string]string {
	t.Helper()
	names := map[string]string{}
	for _, root := range roots {
		err := filepath.WalkDir(root, func(path string, e os.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				v, ok := n.(*ast.ValueSpec)
				for i := 0; ok && i < len(v.Names) && i < len(v.Values); i++ {
					value, isText := v.Values[i].(*ast.BasicLit)
					if isText && value.Kind == token.STRING && eventConst.MatchString(v.Names[i].Name) {
						name, err := strconv.Unquote(value.Value)
						if err != nil {
							t.Error(err)
						}
						names[name] = path
					}
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return names
}

// TestFieldsAreRead puts a wrong value into every described field of every operation: whatever reads it complains and
// names it.
func TestFieldsAreRead(t *testing.T) {
	for name, op := range operations {
		for _, f := range op.doc.Form.Fields() {
			for _, field := range f.Names {
				data := map[string]any{}
				for _, other := range op.doc.Form.Fields() {
					data[other.Names[0]] = other.Schema.Example()
				}
				wrong := any([]int{1})
				if f.Schema.Kind() == "" || f.Schema.Kind() == "object" || f.Schema.Kind() == "array" {
					continue // anything goes, or it is looked at by who gets it
				}
				delete(data, f.Names[0])
				data[field] = wrong
				text, err := json.Marshal(data)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := op.decode(text); err == nil || !strings.Contains(err.Error(), field) {
					t.Errorf("%s: %s is not read: %s gives %v", name, field, text, err)
				}
			}
		}
		example, err := json.Marshal(op.doc.Form.Example())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := op.decode(example); err != nil {
			t.Errorf("%s: the example %s is refused: %v", name, example, err)
		}
	}
}

// TestDocumentIsAsyncAPI holds the document against the meta-schema of AsyncAPI 3.0, and compiles its schemas.
func TestDocumentIsAsyncAPI(t *testing.T) {
	document, err := description().JSON()
	if err != nil {
		t.Fatal(err)
	}
	meta, err := os.ReadFile(filepath.Join("conform", "testdata", "asyncapi30-schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := restconform.Document(document, meta); err != nil {
		t.Errorf("%v\n%.3000s", err, document)
	}
	for _, wrong := range []string{`{"asyncapi":"3.0.0"}`, `{"asyncapi":"3.0.0","info":{"title":"x","version":"1"},"servers":{"s":{"host":"x"}}}`} {
		if err := restconform.Document([]byte(wrong), meta); err == nil {
			t.Errorf("%s is taken for valid", wrong)
		}
	}
	if _, err := conform.New(description()); err != nil {
		t.Error(err)
	}
	for _, want := range []string{`"host":"chat.example"`, `"pathname":"/base/ws"`, `"pathname":"/base/socket.io/"`, `"protocol":"wss"`, `"version":"1.2.3"`} {
		if !strings.Contains(string(document), want) {
			t.Errorf("%s is not there", want)
		}
	}
	for _, ref := range regexp.MustCompile(`"\$ref":"#/([^"]+)"`).FindAllStringSubmatch(string(document), -1) {
		if !reaches(t, document, ref[1]) {
			t.Errorf("%s leads nowhere", ref[1])
		}
	}
}

func reaches(t *testing.T, document []byte, path string) bool {
	t.Helper()
	var at any
	if err := json.Unmarshal(document, &at); err != nil {
		t.Fatal(err)
	}
	for segment := range strings.SplitSeq(path, "/") {
		o, ok := at.(map[string]any)
		if at, ok = o[segment], ok && o[segment] != nil; !ok {
			return false
		}
	}
	return true
}

// page is the part of the protocol page that is about live connections.
func page(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "protocol.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, live, found := strings.Cut(string(text), "\n## Realtime\n")
	if !found {
		t.Fatal("the page has no part about live connections")
	}
	return live
}

// TestPageTellsEverything: every event, close code and packet that is described is on the page.
func TestPageTellsEverything(t *testing.T) {
	d, text := description(), page(t)
	var names []string
	for _, o := range d.Operations {
		names = append(names, o.Name)
	}
	for _, e := range d.Events {
		names = append(names, e.Name)
	}
	for _, name := range names {
		short := "`" + strings.TrimPrefix(name, "agent-run") + "`"
		if !strings.Contains(text, name) && !strings.Contains(text, short) {
			t.Errorf("%s is not on the page", name)
		}
	}
	for _, c := range d.Closes {
		if !strings.Contains(text, "| "+strconv.Itoa(c.Code)+" | ") {
			t.Errorf("the close code %d is not on the page", c.Code)
		}
	}
	for _, p := range d.Server(asyncapi.SocketIO).Packets {
		if !strings.Contains(text, "`"+p.Text) {
			t.Errorf("the packet %s is not on the page", p.Text)
		}
	}
}

// TestFramesOnThePage holds those that the page shows whole against the description.
func TestFramesOnThePage(t *testing.T) {
	checked := 0
	for _, block := range regexp.MustCompile("(?s)```(ws|socketio)\n(.*?)```").FindAllStringSubmatch(page(t), -1) {
		format := map[string]string{"ws": asyncapi.Plain, "socketio": asyncapi.SocketIO}[block[1]]
		c, err := conform.New(description())
		if err != nil {
			t.Fatal(err)
		}
		l := c.Line(format)
		for line := range strings.SplitSeq(strings.TrimSpace(block[2]), "\n") {
			from, frame, _ := strings.Cut(line, " ")
			switch {
			case from == ">":
				l.Sent([]byte(frame))
			case from != "<":
				t.Errorf("%s comes from nobody", line)
			case strings.Contains(frame, "…"):
			default:
				checked++
				if err := l.Received([]byte(frame)); err != nil {
					t.Error(err)
				}
			}
		}
	}
	if checked < 8 {
		t.Errorf("%d frames of the server are on the page", checked)
	}
}
