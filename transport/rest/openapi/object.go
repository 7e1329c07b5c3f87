package openapi

import (
	"bytes"
	"encoding/json"
)

// object is a JSON object that keeps the order of its members.
type object []member

type member struct {
	key   string
	value any
}

// set adds a member.
func (o *object) set(key string, value any) { *o = append(*o, member{key, value}) }

// text adds a member unless it is empty.
func (o *object) text(key, value string) {
	if value != "" {
		o.set(key, value)
	}
}

// MarshalJSON implements json.Marshaler.
func (o object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		for j, part := range []any{m.key, m.value} {
			if j > 0 {
				b.WriteByte(':')
			}
			text, err := encode(part)
			if err != nil {
				return nil, err
			}
			b.Write(text)
		}
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// encode leaves <, > and & readable.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(b.Bytes()), nil
}
