package agency

import (
	"encoding/json"
	"fmt"

	"parley/actors/account"
	"parley/persistence"
)

// Names of the realtime events that an agency's log turns into (decision 27).
const (
	EventMessage        = "message"
	EventMessageEdited  = "message-edited"
	EventMessageDeleted = "message-deleted"
	EventReaction       = "reaction-updated"
	EventMembersUpdated = "members-updated"
	EventAgencyUpdated  = "agency-updated"
	EventAgencyDeleted  = "agency-deleted"
)

// Wire is an event of the log as clients of the agency get it.
type Wire struct {
	Name string
	Data []byte // JSON
	// Soft events tell of a state that can be read again; they may be gathered, and are not repeated on recovery.
	Soft bool
	// Gone is the account that is no member any more; its sockets leave the room. Came is one that has become a member.
	Gone, Came string
}

// Render turns an event of the log into what clients get. ok is false for events that they are not told of.
func Render(agency string, ev *persistence.Event) (w Wire, ok bool, err error) {
	switch ev.Kind {
	case evMessage:
		return Wire{Name: EventMessage, Data: ev.Data}, true, nil
	case evEdited:
		var b struct {
			Edited json.RawMessage `json:"edited"`
		}
		err = json.Unmarshal(ev.Data, &b)
		w = Wire{Name: EventMessageEdited, Data: b.Edited}
	case evDeleted:
		var b deletion
		if err = json.Unmarshal(ev.Data, &b); err == nil {
			w.Name = EventMessageDeleted
			w.Data, err = json.Marshal(map[string]any{"agencyId": agency, "agency_id": agency, "messageId": b.MessageID, "seq": ev.Seq})
		}
	case evReacted:
		var b reacted
		if err = json.Unmarshal(ev.Data, &b); err == nil {
			w.Name = EventReaction
			w.Data, err = json.Marshal(map[string]any{"agencyId": agency, "agency_id": agency, "messageId": b.MessageID, "emoji": b.Emoji,
				"count": b.Count, "user": b.By, "added": b.Added, "seq": ev.Seq})
		}
	case evJoined, evLeft, evRole, evKicked, evBanned:
		w, ok, err = renderMovement(agency, ev)
		if err == nil && !ok {
			return w, false, nil
		}
	case evUpdated:
		var b change
		if err = json.Unmarshal(ev.Data, &b); err == nil {
			w.Name = EventAgencyUpdated
			w.Data, err = json.Marshal(map[string]any{"agencyId": agency, "agency_id": agency, "seq": ev.Seq,
				"agency": NewView(&b.Record, "").withoutCaller()})
		}
	case evDissolved:
		w.Name = EventAgencyDeleted
		w.Data, err = json.Marshal(map[string]any{"agencyId": agency, "agency_id": agency, "seq": ev.Seq})
	default:
		return w, false, nil
	}
	if err != nil {
		return w, false, fmt.Errorf("render event %d of %s: %w", ev.Seq, agency, err)
	}
	return w, true, nil
}

// InDM says in an event of a direct message that it is one, as messages do themselves.
func (w *Wire) InDM() {
	if w.Name != EventMessage && len(w.Data) > 2 {
		w.Data = append([]byte(`{"dm":true,`), w.Data[1:]...)
	}
}

// renderMovement tells of a change of the members. The ban of somebody who was none is not one.
func renderMovement(agency string, ev *persistence.Event) (w Wire, ok bool, err error) {
	var b movement
	if err := json.Unmarshal(ev.Data, &b); err != nil || b.Role == "" {
		return w, false, err
	}
	w = Wire{Name: EventMembersUpdated, Soft: true}
	change := "role"
	switch ev.Kind {
	case evJoined:
		change, w.Came = "joined", b.Member.ID
	case evLeft:
		change, w.Gone = "left", b.Member.ID
	case evKicked, evBanned:
		change, w.Gone = ev.Kind, b.Member.ID
	}
	w.Data, err = json.Marshal(map[string]any{"agencyId": agency, "agency_id": agency, "change": change, "memberCount": b.Count,
		"member": NewMemberView(account.Sender(b.Member), MemberRecord{Role: b.Role})})
	return w, true, err
}

// withoutCaller is the part of a view that is the same for everybody.
func (v View) withoutCaller() map[string]any {
	return map[string]any{"id": v.ID, "name": v.Name, "slug": v.Slug, "charter": v.Charter, "is_private": v.Private,
		"isPrivate": v.Private, "member_count": v.MemberCount}
}
