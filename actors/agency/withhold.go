package agency

import (
	"encoding/json"
	"fmt"
)

// Subject is the id of the message that an event of a message is about: that it was posted, edited or deleted. It is empty
// for other events.
func (w *Wire) Subject() (string, error) {
	switch w.Name {
	case EventMessage:
		return textOf(w.Data, "id")
	case EventMessageEdited, EventMessageDeleted:
		return textOf(w.Data, "messageId")
	default:
		return "", nil
	}
}

// Withhold returns the event without what the message said. The log keeps for a while what was posted; whoever reads it
// after the message was deleted is told that there was one, and no more.
func (w *Wire) Withhold() (Wire, error) {
	var err error
	none := json.RawMessage("{}")
	switch w.Name {
	case EventMessage:
		var m *Message
		if m, err = DecodeMessage(w.Data); err == nil {
			m.Content, m.Metadata = "", none
			return Wire{Name: w.Name, Data: m.encode()}, nil
		}
	case EventMessageEdited:
		var e Edited
		if err = json.Unmarshal(w.Data, &e); err == nil {
			e.Content, e.Metadata = "", none
			return Wire{Name: w.Name, Data: encodeJSON(e)}, nil
		}
	default:
		return *w, nil
	}
	return *w, fmt.Errorf("withhold %s: %w", w.Name, err)
}

// Actor is the id of the account that posted the message or reacted, as the event names it. It is empty for other events.
func (w *Wire) Actor() (string, error) {
	switch w.Name {
	case EventMessage:
		return textOf(w.Data, "sender_id")
	case EventReaction:
		var e struct{ User WireSender }
		err := json.Unmarshal(w.Data, &e)
		return e.User.ID, err
	default:
		return "", nil
	}
}

// Nameless returns the event with the names of a deleted account in the place of its Actor's (decision 9).
func (w *Wire) Nameless() (Wire, error) {
	var err error
	switch w.Name {
	case EventMessage:
		var m *Message
		if m, err = DecodeMessage(w.Data); err == nil {
			m.SenderUsername, m.Username, m.SenderDisplayName = DeletedUsername, DeletedUsername, DeletedDisplayName
			return Wire{Name: w.Name, Data: m.encode()}, nil
		}
	case EventReaction:
		var user WireSender
		all := map[string]json.RawMessage{}
		if err = json.Unmarshal(w.Data, &all); err == nil {
			err = json.Unmarshal(all["user"], &user)
		}
		if err == nil {
			user.Username, user.DisplayName = DeletedUsername, DeletedDisplayName
			all["user"] = encodeJSON(user)
			return Wire{Name: w.Name, Data: encodeJSON(all)}, nil
		}
	default:
		return *w, nil
	}
	return *w, fmt.Errorf("take the names out of %s: %w", w.Name, err)
}
