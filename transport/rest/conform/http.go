package conform

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
)

// maxBody is how many bytes of a body are looked at.
const maxBody = 64 << 20

// Transport checks the answers that a client gets. A request whose answer is not as described fails. Requests for live
// connections pass.
func (c *Checker) Transport(next http.RoundTripper) http.RoundTripper { return watched{c, next} }

type watched struct {
	checker *Checker
	next    http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (w watched) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := w.next.RoundTrip(r)
	path := r.URL.EscapedPath()
	if err != nil || path == "/ws" || strings.HasPrefix(path, "/socket.io/") {
		return res, err
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, maxBody))
	_ = res.Body.Close()
	if err != nil {
		return nil, err
	}
	e := Exchange{Method: r.Method, Path: path, Sent: sent(r), Status: res.StatusCode, Header: res.Header, Body: body}
	if err := w.checker.Check(e); err != nil {
		return nil, err
	}
	res.Body = io.NopCloser(bytes.NewReader(body))
	return res, nil
}

// sent is the body of a request that has gone; nil when it can't be had again.
func sent(r *http.Request) []byte {
	if r.GetBody == nil {
		return nil
	}
	again, err := r.GetBody()
	if err != nil {
		return nil
	}
	defer func() { _ = again.Close() }()
	body, err := io.ReadAll(io.LimitReader(again, maxBody))
	if err != nil {
		return nil
	}
	return body
}

// Handler checks the answers of a handler in this process and reports those that are not as described. What it accepts is
// not checked: behind it there may be something that accepts everything.
func (c *Checker) Handler(next http.Handler, report func(error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rec := httptest.NewRecorder()
		next.ServeHTTP(rec, r)
		answer := rec.Body.Bytes()
		if err := c.Check(Exchange{Method: r.Method, Path: r.URL.EscapedPath(), Status: rec.Code, Header: rec.Header(), Body: answer}); err != nil {
			report(err)
		}
		for name, values := range rec.Header() {
			w.Header()[name] = values
		}
		w.WriteHeader(rec.Code)
		_, _ = w.Write(answer)
	})
}
