package agency

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"time"

	"parley/actors/account"
	"parley/actors/kernel"
	"parley/persistence"
)

// clientIDLife is how long a clientId finds its first message (decision 21).
const clientIDLife = 24 * time.Hour

// Post puts a message into the log. It answers with *Posted once the message is durable. Members only.
type Post struct {
	Who account.Sender
	NewMessage
}

// Posted is the answer to Post.
type Posted struct {
	ID      string
	Seq     uint64
	Message json.RawMessage // as clients get it
	Earlier bool            // the clientId found an earlier post; nothing was added
}

func (a *Agency) post(t *kernel.Turn, c Post) {
	m, err := c.NewMessage.Check()
	if err != nil {
		a.refuse(t, c.Who.ID, err)
		return
	}
	a.withMember(t, c.Who.ID, func(member MemberRecord) {
		switch {
		case member.Role == "":
			t.Fail(a.errOutsider())
		case a.s.Kind == DM && a.s.MemberCount < 2:
			t.Fail(errAlone())
		case m.ClientID != "":
			a.postOnce(t, c.Who, m)
		default:
			a.repliable(t, c.Who, m.ReplyTo, func(err error) {
				if err != nil {
					t.Fail(err)
					return
				}
				a.append(t, c.Who, m, nil, nil)
			})
		}
	})
}

// repliable goes on when the message that a post replies to is there, or when it replies to none.
func (a *Agency) repliable(t *kernel.Turn, who account.Sender, id string, next func(error)) {
	if id == "" {
		next(nil)
		return
	}
	kernel.Load(t, func(ctx context.Context, s persistence.Store) (*Message, error) {
		return ReadMessage(ctx, s, t.ID(), id)
	}, func(_ *Message, err error) {
		if e := kernel.AsError(err); e != nil && e.Code == kernel.CodeNotFound {
			err = kernel.Invalid("replyTo names no message of this agency")
		}
		if err == nil {
			err = a.stillIn(who.ID)
		}
		next(err)
	})
}

// append commits a message. refused puts a refusal of the store into words; nil: as it is.
func (a *Agency) append(t *kernel.Turn, who account.Sender, n NewMessage, claims []persistence.ClaimOp, refused func(error) error) {
	seq, at := t.Next()
	id := NewMessageID(at, seq)
	msg := Message{ID: id, Seq: seq, AgencyID: t.ID(), AgencyID2: t.ID(), Content: n.Content, Type: n.Type, Metadata: n.Metadata, DM: a.s.Kind == DM,
		SenderID: who.ID, SenderUsername: who.Username, Username: who.Username, SenderDisplayName: who.DisplayName,
		SenderType: who.Type, ReplyTo: n.ReplyTo, ClientID: n.ClientID, CreatedAt: *account.FormatTime(at)}
	data := msg.encode()
	a.commit(t, kernel.Change{
		Events:    []persistence.Event{{Kind: evMessage, Data: data}},
		Claims:    claims,
		Documents: []persistence.DocumentOp{{Collection: persistence.CollectionMessage, Key: persistence.SeqKey(t.ID(), seq), Data: data}},
		Counters:  []persistence.CounterOp{{Name: persistence.CountMessages, Delta: 1}},
	}, func() { t.Reply(&Posted{ID: id, Seq: seq, Message: data}) }, refused)
}

// recentPost is where a clientId was used, and until when it counts in milliseconds since 1970.
type recentPost struct {
	seq   uint64
	until int64
}

