package realtime

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"parley/actors/account"
	"parley/actors/agency"
	"parley/actors/command"
	"parley/actors/kernel"
	"parley/actors/mirror"
	"parley/actors/session"
)

// eventError tells of a failed event that asked for no ack (clients.md 3.3).
const eventError = "error"

// ackOf is the ack to an operation's result (clients.md 3.4).
func ackOf(result any) []byte {
	switch r := result.(type) {
	case *agency.Posted: // the hot one: a message's id needs no escaping
		b := append(make([]byte, 0, 80), `{"ok":true,"messageId":"`...)
		return append(append(b, r.ID...), `"}`...)
	case command.Result:
		return mustJSON(r)
	case *agency.Reacted:
		return mustJSON(struct {
			OK        bool   `json:"ok"`
			MessageID string `json:"messageId"`
			Emoji     string `json:"emoji"`
			Count     int64  `json:"count"`
		}{true, r.MessageID, r.Emoji, r.Count})
	default:
		return []byte(`{"ok":true}`)
	}
}

// ackOfError tells of a failure in an ack. content repeats the sentence, since clients read it as a text.
func ackOfError(e *kernel.Error) []byte {
	return mustJSON(struct {
		OK      bool   `json:"ok"`
		Error   string `json:"error"`
		Content string `json:"content"`
		Type    string `json:"type"`
	}{Error: e.Message, Content: e.Message, Type: "system"})
}

// errorEvent tells of a failure in an event.
func errorEvent(name string, e *kernel.Error) *mirror.Event {
	return &mirror.Event{Name: eventError, Data: mustJSON(struct {
		Message string `json:"message"`
		Event   string `json:"event,omitempty"`
	}{e.Message, name})}
}

// whisper shows the answer to a command to its sender alone.
func whisper(op session.Send, r command.Result) *mirror.Event {
	const system = "system"
	now := time.Now().UnixMilli()
	m := agency.Message{ID: uuid.NewString(), AgencyID: op.AgencyID, AgencyID2: op.AgencyID, DM: r.DM, Content: r.Content, Type: r.Type,
		Metadata: json.RawMessage(`{"ephemeral":true}`), SenderID: system, SenderUsername: system, Username: system,
		SenderDisplayName: "System", SenderType: system, CreatedAt: *account.FormatTime(now)}
	return &mirror.Event{Name: agency.EventMessage, Data: mustJSON(m)}
}

func mustJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // plain structs always encode
	}
	return b
}
