package agency

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"parley/actors/account"
	"parley/actors/kernel"
	"parley/persistence"
)

// BanRecord is the document of a ban. The zero record is that of an account which is not banned.
type BanRecord struct {
	Reason string     `json:"reason,omitempty"`
	By     WireSender `json:"by"`
	At     int64      `json:"at"`              // ms
	Until  int64      `json:"until,omitempty"` // ms; 0: for ever
}

// Encode returns the document.
func (b BanRecord) Encode() []byte {
	doc, err := json.Marshal(b)
	if err != nil {
		panic(err) // strings and numbers always encode
	}
	return doc
}

// DecodeBan reads a document.
func DecodeBan(doc []byte) (BanRecord, error) {
	var b BanRecord
	if err := json.Unmarshal(doc, &b); err != nil {
		return b, fmt.Errorf("ban record: %w", err)
	}
	return b, nil
}

// Holds reports whether the ban is in force.
func (b BanRecord) Holds(now time.Time) bool {
	return b.At != 0 && (b.Until == 0 || b.Until > now.UnixMilli())
}

// refusal is what is said of a banned account: "you are banned …".
func (b BanRecord) refusal(who string) error {
	text := who + " banned from this agency"
	if until := account.FormatTime(b.Until); until != nil {
		text += " until " + *until
	}
	if b.Reason != "" {
		text += ": " + b.Reason
	}
	return kernel.Forbidden("%s", text)
}

// BanView is a ban as moderators see it.
type BanView struct {
	ID           string       `json:"id"` // of the account
	Username     string       `json:"username"`
	DisplayName  string       `json:"displayName"`
	DisplayName2 string       `json:"display_name"`
	Type         account.Type `json:"type"`
	IsAgent      bool         `json:"is_agent"`
	Reason       *string      `json:"reason"`
	By           WireSender   `json:"bannedBy"`
	By2          WireSender   `json:"banned_by"`
	CreatedAt    *string      `json:"createdAt"`
	CreatedAt2   *string      `json:"created_at"`
	ExpiresAt    *string      `json:"expiresAt"` // null: for ever
	ExpiresAt2   *string      `json:"expires_at"`
}

// NewBanView joins a ban with its account.
func NewBanView(s account.Sender, b BanRecord) BanView {
	v := BanView{ID: s.ID, Username: s.Username, DisplayName: s.DisplayName, DisplayName2: s.DisplayName, Type: s.Type,
		IsAgent: s.Type == account.Agent, By: b.By, By2: b.By, CreatedAt: account.FormatTime(b.At), ExpiresAt: account.FormatTime(b.Until)}
	if b.Reason != "" {
		v.Reason = &b.Reason
	}
	v.CreatedAt2, v.ExpiresAt2 = v.CreatedAt, v.ExpiresAt
	return v
}

// Ban keeps an account out, member or not, by the rules of mayRemove. A ban that holds already is replaced. It answers
// with BanRecord.
type Ban struct {
	By, Target account.Sender
	Reason     string // up to MaxReason characters; empty for none
	Expires    string // see ParseExpiry
}

func (a *Agency) ban(t *kernel.Turn, c Ban) {
	reason, err := account.CheckText("reason", c.Reason, MaxReason)
	if err != nil {
		a.refuse(t, c.By.ID, err)
		return
	}
	until, err := ParseExpiry(c.Expires, t.Now())
	if err != nil {
		a.refuse(t, c.By.ID, err)
		return
	}
	a.moderated(t, c.By.ID, c.Target.ID, func(by, target MemberRecord) {
		if c.By.ID == c.Target.ID {
			t.Fail(kernel.Invalid("you can't ban yourself"))
			return
		}
		if err := mayRemove(by.Role, target.Role); err != nil {
			t.Fail(err)
			return
		}
		_, at := t.Next()
		actor := wire(c.By)
		b := BanRecord{Reason: reason, By: actor, At: at, Until: until}
		body := movement{Member: wire(c.Target), By: &actor, Reason: reason, Until: until}
		var change kernel.Change
		if target.Role != "" {
			change = a.departure(t, evBanned, target, body)
		} else {
			body.Count = a.s.MemberCount
			change.Events = []persistence.Event{event(evBanned, body)}
		}
		a.putBan(t, c.Target.ID, b, &change)
		a.commit(t, change, func() { t.Reply(b) }, nil)
	})
}

// Unban ends a ban; moderators may. It answers with kernel.Done; CodeNotFound when there is none that holds.
type Unban struct{ By, Target account.Sender }

func (a *Agency) unban(t *kernel.Turn, c Unban) {
	a.moderated(t, c.By.ID, c.Target.ID, func(by, _ MemberRecord) {
		if err := mayRemove(by.Role, ""); err != nil {
			t.Fail(err)
			return
		}
		a.withBan(t, c.Target.ID, func(_ MemberRecord, b BanRecord) {
			if now, known := a.members.Get(c.By.ID); !known || now.Role != by.Role {
				a.unban(t, c) // the moderator may be none any more
				return
			}
			if !b.Holds(t.Now()) {
				t.Fail(kernel.NotFound("this account is not banned"))
				return
			}
			actor := wire(c.By)
			change := kernel.Change{Events: []persistence.Event{event(evUnbanned, movement{Member: wire(c.Target),
				Count: a.s.MemberCount, By: &actor})}}
			a.putBan(t, c.Target.ID, BanRecord{}, &change)
			a.commit(t, change, func() { t.Reply(kernel.Done{}) }, nil)
		})
	})
}

// putBan adds to a change that an account is banned, or with the zero record that it is not.
func (a *Agency) putBan(t *kernel.Turn, account string, b BanRecord, change *kernel.Change) {
	op := persistence.DocumentOp{Collection: persistence.CollectionBan, Key: persistence.Key(t.ID(), account)}
	if b.At != 0 {
		op.Data = b.Encode()
	}
	change.Documents = append(change.Documents, op)
	a.bans.Add(account, b)
	a.banned++
}

// forgetBan adds to a change that the document of a ban which has run out goes, if there is one.
func (a *Agency) forgetBan(t *kernel.Turn, account string, change *kernel.Change) {
	if b, known := a.bans.Get(account); known && b.At != 0 {
		a.putBan(t, account, BanRecord{}, change)
	}
}

// withBan goes on with the membership and the ban of an account, both current. A member is not banned.
func (a *Agency) withBan(t *kernel.Turn, account string, next func(MemberRecord, BanRecord)) {
	a.withMember(t, account, func(m MemberRecord) {
		if b, known := a.bans.Get(account); known || m.Role != "" {
			next(m, b)
			return
		}
		t.AfterCommits(func() { a.readBan(t, account, next) })
	})
}

func (a *Agency) readBan(t *kernel.Turn, account string, next func(MemberRecord, BanRecord)) {
	key, before := persistence.Key(t.ID(), account), a.banned
	kernel.Load(t, func(ctx context.Context, s persistence.Store) (BanRecord, error) {
		doc, err := s.Document(ctx, persistence.CollectionBan, key)
		if errors.Is(err, persistence.ErrNotFound) {
			return BanRecord{}, nil
		}
		if err != nil {
			return BanRecord{}, err
		}
		return DecodeBan(doc)
	}, func(b BanRecord, err error) {
		if err == nil {
			err = a.ended()
		}
		if err != nil {
			t.Fail(err)
			return
		}
		if a.banned == before { // else it may be another by now, and is read again
			a.bans.Add(account, b)
		}
		a.withBan(t, account, next)
	})
}