// postOnce posts unless the sender has posted the same clientId before.
func (a *Agency) postOnce(t *kernel.Turn, who account.Sender, m NewMessage) {
	key := t.ID() + "/" + who.ID + "/" + m.ClientID
	a.posts.Enter(key, func() {
		if p, ok := a.recent.Get(key); ok && t.Now().UnixMilli() < p.until {
			a.posts.Leave(key)
			a.replyEarlier(t, p.seq)
			return
		}
		kernel.Load(t, func(ctx context.Context, s persistence.Store) (uint64, error) {
			claim, err := s.Claim(ctx, persistence.ClaimPost, key)
			if errors.Is(err, persistence.ErrNotFound) || err == nil && len(claim.Data) != 8 {
				return 0, nil
			}
			if err != nil {
				return 0, err
			}
			return binary.BigEndian.Uint64(claim.Data), nil
		}, func(earlier uint64, err error) {
			if err == nil {
				err = a.stillIn(who.ID)
			}
			switch {
			case err != nil:
				a.posts.Leave(key)
				t.Fail(err)
			case earlier != 0:
				a.posts.Leave(key)
				a.replyEarlier(t, earlier)
			default:
				a.repliable(t, who, m.ReplyTo, func(err error) {
					if err != nil {
						a.posts.Leave(key)
						t.Fail(err)
						return
					}
					a.claimPost(t, who, m, key)
				})
			}
		})
	})
}

func (a *Agency) claimPost(t *kernel.Turn, who account.Sender, m NewMessage, key string) {
	seq, _ := t.Next()
	var place [8]byte
	binary.BigEndian.PutUint64(place[:], seq)
	until := t.Now().Add(clientIDLife).UnixMilli()
	claim := persistence.ClaimOp{Index: persistence.ClaimPost, Key: key, Owner: who.ID, Data: place[:], Expires: until}
	a.append(t, who, m, []persistence.ClaimOp{claim}, nil)
	a.recent.Add(key, recentPost{seq, until})
	a.posts.Leave(key)
}

// replyEarlier answers a repeated post with the first message.
func (a *Agency) replyEarlier(t *kernel.Turn, seq uint64) {
	key := persistence.SeqKey(t.ID(), seq)
	t.AfterCommits(func() {
		kernel.Load(t, func(ctx context.Context, s persistence.Store) ([]byte, error) {
			doc, err := s.Document(ctx, persistence.CollectionMessage, key)
			if err != nil {
				return nil, err
			}
			tally, err := s.Document(ctx, persistence.CollectionTally, key)
			if errors.Is(err, persistence.ErrNotFound) {
				return doc, nil
			}
			return ShowReactions(doc, tally), err
		}, func(doc []byte, err error) {
			var m *Message
			if err == nil {
				m, err = DecodeMessage(doc)
			}
			switch {
			case errors.Is(err, persistence.ErrNotFound):
				t.Fail(kernel.Fail(kernel.CodeGone, "this message was posted before and has been deleted since"))
			case err != nil:
				t.Fail(err)
			default:
				t.Reply(&Posted{ID: m.ID, Seq: m.Seq, Message: doc, Earlier: true})
			}
		})
	})
}

// EditMessage replaces the content of the sender's own message. It answers with *Posted (the message after the edit).
type EditMessage struct {
	Who       account.Sender
	MessageID string
	Content   string
}

// Edited is the event message-edited (decision 27).
type Edited struct {
	AgencyID  string          `json:"agencyId"`
	AgencyID2 string          `json:"agency_id"`
	MessageID string          `json:"messageId"`
	Content   string          `json:"content"`
	Metadata  json.RawMessage `json:"metadata"`
	EditedAt  string          `json:"edited_at"`
	Seq       uint64          `json:"seq"`
}

// atMessage lets a member at a message, one at a time; what is seen there may not be committed. next must call leave exactly
// once, after the change has been handed over or refused.
func (a *Agency) atMessage(t *kernel.Turn, who, id string, next func(member MemberRecord, seq uint64, leave func())) {
	a.withMember(t, who, func(member MemberRecord) {
		if member.Role == "" {
			t.Fail(a.mayManage(member, Member))
			return
		}
		if seq, ok := SeqOfMessageID(id); ok {
			a.openAt(member, seq, next)
			return
		}
		a.resolve(t, id, func(seq uint64) { a.openAt(member, seq, next) })
	})
}

