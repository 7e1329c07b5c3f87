// Package client is a small client of a Parley server: REST, and sockets in both wire formats. The end-to-end tests and
// the demonstration are written with it, so it leaves out what they do not need, and adds what only tests want to see.
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Limits of requests.
const (
	requestTimeout = 30 * time.Second
	maxAnswer      = 16 << 20 // bytes
)

// StatusError is an answer that is no success.
type StatusError struct {
	Status  int
	Message string // the server's sentence, or the body if it has none
}

func (e *StatusError) Error() string { return fmt.Sprintf("%d: %s", e.Status, e.Message) }

// API is the REST interface, for one account or, without a token, for nobody.
type API struct {
	Base  string // address of the server without a slash at the end
	Token string // session token or PAT; empty for none
}

// As is the same interface for another account.
func (a API) As(token string) API { return API{Base: a.Base, Token: token} }

var httpClient = &http.Client{Timeout: requestTimeout}

// Call makes a request and decodes its answer into out. body is marshalled as JSON, and nil sends none; out may be nil.
// An answer outside 200-299 is a *StatusError.
func (a API) Call(ctx context.Context, method, path string, body, out any) error {
	var content io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return fmt.Errorf("%s %s: %w", method, path, err)
		}
		content = bytes.NewReader(b)
	}
	return a.send(ctx, method, path, "application/json", content, out)
}

// Upload posts a file as multipart/form-data, under the name of its part, and decodes the answer into out, as Call does.
func (a API) Upload(ctx context.Context, path, part string, data []byte, out any) error {
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	w, err := form.CreateFormFile(part, "picture")
	if err == nil {
		_, err = w.Write(data)
	}
	if err = errors.Join(err, form.Close()); err != nil {
		return fmt.Errorf("upload to %s: %w", path, err)
	}
	return a.send(ctx, http.MethodPost, path, form.FormDataContentType(), &body, out)
}

// send makes a request; content may be nil.
func (a API) send(ctx context.Context, method, path, kind string, content io.Reader, out any) error {
	r, err := http.NewRequestWithContext(ctx, method, a.Base+path, content)
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	if content != nil {
		r.Header.Set("Content-Type", kind)
	}
	if a.Token != "" {
		r.Header.Set("Authorization", "Bearer "+a.Token)
	}
	answer, err := do(r)
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(answer, out); err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	return nil
}

func do(r *http.Request) ([]byte, error) {
	res, err := httpClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }() // only read
	answer, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return nil, fmt.Errorf("read the answer: %w", err)
	}
	if res.StatusCode < 200 || res.StatusCode > 299 {
		var failure struct {
			Error string `json:"error"`
		}
		if json.Unmarshal(answer, &failure) != nil || failure.Error == "" {
			failure.Error = string(answer)
		}
		return nil, &StatusError{res.StatusCode, failure.Error}
	}
	return answer, nil
}

// Register makes a user.
func (a API) Register(ctx context.Context, username, password, displayName string) (Session, error) {
	var s Session
	err := a.Call(ctx, http.MethodPost, "/api/auth/register",
		map[string]string{"username": username, "password": password, "displayName": displayName}, &s)
	return s, err
}

// Login opens a session.
func (a API) Login(ctx context.Context, username, password string) (Session, error) {
	var s Session
	err := a.Call(ctx, http.MethodPost, "/api/auth/login", map[string]string{"username": username, "password": password}, &s)
	return s, err
}

// RegisterAgent lets an agent register itself.
func (a API) RegisterAgent(ctx context.Context, name, description string) (RegisteredAgent, error) {
	var r RegisteredAgent
	err := a.Call(ctx, http.MethodPost, "/api/agents/register", map[string]string{"name": name, "description": description}, &r)
	return r, err
}

// Exchange opens a session for an agent by its permanent token.
func (a API) Exchange(ctx context.Context, agentToken string) (Session, error) {
	var s Session
	err := a.Call(ctx, http.MethodPost, "/api/auth/agent", map[string]string{"agentToken": agentToken}, &s)
	return s, err
}

// Agency finds an agency by its slug.
func (a API) Agency(ctx context.Context, slug string) (Agency, error) {
	var g Agency
	err := a.Call(ctx, http.MethodGet, "/api/agencies/lookup/"+url.PathEscape(slug), nil, &g)
	return g, err
}

// CreateAgency makes an agency.
func (a API) CreateAgency(ctx context.Context, name string, private bool) (Agency, error) {
	var g Agency
	err := a.Call(ctx, http.MethodPost, "/api/agencies", map[string]any{"name": name, "isPrivate": private}, &g)
	return g, err
}

// Join makes the account a member of a public agency.
func (a API) Join(ctx context.Context, agencyID string) error {
	return a.Call(ctx, http.MethodPost, "/api/agencies/"+agencyID+"/join", nil, nil)
}

// Post posts a message; clientID may be empty.
func (a API) Post(ctx context.Context, agencyID, content, clientID string) (Message, error) {
	var m Message
	body := map[string]string{"content": content}
	if clientID != "" {
		body["clientId"] = clientID
	}
	err := a.Call(ctx, http.MethodPost, "/api/agencies/"+agencyID+"/messages", body, &m)
	return m, err
}

// page is the largest page of history (decision 21).
const page = 100

// History reads all messages of an agency, the oldest first.
func (a API) History(ctx context.Context, agencyID string) ([]Message, error) {
	var all []Message
	for after := ""; ; {
		query := url.Values{"order": {"asc"}, "limit": {fmt.Sprint(page)}}
		if after != "" {
			query.Set("after", after)
		}
		var next []Message
		if err := a.Call(ctx, http.MethodGet, "/api/agencies/"+agencyID+"/messages?"+query.Encode(), nil, &next); err != nil {
			return nil, err
		}
		all = append(all, next...)
		if len(next) < page {
			return all, nil
		}
		after = next[len(next)-1].ID
	}
}

// Mentions reports whether a text mentions a handle: @handle in any case, on its own (clients.md 6.4).
func Mentions(text, handle string) bool {
	text, at := strings.ToLower(text), "@"+strings.ToLower(handle)
	for from := 0; ; {
		i := strings.Index(text[from:], at)
		if i < 0 {
			return false
		}
		begin, end := from+i, from+i+len(at)
		if (begin == 0 || !nameByte(text[begin-1])) && (end == len(text) || !nameByte(text[end])) {
			return true
		}
		from = begin + 1
	}
}

func nameByte(b byte) bool {
	return b >= 'a' && b <= 'z' || b >= '0' && b <= '9' || b == '_' || b == '-'
}
