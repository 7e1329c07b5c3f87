package rest

import (
	"errors"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"parley/actors/kernel"
)

// Limits of query values in bytes, after decoding.
const (
	MaxQueryValue = 256
	maxQueryPairs = 100 // the rest is not looked at
)

// query is the decoded query of an address. Only values that a handler asks for are checked; the first thing wrong is
// reported by Err. Of a name that comes twice the last one counts.
type query struct {
	values map[string]string
	err    error
	asked  func(name string) // told of every value that is asked for; nil but in tests
}

// parseQuery never fails: what is not properly escaped is taken as typed, because existing clients append texts to
// addresses without escaping them (clients.md 1.1).
func parseQuery(raw string) *query {
	q := &query{values: map[string]string{}}
	for range maxQueryPairs {
		if raw == "" {
			break
		}
		var pair string
		pair, raw, _ = strings.Cut(raw, "&")
		name, value, _ := strings.Cut(pair, "=")
		q.values[unescape(name)] = unescape(value)
	}
	return q
}

func unescape(s string) string {
	if plain, err := url.QueryUnescape(s); err == nil {
		return plain
	}
	return s
}

// Err is the first thing that was wrong.
func (q *query) Err() error { return q.err }

func (q *query) fail(format string, args ...any) {
	if q.err == nil {
		q.err = kernel.Invalid(format, args...)
	}
}

// Text is a value of at most MaxQueryValue bytes; empty when it is absent.
func (q *query) Text(name string) string {
	if q.asked != nil {
		q.asked(name)
	}
	v := q.values[name]
	switch {
	case !utf8.ValidString(v):
		q.fail("%s is not valid UTF-8", name)
		return ""
	case len(v) > MaxQueryValue:
		q.fail("%s is longer than %d bytes", name, MaxQueryValue)
		return ""
	}
	return v
}

// Int is a whole number, clamped into its range (decision 3); missing is returned as it is when there is none.
func (q *query) Int(name string, missing, least, most int) int {
	v := q.Text(name)
	if v == "" {
		return missing
	}
	n, err := strconv.Atoi(v)
	if err != nil && !errors.Is(err, strconv.ErrRange) { // out of range: Atoi returns the nearest int
		q.fail("%s must be a whole number", name)
		return missing
	}
	return min(max(n, least), most)
}

// Ascending reads order: asc, or desc, which is the default.
func (q *query) Ascending() bool {
	switch q.Text("order") {
	case "asc":
		return true
	case "", "desc":
		return false
	default:
		q.fail("order must be asc or desc")
		return false
	}
}
