package rest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
)

// okAnswer is the answer where there is nothing to say (decision 2).
type okAnswer struct {
	OK bool `json:"ok"`
}

var done = okAnswer{OK: true}

// write sends v as JSON. Nothing is sent when v can't be encoded. An error of the connection is the client's loss and
// is not reported.
func write(w http.ResponseWriter, status int, v any) error {
	body, err := encode(v)
	if err != nil {
		return fmt.Errorf("encode answer: %w", err)
	}
	send(w, status, body)
	return nil
}

func send(w http.ResponseWriter, status int, body []byte) {
	h := w.Header()
	h.Set("Content-Type", "application/json; charset=utf-8")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

// array joins values that are JSON already. Encoding them again would cost more than all that leads to a page of history.
func array(items []json.RawMessage) []byte {
	size := 3
	for _, item := range items {
		size += len(item) + 1
	}
	body := append(make([]byte, 0, size), '[')
	for i, item := range items {
		if i > 0 {
			body = append(body, ',')
		}
		body = append(body, item...)
	}
	return append(body, ']', '\n')
}

// encode renders JSON and leaves <, > and & readable: answers are never taken for HTML (nosniff).
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// with is an object that answers v's fields and some more on the same level. A field that v has itself is not to be
// given again.
type with struct {
	v    any
	more any
}

// MarshalJSON joins the two objects.
func (w with) MarshalJSON() ([]byte, error) {
	first, err := object(w.v)
	if err != nil {
		return nil, err
	}
	second, err := object(w.more)
	if err != nil {
		return nil, err
	}
	switch {
	case len(second) == 2:
		return first, nil
	case len(first) == 2:
		return second, nil
	}
	joined := append(first[:len(first)-1:len(first)-1], ',')
	return append(joined, second[1:]...), nil
}

// object renders v, which has to become a JSON object.
func object(v any) ([]byte, error) {
	b, err := encode(v)
	if err != nil {
		return nil, err
	}
	b = bytes.TrimSpace(b)
	if len(b) < 2 || b[0] != '{' {
		return nil, fmt.Errorf("%T is not an object", v)
	}
	return b, nil
}

// list is an array that is never null.
func list[T any](items []T) []T {
	if items == nil {
		return []T{}
	}
	return items
}
