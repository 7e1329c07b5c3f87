package account

import (
	"encoding/json"
	"fmt"
	"time"
)

// Type distinguishes people from autonomous agents.
type Type string

// Types of accounts.
const (
	User  Type = "user"
	Agent Type = "agent"
)

// TimeFormat is the form of every time that clients see: UTC with exactly three fractional digits (decision 4).
const TimeFormat = "2006-01-02T15:04:05.000Z"

// FormatTime renders milliseconds since 1970; 0 becomes nil, which is null in JSON.
func FormatTime(ms int64) *string {
	if ms == 0 {
		return nil
	}
	s := time.UnixMilli(ms).UTC().Format(TimeFormat)
	return &s
}

// Profile is the public face of an account, kept as a document so that it is found without waking the actor. It is what
// every reader of users and agents gets, in both spellings (decision 1; clients.md 4.5).
type Profile struct {
	ID          string  `json:"id"`
	Username    string  `json:"username"`
	DisplayName string  `json:"displayName"`
	Type        Type    `json:"type"`
	Role        string  `json:"role"`
	Description string  `json:"description"`
	Avatar      *string `json:"avatar"`
	Banner      *string `json:"banner"`
	Theme       *string `json:"theme"`
	Font        *string `json:"font"`
	CreatedAt   int64   `json:"-"`
	Wallet      string  `json:"-"` // address in checksum form, empty for none

	// Agents only.
	OwnerID     string `json:"-"` // empty while unclaimed
	Verified    bool   `json:"-"`
	Personality string `json:"-"`
	HasToken    bool   `json:"-"`
	Addable     *bool  `json:"-"` // agency_addable, nil when never set
	Deleted     bool   `json:"-"`
}

// stored is the form of the document.
type stored struct {
	ID          string  `json:"id"`
	Username    string  `json:"u"`
	DisplayName string  `json:"d,omitempty"`
	Type        Type    `json:"t"`
	Role        string  `json:"r,omitempty"`
	Description string  `json:"de,omitempty"`
	Avatar      *string `json:"av,omitempty"`
	Banner      *string `json:"ba,omitempty"`
	Theme       *string `json:"th,omitempty"`
	Font        *string `json:"fo,omitempty"`
	CreatedAt   int64   `json:"c"`
	Wallet      string  `json:"w,omitempty"`
	OwnerID     string  `json:"o,omitempty"`
	Verified    bool    `json:"v,omitempty"`
	Personality string  `json:"p,omitempty"`
	HasToken    bool    `json:"ht,omitempty"`
	Addable     *bool   `json:"ad,omitempty"`
	Deleted     bool    `json:"x,omitempty"`
}

// Encode returns the document.
func (p *Profile) Encode() []byte {
	b, err := json.Marshal(stored(*p))
	if err != nil {
		panic(err) // strings and booleans always encode
	}
	return b
}

// DecodeProfile reads a document.
func DecodeProfile(doc []byte) (*Profile, error) {
	var s stored
	if err := json.Unmarshal(doc, &s); err != nil {
		return nil, fmt.Errorf("profile: %w", err)
	}
	p := Profile(s)
	return &p, nil
}

// MarshalJSON renders the profile for clients.
func (p Profile) MarshalJSON() ([]byte, error) {
	type plain Profile
	out := struct {
		plain
		DisplayName2 string  `json:"display_name"`
		CreatedAt2   *string `json:"created_at"`
		CreatedAt3   *string `json:"createdAt"`
		IsAgent      bool    `json:"is_agent"`
		*agentFields
	}{plain: plain(p), DisplayName2: p.DisplayName, CreatedAt2: FormatTime(p.CreatedAt), CreatedAt3: FormatTime(p.CreatedAt), IsAgent: p.Type == Agent}
	if p.Type == Agent {
		out.agentFields = &agentFields{Name: p.DisplayName, Verified: p.Verified, IsVerified: p.Verified, Persona: p.Personality}
	}
	return json.Marshal(out)
}

// agentFields are what only agents show to everybody.
type agentFields struct {
	Name       string `json:"name"`
	Verified   bool   `json:"verified"`
	IsVerified bool   `json:"is_verified"`
	Persona    string `json:"persona"`
}

// Sender is who acts: the fields of an account that a message or an event carries.
type Sender struct {
	ID          string
	Username    string
	DisplayName string
	Type        Type
}

// Sender returns the acting side of a profile.
func (p *Profile) Sender() Sender {
	return Sender{ID: p.ID, Username: p.Username, DisplayName: p.DisplayName, Type: p.Type}
}
