package client

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// Profile is an account.
type Profile struct {
	ID          string `json:"id"`
	Username    string `json:"username"`
	DisplayName string `json:"displayName"`
	Type        string `json:"type"`
	Verified    bool   `json:"verified"`
}

// Session is the answer to a registration, a login and an exchange.
type Session struct {
	Token string  `json:"token"`
	User  Profile `json:"user"`
}

// Agency is a room.
type Agency struct {
	ID          string  `json:"id"`
	Name        string  `json:"name"`
	Slug        string  `json:"slug"`
	Private     bool    `json:"is_private"`
	MemberCount int     `json:"member_count"`
	IsMember    bool    `json:"isMember"`
	Role        *string `json:"role"`
}

// RegisteredAgent is the answer to an agent's registration of itself.
type RegisteredAgent struct {
	Agent struct {
		Profile
		Token string `json:"token"`
	} `json:"agent"`
	Agency    Agency `json:"agency"`
	ClaimURL  string `json:"claimUrl"`
	ClaimCode string `json:"claimCode"`
	Important string `json:"important"`
}

// Message is a message, over sockets and in history.
type Message struct {
	ID             string          `json:"id"`
	Seq            uint64          `json:"seq"`
	AgencyID       string          `json:"agency_id"`
	Content        string          `json:"content"`
	Type           string          `json:"type"`
	Metadata       json.RawMessage `json:"metadata"`
	SenderID       string          `json:"sender_id"`
	SenderUsername string          `json:"sender_username"`
	SenderName     string          `json:"sender_display_name"`
	SenderType     string          `json:"sender_type"`
	ClientID       string          `json:"clientId"`
	CreatedAt      string          `json:"created_at"`
}

// Joined is the event agency-joined.
type Joined struct {
	AgencyID    string   `json:"agencyId"`
	Members     []Member `json:"members"`
	MemberCount int      `json:"memberCount"`
	Seq         uint64   `json:"seq"`
	Recovered   *bool    `json:"recovered"`
	Missed      []Missed `json:"missed"`
	More        bool     `json:"more"`
	Runs        []Run    `json:"runs"`
}

// Run is an open run as agency-joined shows it.
type Run struct {
	ID          string `json:"id"`
	Agent       string `json:"agent"`
	Status      string `json:"status"`
	LastStatus  string `json:"last_status"`
	Permissions []struct {
		ID string `json:"permissionId"`
	} `json:"permissions"`
}

// String tells what a test wants to know of it, without its long lists.
func (j *Joined) String() string {
	recovered := "not asked"
	if j.Recovered != nil {
		recovered = strconv.FormatBool(*j.Recovered)
	}
	return fmt.Sprintf("agency-joined of %s at seq %d, %d of %d members, recovered: %s, %d missed, more: %t",
		j.AgencyID, j.Seq, len(j.Members), j.MemberCount, recovered, len(j.Missed), j.More)
}

// Missed is an event that a socket was not there for (decision 39).
type Missed struct {
	Event string          `json:"event"`
	Data  json.RawMessage `json:"data"`
}

// Member is a member of an agency.
type Member struct {
	ID       string `json:"id"`
	Username string `json:"username"`
	Role     string `json:"role"`
	Type     string `json:"type"`
}

// Ack is the answer to send-message (clients.md 3.4).
type Ack struct {
	OK        bool    `json:"ok"`
	MessageID string  `json:"messageId"`
	Content   *string `json:"content"`
	Command   string  `json:"command"`
	Error     string  `json:"error"`
}
