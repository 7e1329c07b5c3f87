package openapi

import (
	"encoding/json"
	"strings"
	"testing"
)

func rendered(t *testing.T, s *Schema) string {
	t.Helper()
	var c components
	text, err := encode(c.ref(s))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestSchemas(t *testing.T) {
	named := Text(1, 0).Named("Word", "A word.")
	for _, tc := range []struct {
		schema *Schema
		want   string
	}{
		{Text(2, 24), `{"type":"string","minLength":2,"maxLength":24}`},
		{Text(0, 0).Format("uri").OrNull(), `{"type":["string","null"],"format":"uri"}`},
		{Int(1, 5).Like(3), `{"type":"integer","minimum":1,"maximum":5,"examples":[3]}`},
		{Count(), `{"type":"integer","minimum":0}`},
		{Enum("a", "b"), `{"type":"string","enum":["a","b"]}`},
		{Enum("a").OrNull(), `{"type":["string","null"],"enum":["a",null]}`},
		{Any(), `{}`},
		{List(Bool()), `{"type":"array","items":{"type":"boolean"}}`},
		{Map(Number()), `{"type":"object","additionalProperties":{"type":"number"}}`},
		{named, `{"$ref":"#/components/schemas/Word"}`},
		{named.OrNull(), `{"anyOf":[{"$ref":"#/components/schemas/Word"},{"type":"null"}]}`},
		{Object(Has("aB a_b", Bool(), "It."), May("c", named, "Also.")),
			`{"type":"object","properties":{"aB":{"type":"boolean","description":"It."},"a_b":{"type":"boolean","description":"The same as aB."},` +
				`"c":{"$ref":"#/components/schemas/Word","description":"Also."}},"required":["aB","a_b"]}`},
		{Form(Has("aB a_b", Bool(), ""), Has("c", Bool(), ""), May("d", Bool(), "")),
			`{"type":"object","properties":{"aB":{"type":"boolean"},"a_b":{"type":"boolean","description":"The same as aB."},"c":{"type":"boolean"},"d":{"type":"boolean"}},` +
				`"required":["c"],"allOf":[{"anyOf":[{"required":["aB"]},{"required":["a_b"]}]}]}`},
		{Object(Has("a", Bool(), "")).Named("X", "").With(Has("b", Bool(), "")), `{"type":"object","properties":{"a":{"type":"boolean"},"b":{"type":"boolean"}},"required":["a","b"]}`},
	} {
		if got := rendered(t, tc.schema); got != tc.want {
			t.Errorf("got  %s\nwant %s", got, tc.want)
		}
	}
}

func TestExamples(t *testing.T) {
	for _, tc := range []struct {
		schema *Schema
		want   string
	}{
		{Form(Has("name", Text(2, 9).Like("ann"), ""), May("other", Text(0, 0), ""), May("more", Int(3, 9).Like(4), "")), `{"name":"ann","more":4}`},
		{Object(Has("list", List(Enum("x", "y")), ""), Has("n", Int(3, 9), ""), Has("b", Bool(), ""), Has("e", Either(Text(0, 0), Bool()), "")), `{"list":["x"],"n":3,"b":true,"e":"text"}`},
		{Form(), `{}`},
	} {
		got, err := json.Marshal(tc.schema.Example())
		if err != nil || string(got) != tc.want {
			t.Errorf("got %s, %v, want %s", got, err, tc.want)
		}
	}
}

func TestOperation(t *testing.T) {
	o := &Operation{Method: "PATCH", Path: "/api/a-b/{memberId}/c.json", Body: Form(Has("x", Text(0, 0).Like("it's"), "")), Security: []string{"bearer"},
		Answers: []Answer{{Status: 201}}, Errors: []Answer{{Status: 100}}}
	if o.ID() != "patchABByMemberIdCJson" || strings.Join(o.Variables(), " ") != "memberId" {
		t.Errorf("%s %v", o.ID(), o.Variables())
	}
	d := &Document{Base: "https://x.example", Operations: []*Operation{o}}
	want := `curl -s -X PATCH "https://x.example/api/a-b/$MEMBER_ID/c.json" -H "Authorization: Bearer $TOKEN" \` + "\n" +
		`  -H 'Content-Type: application/json' -d '{"x":"it'\''s"}'`
	if got := d.Curl(o); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	picture := &Operation{Method: "POST", Path: "/p", Upload: "file"}
	if got := d.Curl(picture); got != `curl -s "https://x.example/p" -F file=@picture.png` {
		t.Errorf("got %s", got)
	}
	var c components
	if text, err := encode(picture.render(&c)); err != nil || !strings.Contains(string(text), `"multipart/form-data":{"schema":{"type":"object","properties":{"file":`) {
		t.Errorf("got %s, %v", text, err)
	}
	if a := o.byStatus(); a[0].Status != 100 {
		t.Errorf("the answers are not in order: %v", a)
	}
	if _, ok := o.Answer(404); ok || d.Find("GET", o.Path) != nil || d.Find("PATCH", o.Path) != o {
		t.Error("something is found that is not there, or the other way round")
	}
}

// TestPageEscapes: what a description says is text, whatever it looks like.
func TestPageEscapes(t *testing.T) {
	d := &Document{Title: "<T>", Base: "https://x.example", Tags: []Tag{{Name: "One", About: "a <b> c"}}, Operations: []*Operation{
		{Tag: "One", Method: "GET", Path: "/", Summary: "<script>alert(1)</script>", About: "first\n\nsecond", Answers: []Answer{{Status: 200, Schema: Object(Has("<i>", Text(0, 0), ""))}}}}}
	page, err := d.Page()
	if err != nil {
		t.Fatal(err)
	}
	html := string(page)
	for _, bad := range []string{"<script", "<b> c", "<i>", "<T>"} {
		if strings.Contains(html, bad) {
			t.Errorf("the page has %s", bad)
		}
	}
	if !strings.Contains(html, "<p>first</p>\n<p>second</p>") || !strings.Contains(html, "&lt;i&gt;") {
		t.Errorf("the page lacks what was said:\n%s", html)
	}
}
