package rest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"
	"unicode/utf8"

	"parley/actors/kernel"
)

// MaxBody is the size of a JSON body in bytes (decision 3).
const MaxBody = 1 << 20

var (
	errTooLarge  = kernel.Fail(kernel.CodeTooLarge, "the body is larger than 1 MB")
	errMediaType = &statusError{http.StatusUnsupportedMediaType, "the body must be JSON: send Content-Type: application/json"}
	errEncoding  = &statusError{http.StatusUnsupportedMediaType, "the body must not be compressed"}
	errNotObject = kernel.Invalid("the body must be a JSON object")
)

// readForm reads the body of a request. An empty one counts as {} whatever its type (decision 3).
func readForm(w http.ResponseWriter, r *http.Request) (*form, error) {
	if r.ContentLength > MaxBody {
		return nil, errTooLarge
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxBody))
	var big *http.MaxBytesError
	switch {
	case errors.As(err, &big):
		return nil, errTooLarge
	case err != nil:
		return nil, kernel.Invalid("the body could not be read to its end")
	case len(bytes.TrimSpace(body)) == 0:
		return &form{}, nil
	}
	if err := checkMediaType(r.Header); err != nil {
		return nil, err
	}
	return parseForm(body)
}

// checkMediaType wants JSON in UTF-8, plainly encoded. A body without a type is refused too: a browser sends those to
// foreign servers without asking first.
func checkMediaType(h http.Header) error {
	if e := h.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
		return errEncoding
	}
	kind, params, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil || (kind != "application/json" && !strings.HasSuffix(kind, "+json")) {
		return errMediaType
	}
	if charset := params["charset"]; charset != "" && !strings.EqualFold(charset, "utf-8") && !strings.EqualFold(charset, "utf8") {
		return &statusError{http.StatusUnsupportedMediaType, "the body must be in UTF-8"}
	}
	return nil
}

// parseForm decodes a body that is not empty. Of a key that comes twice the last one counts.
func parseForm(body []byte) (*form, error) {
	if !utf8.Valid(body) {
		return nil, kernel.Invalid("the body is not valid UTF-8")
	}
	body = bytes.TrimLeft(body, " \t\r\n")
	f := &form{}
	err := json.Unmarshal(body, &f.fields)
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &syntax):
		return nil, kernel.Invalid("the body is not valid JSON: %s, at byte %d", syntax.Error(), syntax.Offset)
	case err != nil, body[0] != '{': // null decodes without an error
		return nil, errNotObject
	}
	return f, nil
}
