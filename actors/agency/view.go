package agency

import (
	"bytes"
	"encoding/json"
	"fmt"

	"parley/actors/account"
)

// Kind distinguishes rooms that people make from the one that everybody is in and from what two say to each other.
type Kind string

// Kinds of agencies.
const (
	Room  Kind = "room"
	Lobby Kind = "lobby"
	DM    Kind = "dm" // see dm.go
)

// Record is an agency as it is listed and looked up without waking it.
type Record struct {
	ID          string  `json:"id"`
	Name        string  `json:"name"`
	Slug        string  `json:"slug"`
	Charter     *string `json:"charter"`
	Private     bool    `json:"is_private"`
	Kind        Kind    `json:"kind"`
	MemberCount int64   `json:"member_count"`
	CreatedBy   string  `json:"created_by,omitempty"` // account id; empty for the Lobby
	CreatedAt   int64   `json:"created"`
	// Skills are the names of the skills that are installed, in their order.
	Skills []string `json:"skills,omitempty"`
	Pair   []Peer   `json:"pair,omitempty"` // the two sides of a direct message
}

// Encode returns the document.
func (r *Record) Encode() []byte {
	b, err := json.Marshal(r)
	if err != nil {
		panic(err) // strings and numbers always encode
	}
	return b
}

// DecodeRecord reads a document.
func DecodeRecord(doc []byte) (*Record, error) {
	var r Record
	if err := json.Unmarshal(doc, &r); err != nil {
		return nil, fmt.Errorf("agency record: %w", err)
	}
	return &r, nil
}

// View is an agency as one caller sees it (clients.md 4.3).
type View struct {
	ID          string  `json:"id"`
	Name        string  `json:"name"`
	Slug        string  `json:"slug"`
	Charter     *string `json:"charter"`
	Private     bool    `json:"is_private"`
	Private2    bool    `json:"isPrivate"`
	Type        string  `json:"type"` // "agency", "lobby" or "dm"
	MemberCount int64   `json:"member_count"`
	Members2    int64   `json:"memberCount"`
	IsMember    bool    `json:"isMember"`
	IsMember2   bool    `json:"is_member"`
	Role        *Role   `json:"role"` // the caller's, null for outsiders
	CreatedAt   *string `json:"created_at"`
	CreatedAt2  *string `json:"createdAt"`
}

// NewView shows a record to a caller with a role; the empty role is an outsider.
func NewView(r *Record, role Role) View {
	v := View{ID: r.ID, Name: r.Name, Slug: r.Slug, Charter: r.Charter, Private: r.Private, Private2: r.Private, Type: "agency",
		MemberCount: r.MemberCount, Members2: r.MemberCount, CreatedAt: account.FormatTime(r.CreatedAt), CreatedAt2: account.FormatTime(r.CreatedAt)}
	if r.Kind == Lobby || r.Kind == DM {
		v.Type = string(r.Kind)
	}
	if role != "" {
		v.IsMember, v.IsMember2, v.Role = true, true, &role
	}
	return v
}

// ViewFor shows a record to an account; see Record.NameFor.
func ViewFor(r *Record, role Role, accountID string) View {
	v := NewView(r, role)
	v.Name = r.NameFor(accountID)
	return v
}

// Role is a membership's rank.
type Role string

// Roles, highest first; member and agent are equal (decision 19).
const (
	Owner     Role = "owner"
	Admin     Role = "admin"
	Moderator Role = "moderator"
	Member    Role = "member"
	AgentRole Role = "agent"
)

// Rank orders roles: owner 4, admin 3, moderator 2, member and agent 1, outsiders 0.
func (r Role) Rank() int {
	switch r {
	case Owner:
		return 4
	case Admin:
		return 3
	case Moderator:
		return 2
	case Member, AgentRole:
		return 1
	default:
		return 0
	}
}

// MemberRecord is the document of a membership.
type MemberRecord struct {
	Role     Role  `json:"r"`
	JoinedAt int64 `json:"j"`
}

// Encode returns the document.
func (m MemberRecord) Encode() []byte {
	b, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	return b
}

// DecodeMember reads a document.
func DecodeMember(doc []byte) (MemberRecord, error) {
	if m, ok := quickMember(doc); ok {
		return m, nil
	}
	var m MemberRecord
	if err := json.Unmarshal(doc, &m); err != nil {
		return m, fmt.Errorf("member record: %w", err)
	}
	return m, nil
}

// quickMember reads what Encode writes, and leaves everything else to the JSON decoder: lists read thousands of them.
func quickMember(doc []byte) (m MemberRecord, ok bool) {
	body, ok := bytes.CutPrefix(doc, []byte(`{"r":"`))
	if !ok {
		return m, false
	}
	role, joined, ok := bytes.Cut(body, []byte(`","j":`))
	if !ok || len(joined) < 2 || len(joined) > 18 || joined[len(joined)-1] != '}' {
		return m, false
	}
	for _, r := range [...]Role{Member, AgentRole, Owner, Admin, Moderator} {
		if string(role) == string(r) {
			m.Role = r
		}
	}
	for _, c := range joined[:len(joined)-1] {
		if c < '0' || c > '9' {
			return m, false
		}
		m.JoinedAt = m.JoinedAt*10 + int64(c-'0')
	}
	return m, m.Role != "" && (joined[0] != '0' || len(joined) == 2)
}

// MemberView is a member as clients see it (clients.md 4.4).
type MemberView struct {
	ID           string       `json:"id"`
	Username     string       `json:"username"`
	DisplayName  string       `json:"displayName"`
	DisplayName2 string       `json:"display_name"`
	Role         Role         `json:"role"`
	Type         account.Type `json:"type"`
	IsAgent      bool         `json:"is_agent"`
	Online       *bool        `json:"online,omitempty"`
	JoinedAt     *string      `json:"joined_at,omitempty"`
}

// NewMemberView joins a membership with its account.
func NewMemberView(s account.Sender, m MemberRecord) MemberView {
	return MemberView{ID: s.ID, Username: s.Username, DisplayName: s.DisplayName, DisplayName2: s.DisplayName, Role: m.Role,
		Type: s.Type, IsAgent: s.Type == account.Agent, JoinedAt: account.FormatTime(m.JoinedAt)}
}
