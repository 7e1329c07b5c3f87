package rest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"parley/actors/platform"
)

// okAnswer is the answer where there is nothing to say (decision 2).
type okAnswer struct {
	OK bool `json:"ok"`
}

var done = okAnswer{OK: true}

// write sends v as JSON. Nothing is sent when v can't be encoded. An error of the connection is the client's loss and
// is not reported.
func write(w http.ResponseWriter, status int, v any) error {
	body, ready := v.(platform.Encoded)
	if !ready {
		text, err := encode(v)
		if err != nil {
			return fmt.Errorf("encode answer: %w", err)
		}
		body = plain(text)
	}
	h := w.Header()
	h.Set("Content-Type", "application/json; charset=utf-8")
	h.Set("Content-Length", strconv.FormatInt(body.Size(), 10))
	w.WriteHeader(status)
	_, _ = body.WriteTo(w)
	return nil
}

// plain is an answer that was encoded for this request alone.
type plain []byte

// Size implements platform.Encoded.
func (p plain) Size() int64 { return int64(len(p)) }

// WriteTo implements io.WriterTo.
func (p plain) WriteTo(w io.Writer) (int64, error) {
	n, err := w.Write(p)
	return int64(n), err
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
