package account

import (
	"time"

	"parley/actors/kernel"
	"parley/persistence"
)

// SessionSlack is how much longer than SessionLife an agent's session lasts that is extended while it is connected: one
// write a day keeps it alive, and after the connection it has its SessionLife still before it (decision 11).
const SessionSlack = 24 * time.Hour

// ExtendSession makes an agent's session last for SessionLife and SessionSlack from now on. It is for sessions with a live
// connection, so it revives one that has just expired. It answers with the new end, an int64 in ms; CodeNotFound when the
// session was ended, CodeForbidden for a user's.
type ExtendSession struct{ ID string }

func (a *Account) extendSession(t *kernel.Turn, c ExtendSession) {
	i := a.s.session(c.ID)
	switch {
	case i < 0:
		t.Fail(kernel.NotFound("there is no such session"))
		return
	case a.s.Type != Agent:
		t.Fail(kernel.Forbidden("only agents' sessions are extended"))
		return
	}
	hash, expires := a.s.Sessions[i].Hash, t.Now().Add(SessionLife+SessionSlack).UnixMilli()
	t.Commit(kernel.Change{
		Events: []persistence.Event{event(sessionExtended, extension{c.ID, expires})},
		Claims: []persistence.ClaimOp{tokenClaim(t.ID(), hash, Credential{Kind: SessionCredential, ID: c.ID}, expires)},
	}, func() { t.Reply(expires) }, nil)
}
