package agency

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"parley/actors/account"
	"parley/actors/kernel"
)

// Limits of messages (decision 21).
const (
	MaxContent  = 16_000   // characters of a post
	MaxMetadata = 64 << 10 // bytes of a post's metadata
	MaxClientID = 64       // characters
	MaxNesting  = 64       // levels of a post's metadata
)

// Message is a message as clients get it, over sockets and in history (clients.md 4.1, 4.2).
type Message struct {
	ID                string          `json:"id"`
	Seq               uint64          `json:"seq"`
	AgencyID          string          `json:"agency_id"`
	AgencyID2         string          `json:"agencyId"`
	DM                bool            `json:"dm,omitempty"` // in a direct message
	Content           string          `json:"content"`
	Type              string          `json:"type"`
	Metadata          json.RawMessage `json:"metadata"`
	Reactions         Reactions       `json:"reactions"` // stored apart, see ShowReactions
	SenderID          string          `json:"sender_id"`
	SenderUsername    string          `json:"sender_username"`
	Username          string          `json:"username"`
	SenderDisplayName string          `json:"sender_display_name"`
	SenderType        account.Type    `json:"sender_type"`
	ReplyTo           string          `json:"reply_to,omitempty"`
	ClientID          string          `json:"clientId,omitempty"`
	CreatedAt         string          `json:"created_at"`
	EditedAt          *string         `json:"edited_at,omitempty"`
}

func (m *Message) encode() []byte { return encodeJSON(m) }

// encodeJSON does not escape for HTML, which would make six bytes of a bracket in everything that is stored and sent.
func encodeJSON(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // plain structs always encode, and metadata was checked to be JSON
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// DecodeMessage reads a message document.
func DecodeMessage(doc []byte) (*Message, error) {
	var m Message
	if err := json.Unmarshal(doc, &m); err != nil {
		return nil, fmt.Errorf("message: %w", err)
	}
	return &m, nil
}

// NewMessage is what a sender gives of a message.
type NewMessage struct {
	Content  string
	Type     string          // chat (also when empty), tool_result or action
	Metadata json.RawMessage // an object, or a string that holds one; empty for none
	ReplyTo  string          // id of a message
	ClientID string          // makes the post idempotent for a day
}

// serverKeys are metadata keys that only the server sets (clients.md 4.1).
var serverKeys = []string{"webhook", "run_id", PaymentKey}

// check applies the rules of decision 21 and returns the message in its final form.
func (n NewMessage) check() (NewMessage, error) {
	content, err := CheckContent(n.Content)
	if err != nil {
		return n, err
	}
	n.Content = content
	switch n.Type {
	case "":
		n.Type = "chat"
	case "chat", "tool_result", "action":
	default:
		return n, kernel.Invalid("type must be chat, tool_result or action")
	}
	if utf8.RuneCountInString(n.ClientID) > MaxClientID {
		return n, kernel.Invalid("clientId must be at most %d characters", MaxClientID)
	}
	if n.ReplyTo != "" {
		if _, ok := SeqOfMessageID(n.ReplyTo); !ok {
			return n, kernel.Invalid("replyTo must be the id of a message")
		}
	}
	n.Metadata, err = checkMetadata(n.Metadata)
	return n, err
}

// CheckContent trims a post and applies its limits.
func CheckContent(content string) (string, error) {
	content = strings.TrimSpace(content)
	switch {
	case content == "":
		return "", kernel.Invalid("content must not be empty")
	case !utf8.ValidString(content):
		return "", kernel.Invalid("content must be valid UTF-8")
	case !strings.ContainsFunc(content, unicode.IsGraphic): // control and zero-width characters alone
		return "", kernel.Invalid("content must have something to read")
	case utf8.RuneCountInString(content) > MaxContent:
		return "", kernel.Invalid("content must be at most %d characters", MaxContent)
	}
	return content, nil
}

// nesting returns how deep valid JSON is nested. Clients' parsers give up at depths that are no trouble here.
func nesting(raw []byte) int {
	depth, deepest, quoted := 0, 0, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
			deepest = max(deepest, depth)
		case c == '}' || c == ']':
			depth--
		}
	}
	return deepest
}

func checkMetadata(raw json.RawMessage) (json.RawMessage, error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || string(raw) == "null" {
		return json.RawMessage("{}"), nil
	}
	if raw[0] == '"' {
		var text string
		if err := json.Unmarshal(raw, &text); err != nil {
			return nil, kernel.Invalid("metadata must be an object")
		}
		raw = []byte(text)
	}
	if len(raw) > MaxMetadata {
		return nil, kernel.Invalid("metadata must be at most %d bytes of JSON", MaxMetadata)
	}
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(raw, &keys); err != nil || keys == nil {
		return nil, kernel.Invalid("metadata must be an object")
	}
	forged := false
	for _, k := range serverKeys {
		if _, ok := keys[k]; ok {
			delete(keys, k)
			forged = true
		}
	}
	if nesting(raw) > MaxNesting {
		return nil, kernel.Invalid("metadata must not be nested deeper than %d levels", MaxNesting)
	}
	if forged {
		return encodeJSON(keys), nil
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, raw); err != nil {
		return nil, kernel.Invalid("metadata must be an object")
	}
	return compact.Bytes(), nil
}
