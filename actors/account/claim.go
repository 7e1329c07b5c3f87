package account

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"parley/actors/kernel"
	"parley/persistence"
)

// Limits of requests to claim an agent (rest.md, Limits).
const (
	ClaimLife        = time.Hour
	MaxPendingClaims = 3 // of one user
	// claimKnown is how long the link of a claim is told from an unknown one after it has expired.
	claimKnown = 7 * 24 * time.Hour
	// claimToken is the length of the token in the link, in random bytes.
	claimToken = 24
)

// NewVerifyToken returns a fresh token for the link of a claim's mail: 48 hex digits.
func NewVerifyToken() string { return randomHex(claimToken) }

// pendingClaim is a request to claim an agent that waits for its e-mail verification.
type pendingClaim struct {
	ID      string `json:"i"`
	Agent   string `json:"a"`
	Hash    string `json:"h"`           // of the token in the link
	Sealed  []byte `json:"s,omitempty"` // a ClaimLetter, until the mail is sent
	Expires int64  `json:"e"`
	Tries   int    `json:"t,omitempty"` // to send the mail
	NextTry int64  `json:"n,omitempty"`
}

// ClaimLetter is what the mail of a claim needs besides the agent.
type ClaimLetter struct {
	Email string `json:"e"`
	Token string `json:"t"`
}

// ClaimTicket is what the hash of a link's token tells.
type ClaimTicket struct {
	Request string `json:"r"`
	Agent   string `json:"a"`
	Expires int64  `json:"e"` // ms
}

// ReadClaimTicket decodes the data of a link's claim.
func ReadClaimTicket(data []byte) (ClaimTicket, error) {
	var c ClaimTicket
	if err := json.Unmarshal(data, &c); err != nil {
		return c, fmt.Errorf("claim ticket: %w", err)
	}
	return c, nil
}

// RequestClaim begins the claim of an agent by a user. It answers with kernel.Done; CodeLimited with MaxPendingClaims
// pending. The outbox carries the mail and the end of the request.
type RequestClaim struct {
	ID      string
	Agent   string
	Expires time.Time
	Letter  ClaimLetter
	Outbox  []persistence.OutboxOp
}

// TryClaimMail asks for what is to be mailed, and counts the try before it is made. It answers with *ClaimMail;
// CodeNotFound when the request is over, CodeTaken when it is not time for another try.
type TryClaimMail struct {
	ID   string
	Next time.Time            // of the next try, if this one fails
	Keep persistence.OutboxOp // the errand with the time of the next try
}

// ClaimMail is the answer to TryClaimMail.
type ClaimMail struct {
	ClaimLetter
	Agent   string
	Expires int64 // ms
	Tries   int   // this one included
}

// ClaimMailed forgets the text of the mail, which is sent. It answers with kernel.Done.
type ClaimMailed struct {
	ID    string
	Entry string // the errand that is done
}

// SettleClaim ends a request, however it ended. It answers with kernel.Done, also when it is over already.
type SettleClaim struct {
	ID      string
	Entries []string // errands that are done with it
}

// mailTry is the body of the event claimMailTried.
type mailTry struct {
	ID   string `json:"i"`
	Next int64  `json:"n"`
}

func claimPurpose(user, request string) string { return "claim-letter/" + user + "/" + request }

func (a *Account) requestClaim(t *kernel.Turn, c RequestClaim) {
	if a.s.Type != User {
		t.Fail(kernel.Forbidden("only users can claim agents"))
		return
	}
	now := t.Now()
	change, left := a.settleExpired(now.UnixMilli())
	if left >= MaxPendingClaims {
		t.Fail(&kernel.Error{Code: kernel.CodeLimited, RetryAfter: a.firstExpiry(now),
			Message: fmt.Sprintf("you have %d claims that wait for their e-mail to be verified; that is as many as there may be", left)})
		return
	}
	letter, err := json.Marshal(c.Letter)
	if err != nil {
		panic(err) // two strings always encode
	}
	p := pendingClaim{ID: c.ID, Agent: c.Agent, Hash: persistence.HashToken(c.Letter.Token), Expires: c.Expires.UnixMilli(),
		Sealed: a.ports.Sealer.Seal(claimPurpose(t.ID(), c.ID), string(letter))}
	ticket, err := json.Marshal(ClaimTicket{Request: c.ID, Agent: c.Agent, Expires: p.Expires})
	if err != nil {
		panic(err) // strings and numbers always encode
	}
	change.Events = append(change.Events, event(claimRequested, p))
	change.Claims = append(change.Claims, persistence.ClaimOp{Index: persistence.ClaimVerify, Key: p.Hash, Owner: t.ID(), Data: ticket,
		Expires: c.Expires.Add(claimKnown).UnixMilli()})
	change.Counters = append(change.Counters, persistence.CounterOp{Name: persistence.CountPendingClaims, Delta: 1})
	change.Outbox = append(change.Outbox, c.Outbox...)
	t.Commit(change, func() { t.Reply(kernel.Done{}) }, nil)
}

