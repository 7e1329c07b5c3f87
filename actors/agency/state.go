package agency

import (
	"encoding/json"
	"fmt"

	"parley/actors/account"
	"parley/persistence"
)

// Kinds of events of an agency's log. Those that clients see as messages carry the JSON that clients get.
const (
	evFounded   = "founded"
	evUpdated   = "updated"
	evDissolved = "dissolved"
	evPurged    = "purged"
	evJoined    = "joined"
	evLeft      = "left"
	evRole      = "role"
	evMessage   = "message"
	evEdited    = "edited"
	evDeleted   = "deleted"
	evKicked    = "kicked"
	evBanned    = "banned"
	evUnbanned  = "unbanned"
	evInvited   = "invited"
	evRevoked   = "revoked"  // an invite
	evRedeemed  = "redeemed" // an invite; the joining follows from it
	evNoted     = "noted"
	evUnnoted   = "unnoted"
	evSkill     = "skill" // installed or uninstalled
	evReacted   = "reacted"
	evCleared   = "cleared" // a direct message; the deletions follow from it
)

// state is what an agency's actor knows without reading. Members are documents: its size does not depend on their number.
type state struct {
	Record
	// Staff are the members above the rank of member, which is what ownership passes through.
	Staff    map[string]MemberRecord `json:"staff,omitempty"`
	Invites  []Invite                `json:"invites,omitempty"` // oldest first, at most keptInvites
	Notes    map[string]bool         `json:"notes,omitempty"`   // keys, at most MaxNotes
	Messages int64                   `json:"messages,omitempty"`
	// Cleared is up to where a direct message's messages are being deleted or have been, and ClearedBy who wanted that.
	Cleared   uint64     `json:"cleared,omitempty"`
	ClearedBy WireSender `json:"clearedBy,omitzero"`

	Dissolved bool `json:"dissolved,omitempty"`
	Purged    bool `json:"purged,omitempty"`
}

// founding is the body of evFounded.
type founding struct {
	Record Record      `json:"agency"`
	By     *WireSender `json:"by,omitempty"`
}

// change is the body of evUpdated.
type change struct {
	Record  Record     `json:"agency"`
	By      WireSender `json:"by"`
	Charter *string    `json:"charter,omitempty"` // what the caller asked for
	Private *bool      `json:"isPrivate,omitempty"`
}

// movement is the body of evJoined, evLeft, evRole, evKicked, evBanned and evUnbanned.
type movement struct {
	Member WireSender  `json:"member"`
	Role   Role        `json:"role"` // after evJoined and evRole, before the others; empty for those who were no members
	Was    Role        `json:"was,omitempty"`
	Count  int64       `json:"count"` // members after it
	By     *WireSender `json:"by,omitempty"`
	Silent bool        `json:"silent,omitempty"` // a consequence of an account's end, not somebody's act
	Reason string      `json:"reason,omitempty"` // of evKicked and evBanned
	Until  int64       `json:"until,omitempty"`  // end of evBanned, ms; 0: never
}

// edition is the body of evEdited.
type edition struct {
	Edited Edited     `json:"edited"`
	By     WireSender `json:"by"`
}

// deletion is the body of evDeleted.
type deletion struct {
	MessageID string     `json:"messageId"`
	By        WireSender `json:"by"`
	// Message is what webhooks are told of it.
	Message json.RawMessage `json:"message"`
}

// WireSender is who acts, in the form of rest.md, Actor.
type WireSender struct {
	ID          string       `json:"id"`
	Username    string       `json:"username"`
	DisplayName string       `json:"display_name"`
	Type        account.Type `json:"type"`
}

// wire converts a sender.
func wire(s account.Sender) WireSender { return WireSender(s) }

func event(kind string, body any) persistence.Event {
	return persistence.Event{Kind: kind, Data: encodeJSON(body)}
}

func (s *state) exists() bool { return s.ID != "" && !s.Dissolved }

func (s *state) apply(ev *persistence.Event) error {
	decode := func(v any) error {
		if err := json.Unmarshal(ev.Data, v); err != nil {
			return fmt.Errorf("agency event %d %s: %w", ev.Seq, ev.Kind, err)
		}
		return nil
	}
	switch ev.Kind {
	case evMessage:
		s.Messages++
	case evEdited, evReacted:
	case evCleared:
		var b clearing
		if err := decode(&b); err != nil {
			return err
		}
		s.Cleared, s.ClearedBy = b.UpTo, b.By
	case evDeleted:
		s.Messages--
	case evFounded:
		var b founding
		if err := decode(&b); err != nil {
			return err
		}
		s.Record = b.Record
	case evUpdated:
		var b change
		if err := decode(&b); err != nil {
			return err
		}
		b.Record.MemberCount = s.MemberCount
		s.Record = b.Record
	case evJoined, evLeft, evRole, evKicked, evBanned:
		var b movement
		if err := decode(&b); err != nil {
			return err
		}
		s.move(ev, b)
	case evUnbanned:
	case evInvited, evRevoked, evRedeemed:
		var b invitation
		if err := decode(&b); err != nil {
			return err
		}
		s.invite(ev.Kind, b)
	case evNoted, evUnnoted:
		var b noting
		if err := decode(&b); err != nil {
			return err
		}
		s.note(ev.Kind, b)
	case evSkill:
		var b skillChange
		if err := decode(&b); err != nil {
			return err
		}
		s.Skills = b.apply(s.Skills)
	case evDissolved:
		s.Dissolved = true
	case evPurged:
		*s = state{Record: Record{ID: s.ID}, Dissolved: true, Purged: true}
	default:
		return fmt.Errorf("agency event %d: unknown kind %q", ev.Seq, ev.Kind)
	}
	return nil
}

func (s *state) move(ev *persistence.Event, b movement) {
	s.MemberCount = b.Count
	if s.Kind == DM && ev.Kind == evLeft {
		s.Pair = s.withoutPeer(b.Member.ID)
	}
	old, was := s.Staff[b.Member.ID]
	switch {
	case ev.Kind != evJoined && ev.Kind != evRole, b.Role.Rank() <= Member.Rank():
		delete(s.Staff, b.Member.ID)
	default:
		if s.Staff == nil {
			s.Staff = map[string]MemberRecord{}
		}
		since := ev.At
		if was {
			since = old.JoinedAt
		}
		s.Staff[b.Member.ID] = MemberRecord{Role: b.Role, JoinedAt: since}
	}
}

// owners counts the owners.
func (s *state) owners() int {
	n := 0
	for _, m := range s.Staff {
		if m.Role == Owner {
			n++
		}
	}
	return n
}
