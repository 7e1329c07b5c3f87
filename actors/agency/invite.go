package agency

import (
	"crypto/rand"
	"encoding/base32"
	"encoding/json"
	"slices"
	"strings"

	"parley/actors/account"
	"parley/actors/kernel"
	"parley/persistence"
)

// Limits of invites.
const (
	// MaxInvites is the number of usable invites of one agency.
	MaxInvites = 100
	// keptInvites is the number of invites that an agency remembers, with used up and expired ones: those are told from
	// unknown ones until newer ones take their place.
	keptInvites = 2 * MaxInvites
	// MaxUses is the largest number of uses that an invite can be limited to.
	MaxUses = 1_000_000

	inviteBytes = 10 // random bytes of a code: too many to be guessed
)

var inviteAlphabet = base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding)

// NewInviteCode returns a fresh code: 16 lower-case letters and digits.
func NewInviteCode() string {
	b := make([]byte, inviteBytes)
	_, _ = rand.Read(b) // never fails
	return inviteAlphabet.EncodeToString(b)
}

// ParseInviteCode brings a code into the form in which it was made; ok is false for what can't be one.
func ParseInviteCode(s string) (code string, ok bool) {
	s = strings.ToLower(strings.TrimSpace(s))
	b, err := inviteAlphabet.DecodeString(s)
	return s, err == nil && len(b) == inviteBytes && inviteAlphabet.EncodeToString(b) == s
}

// Invite lets whoever has its code become a member (rest.md, Invite).
type Invite struct {
	Code      string     `json:"code"`
	MaxUses   int64      `json:"max,omitempty"` // 0: unlimited
	Uses      int64      `json:"uses,omitempty"`
	ExpiresAt int64      `json:"expires,omitempty"` // ms; 0: never
	CreatedAt int64      `json:"created"`           // ms
	CreatedBy WireSender `json:"by"`
}

// spent says why the invite can't be redeemed any more; nil when it can.
func (i *Invite) spent(now int64) error {
	switch {
	case i.MaxUses != 0 && i.Uses >= i.MaxUses:
		return kernel.Fail(kernel.CodeGone, "this invite has been used up")
	case i.ExpiresAt != 0 && i.ExpiresAt <= now:
		return kernel.Fail(kernel.CodeGone, "this invite has expired")
	default:
		return nil
	}
}

// InviteView is an invite as clients see it.
type InviteView struct {
	Invite
	Active bool // it can be redeemed
}

// MarshalJSON renders the view in both spellings (clients.md 2.3). Without a limit max_uses is null.
func (v InviteView) MarshalJSON() ([]byte, error) {
	var most *int64
	if v.MaxUses != 0 {
		most = &v.MaxUses
	}
	expires, created := account.FormatTime(v.ExpiresAt), account.FormatTime(v.CreatedAt)
	return json.Marshal(map[string]any{
		"code": v.Code, "invite_code": v.Code, "inviteCode": v.Code, "max_uses": most, "maxUses": most, "uses": v.Uses,
		"expires_at": expires, "expiresAt": expires, "created_at": created, "createdAt": created,
		"created_by": v.CreatedBy, "createdBy": v.CreatedBy, "active": v.Active,
	})
}

// invitation is the body of evInvited, evRevoked and evRedeemed.
type invitation struct {
	Invite  Invite      `json:"invite"` // after the event
	By      *WireSender `json:"by,omitempty"`
	Member  *WireSender `json:"member,omitempty"`  // who redeemed it
	Dropped []string    `json:"dropped,omitempty"` // codes that made way for a new one
}

func (s *state) invite(kind string, b invitation) {
	gone := append(b.Dropped, b.Invite.Code)
	i := slices.IndexFunc(s.Invites, func(i Invite) bool { return i.Code == b.Invite.Code })
	if kind == evRedeemed {
		if i >= 0 {
			s.Invites[i].Uses = b.Invite.Uses
		}
		return
	}
	s.Invites = slices.DeleteFunc(s.Invites, func(i Invite) bool { return slices.Contains(gone, i.Code) })
	if kind == evInvited {
		s.Invites = append(s.Invites, b.Invite)
	}
}

// inviteClaims takes or releases the codes of invites.
func inviteClaims(agency string, invites []Invite, release bool) []persistence.ClaimOp {
	ops := make([]persistence.ClaimOp, len(invites))
	for i, inv := range invites {
		ops[i] = persistence.ClaimOp{Index: persistence.ClaimInvite, Key: inv.Code, Owner: agency, Release: release}
	}
	return ops
}

// invites begins what only owners and admins may do.
func (a *Agency) invites(t *kernel.Turn, by string, next func()) {
	if a.s.Kind == Lobby {
		t.Fail(kernel.Forbidden("the Lobby is open to everybody and has no invites"))
		return
	}
	a.withMember(t, by, func(m MemberRecord) {
		if err := a.mayManage(m, Admin); err != nil {
			t.Fail(err)
			return
		}
		next()
	})
}

