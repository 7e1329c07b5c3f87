package agency

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"
)

var errNoField = errors.New("no such field")

// SenderOf reads the sender's id out of a message document, without the cost of decoding it.
func SenderOf(doc []byte) (string, error) { return textOf(doc, "sender_id") }

// ContentOf reads the content out of a message document, without the cost of decoding it.
func ContentOf(doc []byte) (string, error) { return textOf(doc, "content") }

// CreatedAtOf reads the time out of a message document, without the cost of decoding it.
func CreatedAtOf(doc []byte) (string, error) { return textOf(doc, "created_at") }

func textOf(doc []byte, name string) (string, error) {
	raw := field(doc, name)
	if raw == nil {
		return "", fmt.Errorf("message: %w: %s", errNoField, name)
	}
	if raw[0] == '"' {
		if plain := raw[1 : len(raw)-1]; bytes.IndexByte(plain, '\\') < 0 && utf8.Valid(plain) {
			return string(plain), nil
		}
	}
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		return "", fmt.Errorf("message: %s: %w", name, err)
	}
	return text, nil
}

// field returns the value of a field of an object, as it stands there; nil when there is none. It relies on the document
// being JSON without spaces, as Message.encode makes it: what is inside of texts and of metadata is passed over.
func field(doc []byte, name string) []byte {
	for i := 1; i < len(doc) && doc[i] == '"'; {
		end := skip(doc, i)
		if end >= len(doc) || doc[end] != ':' {
			return nil
		}
		key, start := doc[i+1:end-1], end+1
		if end = skip(doc, start); end > len(doc) || end == start {
			return nil
		}
		if string(key) == name {
			return doc[start:end]
		}
		i = end + 1 // behind the comma
	}
	return nil
}

// skip returns where the value that begins at i ends: beyond the document if it does not.
func skip(doc []byte, i int) int {
	depth := 0
	for ; i < len(doc); i++ {
		switch doc[i] {
		case '"':
			if i = closing(doc, i+1); depth == 0 {
				return i + 1
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 { // the end of what is around a number
				return i
			}
			if depth--; depth == 0 {
				return i + 1
			}
		case ',':
			if depth == 0 {
				return i
			}
		}
	}
	return len(doc) + 1
}

// closing returns where the text that i is in ends: its closing quote.
func closing(doc []byte, i int) int {
	for i < len(doc) {
		next := bytes.IndexByte(doc[i:], '"')
		if next < 0 {
			break
		}
		i += next
		slashes := 0
		for doc[i-1-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return i
		}
		i++
	}
	return len(doc)
}