func (a *Agency) openAt(member MemberRecord, seq uint64, next func(member MemberRecord, seq uint64, leave func())) {
	a.edits.Enter(seq, func() { next(member, seq, func() { a.edits.Leave(seq) }) })
}

// openMessage reads a message, with its reactions, for a change by a member, all of it committed; see atMessage.
func (a *Agency) openMessage(t *kernel.Turn, who account.Sender, id string, next func(member MemberRecord, m *Message, leave func())) {
	a.atMessage(t, who.ID, id, func(member MemberRecord, seq uint64, leave func()) {
		a.loadMessage(t, who.ID, seq, id, leave, func(m *Message) { next(member, m, leave) })
	})
}

// loadMessage reads a message for a member, all of it committed, and goes on while both are there; else it calls leave.
func (a *Agency) loadMessage(t *kernel.Turn, who string, seq uint64, id string, leave func(), next func(*Message)) {
	t.AfterCommits(func() {
		kernel.Load(t, func(ctx context.Context, s persistence.Store) (*Message, error) {
			return readMessage(ctx, s, t.ID(), seq, id)
		}, func(m *Message, err error) {
			if err == nil {
				err = a.still(who, seq)
			}
			if err != nil {
				t.Fail(err)
				leave()
				return
			}
			next(m)
		})
	})
}

// still is the error for members who come back from reading a message that is there no more, or are none any more, by
// what is known here.
func (a *Agency) still(who string, seq uint64) error {
	if seq <= a.s.Cleared && a.s.exists() {
		return errNoMessage()
	}
	return a.stillIn(who)
}

func errNoMessage() error { return kernel.NotFound("there is no such message") }

func readMessage(ctx context.Context, s persistence.Store, agency string, seq uint64, id string) (*Message, error) {
	doc, err := s.Document(ctx, persistence.CollectionMessage, persistence.SeqKey(agency, seq))
	if errors.Is(err, persistence.ErrNotFound) {
		return nil, errNoMessage()
	}
	if err != nil {
		return nil, err
	}
	m, err := DecodeMessage(doc)
	if err != nil {
		return nil, err
	}
	if m.ID != id {
		return nil, errNoMessage()
	}
	doc, err = s.Document(ctx, persistence.CollectionTally, persistence.SeqKey(agency, seq))
	if errors.Is(err, persistence.ErrNotFound) {
		return m, nil
	}
	if err == nil {
		m.Reactions, err = DecodeReactions(doc)
	}
	return m, err
}

func (a *Agency) editMessage(t *kernel.Turn, c EditMessage) {
	content, err := CheckContent(c.Content)
	if err != nil {
		a.refuse(t, c.Who.ID, err)
		return
	}
	a.openMessage(t, c.Who, c.MessageID, func(_ MemberRecord, m *Message, leave func()) {
		defer leave()
		if m.SenderID != c.Who.ID {
			t.Fail(kernel.Forbidden("only the sender can edit a message"))
			return
		}
		seq, at := t.Next()
		terms := a.editTerms(t.ID(), m.Seq, m.Content, content)
		m.Content, m.EditedAt = content, account.FormatTime(at)
		stored := *m
		stored.Reactions = nil
		data := m.encode()
		a.commit(t, kernel.Change{
			Events: []persistence.Event{event(evEdited, edition{By: wire(c.Who), Edited: Edited{AgencyID: t.ID(), AgencyID2: t.ID(),
				MessageID: m.ID, Content: content, Metadata: m.Metadata, EditedAt: *m.EditedAt, Seq: seq}})},
			Documents: append(terms, persistence.DocumentOp{Collection: persistence.CollectionMessage, Key: persistence.SeqKey(t.ID(), m.Seq), Data: stored.encode()}),
		}, func() { t.Reply(&Posted{ID: m.ID, Seq: m.Seq, Message: data}) }, nil)
	})
}