// CreateInvite makes an invite; admins and owners may. It answers with InviteView; CodeTaken when MaxInvites can be
// redeemed already.
type CreateInvite struct {
	By      account.Sender
	Code    string // of NewInviteCode
	MaxUses *int64 // 1 to MaxUses; nil: unlimited
	Expires string // see ParseExpiry
}

func (a *Agency) createInvite(t *kernel.Turn, c CreateInvite) {
	inv := Invite{Code: c.Code, CreatedAt: t.Now().UnixMilli(), CreatedBy: wire(c.By)}
	if c.MaxUses != nil {
		if inv.MaxUses = *c.MaxUses; inv.MaxUses < 1 || inv.MaxUses > MaxUses {
			a.refuse(t, c.By.ID, kernel.Invalid("maxUses must be between 1 and %d; leave it out for no limit", MaxUses))
			return
		}
	}
	var err error
	if inv.ExpiresAt, err = ParseExpiry(c.Expires, t.Now()); err != nil {
		a.refuse(t, c.By.ID, err)
		return
	}
	a.invites(t, c.By.ID, func() {
		dropped, full := a.makeWay(inv.CreatedAt)
		if full {
			t.Fail(kernel.Fail(kernel.CodeTaken, "this agency has %d invites that can be redeemed; revoke one first", MaxInvites))
			return
		}
		body := invitation{Invite: inv, By: &inv.CreatedBy}
		for _, d := range dropped {
			body.Dropped = append(body.Dropped, d.Code)
		}
		a.commit(t, kernel.Change{
			Events: []persistence.Event{event(evInvited, body)},
			Claims: append(inviteClaims(t.ID(), []Invite{inv}, false), inviteClaims(t.ID(), dropped, true)...),
		}, func() { t.Reply(InviteView{Invite: inv, Active: true}) }, nil)
	})
}

// makeWay returns the oldest spent invite when no more are remembered, and whether there are too many usable ones.
func (a *Agency) makeWay(now int64) (dropped []Invite, full bool) {
	live, oldest := 0, -1
	for i := range a.s.Invites {
		switch {
		case a.s.Invites[i].spent(now) == nil:
			live++
		case oldest < 0:
			oldest = i
		}
	}
	if live >= MaxInvites {
		return nil, true
	}
	if len(a.s.Invites) >= keptInvites { // more than half of them are spent
		dropped = []Invite{a.s.Invites[oldest]}
	}
	return dropped, false
}

// ListInvites answers with []InviteView, the newest first; admins and owners may.
type ListInvites struct{ By account.Sender }

func (a *Agency) listInvites(t *kernel.Turn, c ListInvites) {
	a.invites(t, c.By.ID, func() {
		now := t.Now().UnixMilli()
		views := make([]InviteView, 0, len(a.s.Invites))
		for _, inv := range slices.Backward(a.s.Invites) {
			views = append(views, InviteView{Invite: inv, Active: inv.spent(now) == nil})
		}
		t.AfterCommits(func() { t.Reply(views) })
	})
}

func errNoInvite() error { return kernel.NotFound("there is no such invite") }

// RevokeInvite makes a code worthless; admins and owners may. It answers with kernel.Done.
type RevokeInvite struct {
	By   account.Sender
	Code string
}

func (a *Agency) revokeInvite(t *kernel.Turn, c RevokeInvite) {
	a.invites(t, c.By.ID, func() {
		inv := a.s.inviteOf(c.Code)
		if inv == nil {
			t.Fail(errNoInvite())
			return
		}
		by := wire(c.By)
		a.commit(t, kernel.Change{
			Events: []persistence.Event{event(evRevoked, invitation{Invite: *inv, By: &by})},
			Claims: inviteClaims(t.ID(), []Invite{*inv}, true),
		}, func() { t.Reply(kernel.Done{}) }, nil)
	})
}

// inviteOf finds an invite by its code; nil for none.
func (s *state) inviteOf(code string) *Invite {
	for i := range s.Invites {
		if s.Invites[i].Code == code {
			return &s.Invites[i]
		}
	}
	return nil
}

// Redeem makes an account a member by an invite. A member stays one and uses nothing up. It answers with *Entered;
// CodeNotFound for an unknown code, CodeGone for a spent one, CodeForbidden for the banned.
type Redeem struct {
	Who  account.Sender
	Code string
}

func (a *Agency) redeem(t *kernel.Turn, c Redeem) {
	a.withBan(t, c.Who.ID, func(m MemberRecord, b BanRecord) {
		inv := a.s.inviteOf(c.Code)
		switch {
		case inv == nil:
			t.Fail(errNoInvite())
		case m.Role != "":
			a.welcome(t, m)
		case b.Holds(t.Now()):
			t.Fail(b.refusal("you are"))
		default:
			if err := inv.spent(t.Now().UnixMilli()); err != nil {
				t.Fail(err)
				return
			}
			used, member := *inv, wire(c.Who)
			used.Uses++
			change, entered := a.admission(t, c.Who)
			change.Events = append(change.Events, event(evRedeemed, invitation{Invite: used, Member: &member}))
			a.commit(t, change, func() { a.settleIn(t, c.Who, entered) }, nil)
		}
	})
}