// settleExpired ends the requests whose time is over, and says how many are left.
func (a *Account) settleExpired(now int64) (change kernel.Change, left int) {
	for _, p := range a.s.Claims {
		if p.Expires > now {
			left++
			continue
		}
		change.Events = append(change.Events, event(claimSettled, idOnly{p.ID}))
		change.Counters = append(change.Counters, persistence.CounterOp{Name: persistence.CountPendingClaims, Delta: -1})
	}
	return change, left
}

// firstExpiry is how long it takes until the first pending request expires.
func (a *Account) firstExpiry(now time.Time) time.Duration {
	wait := ClaimLife
	for _, p := range a.s.Claims {
		if left := time.UnixMilli(p.Expires).Sub(now); left > 0 {
			wait = min(wait, left)
		}
	}
	return wait
}

func (a *Account) tryClaimMail(t *kernel.Turn, c TryClaimMail) {
	i := a.s.claim(c.ID)
	now := t.Now().UnixMilli()
	switch {
	case i < 0 || a.s.Claims[i].Sealed == nil || a.s.Claims[i].Expires <= now:
		t.Fail(kernel.NotFound("there is no such request"))
		return
	case a.s.Claims[i].NextTry > now:
		t.Fail(kernel.Fail(kernel.CodeTaken, "it is not time for another try"))
		return
	}
	p := a.s.Claims[i]
	plain, err := a.ports.Sealer.Open(claimPurpose(t.ID(), p.ID), p.Sealed)
	if err != nil {
		t.Fail(err)
		return
	}
	mail := &ClaimMail{Agent: p.Agent, Expires: p.Expires, Tries: p.Tries + 1}
	if err := json.Unmarshal([]byte(plain), &mail.ClaimLetter); err != nil {
		t.Fail(err)
		return
	}
	t.Commit(kernel.Change{
		Events: []persistence.Event{event(claimMailTried, mailTry{p.ID, c.Next.UnixMilli()})},
		Outbox: []persistence.OutboxOp{c.Keep},
	}, func() { t.Reply(mail) }, nil)
}

func (a *Account) claimMailed(t *kernel.Turn, c ClaimMailed) {
	change := kernel.Change{Outbox: []persistence.OutboxOp{{ID: c.Entry, Done: true}}}
	if a.s.claim(c.ID) >= 0 {
		change.Events = []persistence.Event{event(claimMailed, idOnly{c.ID})}
	}
	t.Commit(change, func() { t.Reply(kernel.Done{}) }, nil)
}

func (a *Account) settleClaim(t *kernel.Turn, c SettleClaim) {
	var change kernel.Change
	if a.s.claim(c.ID) >= 0 {
		change.Events = []persistence.Event{event(claimSettled, idOnly{c.ID})}
		change.Counters = []persistence.CounterOp{{Name: persistence.CountPendingClaims, Delta: -1}}
	}
	for _, entry := range c.Entries {
		change.Outbox = append(change.Outbox, persistence.OutboxOp{ID: entry, Done: true})
	}
	t.Commit(change, func() { t.Reply(kernel.Done{}) }, nil)
}

// endClaims adds to the end of a user's account that of its requests.
func (a *Account) endClaims(account string, change *kernel.Change) {
	for _, p := range a.s.Claims {
		change.Claims = append(change.Claims, persistence.ClaimOp{Index: persistence.ClaimVerify, Key: p.Hash, Owner: account, Release: true})
		change.Counters = append(change.Counters, persistence.CounterOp{Name: persistence.CountPendingClaims, Delta: -1})
	}
}

func (s *state) claim(id string) int {
	return slices.IndexFunc(s.Claims, func(p pendingClaim) bool { return p.ID == id })
}

func (s *state) applyClaim(kind string, decode func(any) error) error {
	if kind == claimRequested {
		var b pendingClaim
		if err := decode(&b); err != nil {
			return err
		}
		s.Claims = append(s.Claims, b)
		return nil
	}
	var b mailTry // its id is where idOnly has it too
	if err := decode(&b); err != nil {
		return err
	}
	i := s.claim(b.ID)
	switch {
	case i < 0:
	case kind == claimMailTried:
		s.Claims[i].Tries++
		s.Claims[i].NextTry = b.Next
	case kind == claimMailed:
		s.Claims[i].Sealed = nil
	default:
		s.Claims = slices.Delete(s.Claims, i, i+1)
	}
	return nil
}
