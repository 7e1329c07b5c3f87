package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"parley/e2e/client"
	"parley/transport/rest"
)

// hostileLimit is how long the server may think about any hostile request, on a machine that is busy with other tests.
const hostileLimit = 10 * time.Second

// hostile is one who tries every address with everything that does not belong there.
type hostile struct {
	t      *testing.T
	api    client.API
	http   *http.Client
	me     person
	secret []string // what no answer may contain
}

var pathVariable = regexp.MustCompile(`\{[^}]+\}`)

// TestEveryRouteSurvivesHostileRequests: whatever comes, every route of the table answers in time, in JSON, with a status
// of the client's and never one of the server's, and tells nothing of a private room.
func TestEveryRouteSurvivesHostileRequests(t *testing.T) {
	t.Parallel()
	s := own(t, "--log-level", "info")
	api := client.API{Base: s.URL()}
	victim := user(t, api, "victim")
	h := &hostile{t: t, api: api, me: user(t, api, "mallory"), secret: []string{"hidden reef", "unspeakable"}, http: &http.Client{
		Timeout: 2 * hostileLimit, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
	var room struct {
		ID string `json:"id"`
	}
	if err := victim.Call(t.Context(), "POST", "/api/agencies", map[string]any{"name": "hidden reef", "charter": "unspeakable", "isPrivate": true}, &room); err != nil {
		t.Fatal(err)
	}
	if err := victim.Call(t.Context(), "POST", "/api/agencies/"+room.ID+"/messages", map[string]any{"content": "unspeakable"}, nil); err != nil {
		t.Fatal(err)
	}
	strange := []string{"none", room.ID, victim.ID, strings.Repeat("x", 120), strings.Repeat("x", 4000), "%ff%fe", "%00", "..%2f..%2fetc", "%F0%9F%8C%8A", "a%2Fb", "-1", "%e2%80%ae", "~", ";drop"}
	for _, r := range rest.Routes() {
		for _, value := range strange {
			path := pathVariable.ReplaceAllString(r.Path, value)
			h.request(r, path, "", nil)
			if path == r.Path {
				break
			}
		}
		path := pathVariable.ReplaceAllString(r.Path, room.ID)
		for _, query := range hostileQueries {
			h.request(r, path+"?"+query, "", nil)
		}
		if r.Method == http.MethodGet {
			continue
		}
		for name, body := range hostileBodies() {
			kind := "application/json"
			if strings.HasPrefix(name, "as ") {
				kind = strings.TrimPrefix(name, "as ")
			}
			h.request(r, path, kind, body)
		}
	}
	if err := victim.Call(t.Context(), "GET", "/api/agencies/"+room.ID, nil, &room); err != nil {
		t.Errorf("the room does not stand any more: %v", err)
	}
}

var hostileQueries = []string{
	"limit=-1&offset=-1", "limit=abc", "offset=1e99", "limit=99999999999999999999999", "before=%ff&after=%ff", "q=%ff", "q=" + strings.Repeat("q", 300),
	"before=9999-99-99T99:99:99Z", "order=sideways", "limit=1&limit=2", strings.Repeat("a=1&", 5000), "q=%00&mentions=%00", "after=../../x", "agencyId=%2f", "q=a+b+c+d+e+f+g+h+i+j+k+l+m+n+o+p",
}

func hostileBodies() map[string][]byte {
	wrong := map[string]any{}
	for _, name := range []string{"name", "username", "password", "content", "code", "role", "charter", "email", "agentToken", "newOwnerId", "address", "expires",
		"expiresIn", "displayName", "reason", "txHash", "skillName", "agentId", "description", "currentPassword", "newPassword", "isPrivate", "maxUses", "metadata"} {
		wrong[name] = []any{map[string]any{"a": 1}}
	}
	types, err := json.Marshal(wrong)
	if err != nil {
		panic(err) // plain values always encode
	}
	return map[string][]byte{
		"cut":                    []byte(`{"name":`),
		"nested":                 bytes.Repeat([]byte(`{"name":`), 20_000),
		"nested arrays":          append(append([]byte(`{"name":"x","metadata":`), bytes.Repeat([]byte("["), 50_000)...), append(bytes.Repeat([]byte("]"), 50_000), '}')...),
		"an array":               []byte(`[1,2]`),
		"a text":                 []byte(`"x"`),
		"a number":               []byte(`1e999`),
		"wrong types":            types,
		"not UTF-8":              []byte("{\"name\":\"\xff\xfe\",\"content\":\"\xff\",\"username\":\"\xff\"}"),
		"control characters":     []byte(`{"name":"\u0000\u0007","content":"\u0000","username":"\u0000","charter":"\u0000","code":"\u0000"}`),
		"half a surrogate":       []byte(`{"name":"\ud800","content":"\udfff","displayName":"\ud800"}`),
		"the same twice":         []byte(`{"name":"a","name":5,"content":"a","content":{}}`),
		"too large":              append(append([]byte(`{"name":"`), bytes.Repeat([]byte("x"), 3<<20)...), `"}`...),
		"two values":             []byte(`{} {}`),
		"nothing but null":       []byte(`null`),
		"as text/plain":          []byte(`{"name":"x"}`),
		"as multipart/form-data": []byte("--x\r\n"),
		"as multipart/form-data; boundary=x": []byte("--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"../../x.png\"\r\nContent-Type: image/png\r\n\r\n" +
			"\x89PNG\r\n\x1a\nnot really\r\n--x--\r\n"),
	}
}

// request sends one request, as somebody who is signed in, and looks at the answer.
func (h *hostile) request(r rest.Route, path, kind string, body []byte) {
	h.t.Helper()
	h.stayIn()
	req, err := http.NewRequestWithContext(h.t.Context(), r.Method, h.api.Base+path, bytes.NewReader(body))
	if err != nil { // an address that no client can send
		return
	}
	req.Header.Set("Authorization", "Bearer "+h.me.Token)
	if kind != "" {
		req.Header.Set("Content-Type", kind)
	}
	what := fmt.Sprintf("%s %.80s (%s) with %.60q", r.Method, path, r.Path, body)
	begun := time.Now()
	res, err := h.http.Do(req)
	if err != nil {
		var failed *url.Error
		if errors.As(err, &failed) && len(body) > 1<<20 { // the server has answered and hung up while we were still sending
			return
		}
		h.t.Errorf("%s: %v", what, err)
		return
	}
	defer func() { _ = res.Body.Close() }()
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		h.t.Errorf("%s: %v", what, err)
	}
	if took := time.Since(begun); took > hostileLimit {
		h.t.Errorf("%s took %s", what, took)
	}
	if res.StatusCode >= 500 && res.StatusCode != http.StatusNotImplemented {
		h.t.Errorf("%s: %d %.200s", what, res.StatusCode, answer)
	}
	var failure struct {
		Error string `json:"error"`
	}
	if res.StatusCode >= 400 && (json.Unmarshal(answer, &failure) != nil || failure.Error == "" || !utf8.ValidString(failure.Error)) {
		h.t.Errorf("%s: %d without a sentence: %.200s", what, res.StatusCode, answer)
	}
	for _, s := range h.secret {
		if bytes.Contains(answer, []byte(s)) {
			h.t.Errorf("%s tells of the private room: %.300s", what, answer)
		}
	}
}

// stayIn signs in anew when a request has ended the session or the account.
func (h *hostile) stayIn() {
	h.t.Helper()
	if h.api.As(h.me.Token).Call(h.t.Context(), "GET", "/api/auth/me", nil, nil) != nil {
		h.me = user(h.t, h.api, "mallory")
	}
}
