package realtime

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"parley/actors/agency"
	"parley/actors/kernel"
	"parley/actors/session"
	"parley/transport/realtime/asyncapi"
)

// operation is a row of the table of what clients can send.
type operation struct {
	name string
	// decode makes an operation of the session out of the event's data.
	decode func(data []byte) (any, error)
	// speaks says that a failure is told in an error event even when an ack was asked for, since the success is told in
	// an event too (clients.md 3.3, error).
	speaks bool
	// doc is what it is; nil fails a test.
	doc *asyncapi.Operation
}

// operations is the table. Both wire formats share it.
var operations = map[string]operation{}

func init() {
	for _, op := range []operation{
		{name: "join-agency", decode: decodeJoin, speaks: true, doc: &joinDoc},
		{name: "leave-agency", decode: decodeLeave, doc: &leaveDoc},
		{name: "send-message", decode: decodeSend, doc: &sendDoc},
		{name: "edit-message", decode: decodeEdit, doc: &editDoc},
		{name: "delete-message", decode: decodeDelete, doc: &deleteDoc},
		{name: "react-message", decode: decodeReaction(false), doc: &reactDoc},
		{name: "remove-reaction", decode: decodeReaction(true), doc: &unreactDoc},
		{name: "agent-run-start", decode: decodeRunStart, doc: runStartDoc},
		{name: "agent-run-status", decode: decodeRunStatus, doc: runStatusDoc},
		{name: "agent-run-tool-call", decode: decodeToolCall, doc: runToolCallDoc},
		{name: "agent-run-tool-result", decode: decodeToolResult, doc: runToolResultDoc},
		{name: "agent-run-stream", decode: decodeStream, doc: runStreamDoc},
		{name: "agent-run-permission", decode: decodePermission, doc: runPermissionDoc},
		{name: "agent-run-complete", decode: decodeComplete, doc: runCompleteDoc},
		{name: "agent-run-error", decode: decodeRunError, doc: runErrorDoc},
		{name: "agent-run-interrupt", decode: decodeInterrupt, doc: runInterruptDoc},
		{name: "agent-run-permission-response", decode: decodePermissionResponse, doc: runAnswerDoc},
		{name: "typing", decode: decodeTyping, doc: &typingDoc},
		{name: "agent-thinking", decode: decodeThinking, doc: &thinkingDoc},
	} {
		operations[op.name] = op
	}
}

// target is what most operations name. Both spellings are taken (decision 1).
type target struct {
	AgencyID   string `json:"agencyId"`
	AgencyID2  string `json:"agency_id"`
	MessageID  string `json:"messageId"`
	MessageID2 string `json:"message_id"`
}

// maxID is the longest id that is looked at, in bytes.
const maxID = 128

func (t *target) agency() (string, error)  { return required("agencyId", t.AgencyID, t.AgencyID2) }
func (t *target) message() (string, error) { return required("messageId", t.MessageID, t.MessageID2) }

func required(field, a, b string) (string, error) {
	if a == "" {
		a = b
	}
	switch {
	case a == "":
		return "", kernel.Invalid("%s is required", field)
	case len(a) > maxID || bytes.ContainsAny([]byte(a), "/\x00"):
		return "", kernel.NotFound("there is nothing with this %s", field)
	}
	return a, nil
}

// decode reads an event's data: an object whose unknown fields are ignored. Errors name the field.
func decode(data []byte, into any) error {
	data = bytes.TrimSpace(data)
	if len(data) == 0 || data[0] != '{' {
		return kernel.Invalid("the event's data must be an object")
	}
	err := json.Unmarshal(data, into)
	var wrong *json.UnmarshalTypeError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &wrong):
		field := wrong.Field[strings.LastIndexByte(wrong.Field, '.')+1:] // without the Go name of what it is embedded in
		return kernel.Invalid("%s must be %s, not %s", field, article(jsonType(wrong.Type.Kind().String())), article(wrong.Value))
	default:
		return kernel.Invalid("the event's data is no valid JSON")
	}
}

// article puts the right one in front of a type.
func article(noun string) string {
	if strings.ContainsAny(noun[:min(1, len(noun))], "aeiou") {
		return "an " + noun
	}
	return "a " + noun
}

