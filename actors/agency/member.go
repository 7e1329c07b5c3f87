package agency

import (
	"context"
	"errors"
	"strings"

	"parley/actors/account"
	"parley/actors/kernel"
	"parley/persistence"
)

// withMember goes on with the membership of an account (a zero record for a stranger), read if it is not remembered.
// Commands that concern the same unread account keep their order.
func (a *Agency) withMember(t *kernel.Turn, account string, next func(MemberRecord)) {
	a.lookUp(t, account, func(m MemberRecord, err error) {
		if err != nil {
			t.Fail(err)
			return
		}
		next(m)
	})
}

// lookUp is withMember for those who have something to do when it fails, as it does when the agency has ended meanwhile.
func (a *Agency) lookUp(t *kernel.Turn, account string, next func(MemberRecord, error)) {
	if m, ok := a.members.Get(account); ok {
		next(m, nil)
		return
	}
	a.loads.Enter(account, func() {
		if m, ok := a.members.Get(account); ok { // one in front has read it
			next(m, a.ended())
			a.loads.Leave(account)
			return
		}
		t.AfterCommits(func() { a.readMember(t, account, next) })
	})
}

// ended is the error for those who come back from a read to an agency that is there no more.
func (a *Agency) ended() error {
	if a.s.exists() {
		return nil
	}
	return errNotFound()
}

// refuse answers a command that is wrong in itself. Strangers to a private agency learn from it no more than from a right
// one: that there is none (decision 3). The id of a direct message can be told from its two accounts, so that an answer of
// its own would say who talks with whom.
func (a *Agency) refuse(t *kernel.Turn, account string, err error) {
	if !a.s.Private {
		t.Fail(err)
		return
	}
	a.withMember(t, account, func(m MemberRecord) {
		if m.Role == "" {
			err = errNotFound()
		}
		t.Fail(err)
	})
}

// stillIn is the error for a member that comes back from a read and is none any more: it left, or was made to, meanwhile.
// Whatever it does from then on would come behind its departure in the log.
func (a *Agency) stillIn(account string) error {
	if err := a.ended(); err != nil {
		return err
	}
	if m, known := a.members.Get(account); known && m.Role == "" {
		return a.errOutsider()
	}
	return nil
}

func (a *Agency) readMember(t *kernel.Turn, account string, next func(MemberRecord, error)) {
	key := persistence.Key(t.ID(), account)
	kernel.Load(t, func(ctx context.Context, s persistence.Store) (MemberRecord, error) {
		doc, err := s.Document(ctx, persistence.CollectionMember, key)
		if errors.Is(err, persistence.ErrNotFound) {
			return MemberRecord{}, nil
		}
		if err != nil {
			return MemberRecord{}, err
		}
		return DecodeMember(doc)
	}, func(m MemberRecord, err error) {
		defer a.loads.Leave(account)
		if err == nil {
			a.members.Add(account, m)
			err = a.ended()
		}
		next(m, err)
	})
}

// Enter admits an account to the agency: a member as it is, a stranger to a public one by making it a member
// (clients.md 3.2, join-agency). It answers with *Entered.
type Enter struct {
	Who account.Sender
	// Member admits members alone: to everybody else there is no such agency.
	Member bool
}

// Bounded implements kernel.Bounded: a connection or request waits for its own.
func (Enter) Bounded() {}

// Entered is the answer to Enter.
type Entered struct {
	Record Record
	Role   Role
	Joined bool // it was no member before
	// Last is the last event of the log that was considered: a later one may have ended the membership again.
	Last uint64
}

func (a *Agency) enter(t *kernel.Turn, c Enter) {
	a.withBan(t, c.Who.ID, func(m MemberRecord, b BanRecord) {
		switch {
		case m.Role != "":
			a.welcome(t, m)
		case a.s.Private, c.Member:
			t.Fail(errNotFound())
		case b.Holds(t.Now()):
			t.Fail(b.refusal("you are"))
		default:
			change, entered := a.admission(t, c.Who)
			a.commit(t, change, func() { a.settleIn(t, c.Who, entered) }, nil)
		}
	})
}

// welcome answers one who is a member already.
func (a *Agency) welcome(t *kernel.Turn, m MemberRecord) {
	e := &Entered{Record: a.s.Record, Role: m.Role, Last: a.last(t)}
	t.AfterCommits(func() { t.Reply(e) })
}

