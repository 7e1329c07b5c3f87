package rest

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"parley/transport/realtime"
	"parley/transport/rest/openapi"
)

// pageAge is how long anybody may keep a page of this file before asking again. It changes only with the program.
const pageAge = 5 * time.Minute

// Addresses that a program may know beforehand (rest.md, Agents).
const (
	pathWelcome = "/"
	pathSignup  = "/.well-known/agent-signup"
	pathSkill   = "/skill.md"
	pathOpenAPI = "/openapi.json"
	pathDocs    = "/docs"

	pathAsyncAPI = "/asyncapi.json"
)

func (a *API) bindStart(t *table) {
	t.add(http.MethodGet, pathWelcome, Public, a.welcome).doc(op{
		Tag: tagStart, Summary: "A page that says what this is", About: "For browsers. Who does not accept text/html gets a 404.",
		Answers: pageAnswers("text/html"), Errors: []answer{fails(http.StatusNotFound, "text/html is not accepted.")},
	}).Static = true
	for _, p := range []struct{ path, kind, summary string }{
		{pathSignup, openapi.JSON, "How a program signs up, connects and posts"},
		{pathSkill, "text/markdown", "A guide for agents"},
		{pathOpenAPI, openapi.JSON, "This description, as OpenAPI 3.1"},
		{pathDocs, "text/html", "This description, to be read"},
		{pathAsyncAPI, openapi.JSON, "What travels over live connections, as AsyncAPI 3.0"},
	} {
		show := func(c *call) error { return a.page(c, p.path) }
		t.add(http.MethodGet, p.path, Public, show).doc(op{Tag: tagStart, Summary: p.summary, Answers: pageAnswers(p.kind)}).Static = true
	}
}

// pageAnswers are what a page answers.
func pageAnswers(kind string) []answer {
	s := textSchema
	if kind == openapi.JSON {
		s = openapi.Map(openapi.Any())
	}
	return []answer{
		{Status: http.StatusOK, Type: kind, Schema: s, Headers: map[string]string{"ETag": "Names this version; send it in If-None-Match.", "Cache-Control": "How long it may be kept."}},
		{Status: http.StatusNotModified},
	}
}

// page is an answer that is made once.
type page struct {
	kind   string // content type
	body   []byte
	etag   string
	policy string // Content-Security-Policy; empty: none
}

func newPage(kind string, body []byte) page {
	sum := sha256.Sum256(body)
	p := page{kind: kind, body: body, etag: `"` + hex.EncodeToString(sum[:12]) + `"`}
	if strings.HasPrefix(kind, "text/html") {
		p.policy = openapi.PagePolicy(body)
	}
	return p
}

// page answers a page, or 304 to who has it.
func (a *API) page(c *call, path string) error {
	pages, err := a.pages()
	if err != nil {
		return err
	}
	p := pages[path]
	h := c.w.Header()
	h.Set("ETag", p.etag)
	h.Set("Cache-Control", fmt.Sprintf("public, max-age=%d", int(pageAge/time.Second)))
	if p.policy != "" {
		h.Set("Content-Security-Policy", p.policy)
		h.Set("Referrer-Policy", "no-referrer")
	}
	if hasVersion(c.r.Header.Values("If-None-Match"), p.etag) {
		c.w.WriteHeader(http.StatusNotModified)
		return nil
	}
	h.Set("Content-Type", p.kind)
	h.Set("Content-Length", strconv.Itoa(len(p.body)))
	c.w.WriteHeader(http.StatusOK)
	_, _ = c.w.Write(p.body) // nothing is left to tell a client that has gone
	return nil
}

// hasVersion tells whether If-None-Match names a version. Proxies weaken it when they compress.
func hasVersion(header []string, etag string) bool {
	for tag := range strings.SplitSeq(strings.Join(header, ","), ",") {
		if tag = strings.TrimPrefix(strings.TrimSpace(tag), "W/"); tag == etag || tag == "*" {
			return true
		}
	}
	return false
}

// welcome shows browsers what this is. To programs there is nothing here.
func (a *API) welcome(c *call) error {
	c.w.Header().Add("Vary", "Accept")
	if !acceptsHTML(c.r.Header.Get("Accept")) {
		return errNoPath
	}
	return a.page(c, pathWelcome)
}

// acceptsHTML tells whether HTML is asked for by name, as browsers do.
func acceptsHTML(accept string) bool {
	for one := range strings.SplitSeq(accept, ",") {
		kind, params, err := mime.ParseMediaType(one)
		if err != nil || (kind != "text/html" && kind != "application/xhtml+xml") {
			continue
		}
		if q, err := strconv.ParseFloat(params["q"], 64); err != nil || q > 0 {
			return true
		}
	}
	return false
}

// makePages renders what the addresses above answer.
func (a *API) makePages() (map[string]page, error) {
	base := strings.TrimSuffix(a.o.PublicURL.String(), "/")
	d, live := a.describe(base, a.cookies[0]), realtime.Describe(a.o.PublicURL, InterfaceVersion)
	pages := map[string]page{}
	for _, p := range []struct {
		path, kind string
		render     func() ([]byte, error)
	}{
		{pathWelcome, "text/html", func() ([]byte, error) { return renderWelcome(base) }},
		{pathDocs, "text/html", d.Page},
		{pathOpenAPI, openapi.JSON, d.JSON},
		{pathAsyncAPI, openapi.JSON, live.JSON},
		{pathSignup, openapi.JSON, func() ([]byte, error) { return newManifest(d, strings.TrimSuffix(a.o.WebURL.String(), "/")) }},
		{pathSkill, "text/markdown", func() ([]byte, error) { return renderSkill(base) }},
	} {
		body, err := p.render()
		if err != nil {
			return nil, fmt.Errorf("rest: %s: %w", p.path, err)
		}
		pages[p.path] = newPage(p.kind+"; charset=utf-8", body)
	}
	return pages, nil
}