// jsonType names a Go kind as JSON does.
func jsonType(kind string) string {
	switch kind {
	case "bool":
		return "boolean"
	case "uint64", "int64", "int":
		return "whole number"
	default:
		return kind
	}
}

func decodeJoin(data []byte) (any, error) {
	var d struct {
		target
		Since *uint64 `json:"since"`
	}
	if err := decode(data, &d); err != nil {
		return nil, err
	}
	id, err := d.agency()
	return session.Join{AgencyID: id, Since: d.Since}, err
}

func decodeLeave(data []byte) (any, error) {
	var d target
	if err := decode(data, &d); err != nil {
		return nil, err
	}
	id, err := d.agency()
	return session.Leave{AgencyID: id}, err
}

func decodeSend(data []byte) (any, error) {
	var d struct {
		target
		Content   string          `json:"content"`
		Type      string          `json:"type"`
		Metadata  json.RawMessage `json:"metadata"`
		Silent    bool            `json:"silent"`
		ReplyTo   string          `json:"replyTo"`
		ReplyTo2  string          `json:"reply_to"`
		ClientID  string          `json:"clientId"`
		ClientID2 string          `json:"client_id"`
	}
	if err := decode(data, &d); err != nil {
		return nil, err
	}
	id, err := d.agency()
	return session.Send{AgencyID: id, Silent: d.Silent, Message: agency.NewMessage{Content: d.Content, Type: d.Type,
		Metadata: d.Metadata, ReplyTo: either(d.ReplyTo, d.ReplyTo2), ClientID: either(d.ClientID, d.ClientID2)}}, err
}

func either(a, b string) string {
	if a == "" {
		return b
	}
	return a
}

func decodeEdit(data []byte) (any, error) {
	var d struct {
		target
		Content string `json:"content"`
	}
	if err := decode(data, &d); err != nil {
		return nil, err
	}
	id, err := d.agency()
	if err != nil {
		return nil, err
	}
	message, err := d.message()
	return session.Edit{AgencyID: id, MessageID: message, Content: d.Content}, err
}

func decodeDelete(data []byte) (any, error) {
	var d target
	if err := decode(data, &d); err != nil {
		return nil, err
	}
	id, err := d.agency()
	if err != nil {
		return nil, err
	}
	message, err := d.message()
	return session.Delete{AgencyID: id, MessageID: message}, err
}

// decodeReaction reads a reaction that is added or taken back.
func decodeReaction(remove bool) func([]byte) (any, error) {
	return func(data []byte) (any, error) {
		var d struct {
			target
			Emoji string `json:"emoji"`
		}
		if err := decode(data, &d); err != nil {
			return nil, err
		}
		id, err := d.agency()
		if err != nil {
			return nil, err
		}
		message, err := d.message()
		return session.React{AgencyID: id, MessageID: message, Emoji: d.Emoji, Remove: remove}, err
	}
}

// unknownOperation names an event that is not in the table.
func unknownOperation(name string) error {
	const shown = 40 // bytes of a stranger's word that are repeated to it
	if len(name) > shown {
		name = name[:shown]
	}
	return kernel.Invalid("unknown event %s", fmt.Sprintf("%q", name))
}

func decodeTyping(data []byte) (any, error) {
	var d struct {
		target
		Typing *bool `json:"typing"`
	}
	if err := decode(data, &d); err != nil {
		return nil, err
	}
	id, err := d.agency()
	if err == nil && d.Typing == nil {
		err = kernel.Invalid("typing is required")
	}
	if err != nil {
		return nil, err
	}
	return session.Typing{AgencyID: id, Typing: *d.Typing}, nil
}

// decodeThinking reads what an agent does. Who it is is known: what the event says of that is not read.
func decodeThinking(data []byte) (any, error) {
	var d struct {
		target
		Thinking *bool  `json:"thinking"`
		Status   string `json:"status"`
	}
	if err := decode(data, &d); err != nil {
		return nil, err
	}
	id, err := d.agency()
	if err == nil && d.Thinking == nil {
		err = kernel.Invalid("thinking is required")
	}
	if err != nil {
		return nil, err
	}
	return session.Thinking{AgencyID: id, Thinking: *d.Thinking, Status: d.Status}, nil
}