// last is the position of the log that the state is at, committed or not.
func (a *Agency) last(t *kernel.Turn) uint64 {
	next, _ := t.Next()
	return next - 1
}

// AddMember makes an account a member on the word of one who may; see decision 14 for agents. It answers with *Entered.
type AddMember struct {
	Who  account.Sender
	By   string // must be a member; empty: the server itself
	Done string // outbox entry that this fulfils, if any
}

func (a *Agency) addMember(t *kernel.Turn, c AddMember) {
	if c.By != "" {
		a.withMember(t, c.By, func(m MemberRecord) {
			if err := a.mayManage(m, Member); err != nil {
				t.Fail(err)
				return
			}
			c.By = ""
			a.addMember(t, c)
		})
		return
	}
	a.withBan(t, c.Who.ID, func(m MemberRecord, b BanRecord) {
		switch {
		case m.Role == "" && b.Holds(t.Now()):
			t.Fail(b.refusal(c.Who.Username + " is"))
		case m.Role == "":
			change, entered := a.admission(t, c.Who)
			fulfil(&change, c.Done)
			a.commit(t, change, func() { a.settleIn(t, c.Who, entered) }, nil)
		case c.Done == "":
			a.welcome(t, m)
		default:
			var change kernel.Change
			fulfil(&change, c.Done)
			e := &Entered{Record: a.s.Record, Role: m.Role, Last: a.last(t)}
			t.Commit(change, func() { t.Reply(e) }, nil)
		}
	})
}

// admission is the change that makes a stranger a member, and the answer once it is committed.
func (a *Agency) admission(t *kernel.Turn, who account.Sender) (kernel.Change, *Entered) {
	seq, at := t.Next()
	m := MemberRecord{Role: Member, JoinedAt: at}
	if who.Type == account.Agent {
		m.Role = AgentRole
	}
	r := a.s.Record
	r.MemberCount++
	change := kernel.Change{
		Events:    []persistence.Event{event(evJoined, movement{Member: wire(who), Role: m.Role, Count: r.MemberCount})},
		Documents: append(memberDocuments(t.ID(), who.ID, &m), countDocuments(&a.s.Record, &r)...),
		Counters:  []persistence.CounterOp{{Name: persistence.CountMemberships, Delta: 1}},
	}
	a.forgetBan(t, who.ID, &change)
	a.members.Add(who.ID, m)
	return change, &Entered{Record: r, Role: m.Role, Joined: true, Last: seq}
}

// Leave ends a membership by the member's own will. It answers with kernel.Done; CodeTaken for the last owner
// (decision 41), CodeForbidden in the Lobby.
type Leave struct{ Who account.Sender }

func (a *Agency) leave(t *kernel.Turn, c Leave) {
	a.withMember(t, c.Who.ID, func(m MemberRecord) {
		switch {
		case m.Role == "" && a.s.Private:
			t.Fail(errNotFound())
		case m.Role == "":
			t.Fail(kernel.Forbidden("you are not a member of this agency"))
		case a.s.Kind == Lobby:
			t.Fail(kernel.Forbidden("the Lobby can't be left"))
		case m.Role == Owner && a.s.owners() == 1:
			t.Fail(kernel.Fail(kernel.CodeTaken, "the last owner can't leave: transfer the agency or delete it"))
		default:
			by := wire(c.Who)
			a.commit(t, a.removal(t, c.Who, m, &by, false), func() { t.Reply(kernel.Done{}) }, nil)
		}
	})
}

// removal is the change that ends a membership by the member's own will or end.
func (a *Agency) removal(t *kernel.Turn, who account.Sender, m MemberRecord, by *WireSender, silent bool) kernel.Change {
	return a.departure(t, evLeft, m, movement{Member: wire(who), By: by, Silent: silent})
}

// departure is the change that ends a membership; b lacks only role and count.
func (a *Agency) departure(t *kernel.Turn, kind string, m MemberRecord, b movement) kernel.Change {
	r := a.s.Record
	r.MemberCount--
	b.Role, b.Count = m.Role, r.MemberCount
	a.members.Add(b.Member.ID, MemberRecord{})
	return kernel.Change{
		Events:    []persistence.Event{event(kind, b)},
		Documents: append(memberDocuments(t.ID(), b.Member.ID, nil), countDocuments(&a.s.Record, &r)...),
		Counters:  []persistence.CounterOp{{Name: persistence.CountMemberships, Delta: -1}},
	}
}

