package rest

import (
	"bytes"
	"encoding/json"

	"parley/actors/kernel"
)

// form is a decoded body. Each getter takes the accepted spellings of a field (decision 1); of several that are present
// the first one listed counts, and null counts as absent. A value of the wrong type is noted, by the name that the client
// used, and reported by Err, so that a handler reads all its fields and asks once.
type form struct {
	fields map[string]json.RawMessage
	err    error
	asked  func(names []string) // told of every field that is asked for; nil but in tests
}

// Err is the first thing that was wrong.
func (f *form) Err() error { return f.err }

func (f *form) fail(format string, args ...any) {
	if f.err == nil {
		f.err = kernel.Invalid(format, args...)
	}
}

// find returns a field's value and the name by which it came; nil when it is absent.
func (f *form) find(names []string) (string, json.RawMessage) {
	if f.asked != nil {
		f.asked(names)
	}
	for _, name := range names {
		if raw := bytes.TrimSpace(f.fields[name]); len(raw) > 0 && string(raw) != "null" {
			return name, raw
		}
	}
	return names[0], nil
}

// Text is an optional text; nil when it is absent.
func (f *form) Text(names ...string) *string {
	name, raw := f.find(names)
	if raw == nil {
		return nil
	}
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		f.fail("%s must be a string", name)
		return nil
	}
	return &s
}

// String is an optional text for which absent and empty are the same.
func (f *form) String(names ...string) string {
	if s := f.Text(names...); s != nil {
		return *s
	}
	return ""
}

// Required is a text that must be there and not be empty.
func (f *form) Required(names ...string) string {
	s := f.String(names...)
	if s == "" {
		f.fail("%s is required", names[0])
	}
	return s
}

// Bool is an optional truth value; nil when it is absent.
func (f *form) Bool(names ...string) *bool {
	name, raw := f.find(names)
	if raw == nil {
		return nil
	}
	var b bool
	if err := json.Unmarshal(raw, &b); err != nil {
		f.fail("%s must be true or false", name)
		return nil
	}
	return &b
}

// Int is an optional whole number; nil when it is absent.
func (f *form) Int(names ...string) *int64 {
	name, raw := f.find(names)
	if raw == nil {
		return nil
	}
	var n int64
	if err := json.Unmarshal(raw, &n); err != nil {
		f.fail("%s must be a whole number", name)
		return nil
	}
	return &n
}

// Decimal is a number that must be there, as a number of JSON or as a string with one. It is passed on digit by digit,
// since a floating point number in between would lose some; whether it is well formed is for the reader to say.
func (f *form) Decimal(names ...string) string {
	name, raw := f.find(names)
	if raw == nil {
		f.fail("%s is required", name)
		return ""
	}
	if raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9' {
		return string(raw)
	}
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		f.fail("%s must be a number, or a string with one", name)
	}
	return s
}

// All are the fields as they came, null among them.
func (f *form) All() map[string]json.RawMessage { return f.fields }

// Raw is an optional value that is passed on as it is; nil when it is absent.
func (f *form) Raw(names ...string) json.RawMessage {
	_, raw := f.find(names)
	return raw
}