// Forget ends the membership of an account that is being deleted. What it owned alone passes to the longest-standing
// admin, else moderator, else member; with nobody left the agency ends (decision 9). It answers with kernel.Done.
type Forget struct{ Who account.Sender }

func (a *Agency) forget(t *kernel.Turn, c Forget) {
	if !a.s.exists() {
		t.Reply(kernel.Done{})
		return
	}
	a.withMember(t, c.Who.ID, func(m MemberRecord) {
		switch {
		case m.Role == "":
			t.Reply(kernel.Done{})
		case a.s.Kind == DM:
			a.forgetDM(t, c.Who, m)
		case m.Role == Owner && a.s.owners() == 1:
			a.pass(t, c.Who, m)
		default:
			a.commit(t, a.removal(t, c.Who, m, nil, true), func() { t.Reply(kernel.Done{}) }, nil)
		}
	})
}

// heir is who an agency passes to.
type heir struct {
	who account.Sender
	was MemberRecord
}

// pass hands the agency to an heir and removes its last owner.
func (a *Agency) pass(t *kernel.Turn, who account.Sender, m MemberRecord) {
	next := a.heirOfStaff(who.ID)
	was := a.s.Staff[next]
	t.AfterCommits(func() {
		kernel.Load(t, func(ctx context.Context, s persistence.Store) (h heir, err error) {
			if next == "" {
				next, was, err = longestStanding(ctx, s, t.ID(), who.ID)
			}
			if err != nil || next == "" {
				return h, err
			}
			h = heir{account.Sender{ID: next}, was}
			if doc, err := s.Document(ctx, persistence.CollectionAccount, next); err == nil {
				if p, err := account.DecodeProfile(doc); err == nil {
					h.who = p.Sender()
				}
			}
			return h, nil
		}, func(h heir, err error) { a.passTo(t, who, m, h, err) })
	})
}

// heirOfStaff returns the longest-standing admin, else moderator, other than the leaver.
func (a *Agency) heirOfStaff(leaver string) string {
	heir := ""
	for id, m := range a.s.Staff {
		h := a.s.Staff[heir]
		if id != leaver && (heir == "" || m.Role.Rank() > h.Role.Rank() || m.Role == h.Role && m.JoinedAt < h.JoinedAt) {
			heir = id
		}
	}
	return heir
}

// longestStanding walks the members of an agency for the one who joined first.
func longestStanding(ctx context.Context, s persistence.Store, agency, leaver string) (best string, rec MemberRecord, err error) {
	after := ""
	for {
		page, err := s.Documents(ctx, persistence.CollectionMember, persistence.Range{Prefix: agency + "/", After: after, Limit: 1000})
		if err != nil || len(page) == 0 {
			return best, rec, err
		}
		for _, d := range page {
			after = d.Key
			id := strings.TrimPrefix(d.Key, agency+"/")
			m, err := DecodeMember(d.Data)
			if err != nil {
				return "", rec, err
			}
			if id != leaver && (best == "" || m.JoinedAt < rec.JoinedAt) {
				best, rec = id, m
			}
		}
	}
}

func (a *Agency) passTo(t *kernel.Turn, who account.Sender, m MemberRecord, h heir, err error) {
	now, known := a.members.Get(who.ID)
	chosen, seen := a.members.Get(h.who.ID)
	switch {
	case err != nil:
		t.Fail(err)
	case !a.s.exists():
		t.Reply(kernel.Done{})
	case known && now.Role != Owner, a.s.owners() > 1:
		a.forget(t, Forget{Who: who}) // it owns the agency alone no more
	case h.who.ID != "" && seen && chosen.Role == "":
		a.pass(t, who, m) // the heir has left meanwhile
	case h.who.ID == "":
		by := wire(who)
		a.end(t, &by, a.removal(t, who, m, nil, true), func() { t.Reply(kernel.Done{}) })
	default:
		change := a.removal(t, who, m, nil, true)
		next := MemberRecord{Role: Owner, JoinedAt: h.was.JoinedAt}
		a.members.Add(h.who.ID, next)
		change.Documents = append(change.Documents, memberDocuments(t.ID(), h.who.ID, &next)...)
		change.Events = append(change.Events, event(evRole, movement{Member: wire(h.who), Role: Owner, Was: h.was.Role,
			Count: a.s.MemberCount - 1, Silent: true}))
		a.commit(t, change, func() { t.Reply(kernel.Done{}) }, nil)
	}
}
