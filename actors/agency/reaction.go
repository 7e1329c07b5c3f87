package agency

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"parley/actors/account"
	"parley/actors/kernel"
	"parley/persistence"
)

// Limits of reactions (decision 27).
const (
	// MaxReactions is the number of different emoji on one message. Any number of members may use each.
	MaxReactions = 50
	// ShownReactors is how many of those who reacted a message names, the first ones.
	ShownReactors = 20
)

// Reaction is one emoji on a message: how many members reacted with it, and the ids of the first of them.
type Reaction struct {
	Emoji string   `json:"emoji"`
	Count int64    `json:"count"`
	Users []string `json:"users"`
}

// Reactions are those of one message, the oldest emoji first. None are an empty list in JSON.
type Reactions []Reaction

// MarshalJSON never renders null.
func (r Reactions) MarshalJSON() ([]byte, error) {
	if len(r) == 0 {
		return []byte("[]"), nil
	}
	return encodeJSON([]Reaction(r)), nil
}

// DecodeReactions reads a document of CollectionTally.
func DecodeReactions(doc []byte) (Reactions, error) {
	var r Reactions
	if err := json.Unmarshal(doc, &r); err != nil {
		return nil, fmt.Errorf("reactions: %w", err)
	}
	return r, nil
}

func (r Reactions) of(emoji string) int {
	return slices.IndexFunc(r, func(one Reaction) bool { return one.Emoji == emoji })
}

// Where the reactions stand in the JSON of a stored message, which never has any of its own: behind all that clients
// made as JSON, so that it is found from the end.
var (
	noReactions  = []byte(`,"reactions":[],"sender_id":"`)
	senderBehind = []byte(`,"sender_id":"`)
)

// ShowReactions puts the reactions of a message, a document of CollectionTally, into the message's document.
func ShowReactions(message, tally []byte) []byte {
	at, length := bytes.LastIndex(message, noReactions), len(noReactions)-len(senderBehind)
	if at < 0 {
		at, length = bytes.LastIndex(message, senderBehind), 0
	}
	if at < 0 {
		return message
	}
	out := make([]byte, 0, len(message)+len(tally)+len(noReactions))
	out = append(out, message[:at]...)
	out = append(append(out, `,"reactions":`...), tally...)
	return append(out, message[at+length:]...)
}

// React adds a reaction to a message or takes one back; members may. Doing it again changes nothing. It answers with
// *Reacted; CodeTaken when MaxReactions other emoji are there.
type React struct {
	Who       account.Sender
	MessageID string
	Emoji     string // see CheckEmoji
	Remove    bool
}

// Reacted is the answer to React: how many react with the emoji now, and all reactions of the message.
type Reacted struct {
	MessageID string
	Emoji     string
	Count     int64
	Reactions Reactions
}

// reacted is the body of evReacted.
type reacted struct {
	MessageID string     `json:"messageId"`
	Emoji     string     `json:"emoji"`
	Count     int64      `json:"count"` // after it
	By        WireSender `json:"user"`
	Added     bool       `json:"added"`
}

// Keys of CollectionReaction: by account, with the reaction's place in the log as its value, and in the order of the log,
// with the account.
func reactionPrefix(agency string, seq uint64) string { return persistence.SeqKey(agency, seq) + "/" }

func byReactor(prefix, account, emoji string) string { return prefix + "a/" + account + "/" + emoji }

func inOrder(prefix, emoji string, place uint64) string {
	return fmt.Sprintf("%se/%s/%016x", prefix, emoji, place)
}

// standing is what is known of a message when somebody reacts to it.
type standing struct {
	message *Message
	mine    uint64 // place of the reaction of who asks; 0: none
	first   []string
}

func (a *Agency) react(t *kernel.Turn, c React) {
	if err := CheckEmoji(c.Emoji); err != nil {
		t.Fail(err)
		return
	}
	a.withMessage(t, c.Who.ID, c.MessageID, func(_ MemberRecord, seq uint64, leave func()) {
		kernel.Load(t, func(ctx context.Context, s persistence.Store) (standing, error) {
			return readStanding(ctx, s, t.ID(), seq, c)
		}, func(now standing, err error) {
			defer leave()
			if err == nil {
				err = a.still(seq)
			}
			switch {
			case err != nil:
				t.Fail(err)
			case (now.mine == 0) == c.Remove: // it is so already
				t.Reply(standsAt(c, now.message.Reactions))
			case c.Remove:
				a.unreact(t, c, seq, now)
			case now.message.Reactions.of(c.Emoji) < 0 && len(now.message.Reactions) >= MaxReactions:
				t.Fail(kernel.Fail(kernel.CodeTaken, "this message has %d different reactions already; use one of them", MaxReactions))
			default:
				a.addReaction(t, c, seq, now)
			}
		})
	})
}

func readStanding(ctx context.Context, s persistence.Store, agency string, seq uint64, c React) (now standing, err error) {
	if now.message, err = readMessage(ctx, s, agency, seq, c.MessageID); err != nil {
		return now, err
	}
	prefix := reactionPrefix(agency, seq)
	doc, err := s.Document(ctx, persistence.CollectionReaction, byReactor(prefix, c.Who.ID, c.Emoji))
	if errors.Is(err, persistence.ErrNotFound) {
		return now, nil
	}
	if err == nil {
		_, err = fmt.Sscanf(string(doc), "%x", &now.mine)
	}
	if err != nil || !c.Remove {
		return now, err
	}
	// One more than are shown: who leaves may be among them.
	rows, err := s.Documents(ctx, persistence.CollectionReaction, persistence.Range{Prefix: prefix + "e/" + c.Emoji + "/", Limit: ShownReactors + 1})
	for _, r := range rows {
		now.first = append(now.first, string(r.Data))
	}
	return now, err
}

func standsAt(c React, r Reactions) *Reacted {
	out := &Reacted{MessageID: c.MessageID, Emoji: c.Emoji, Reactions: r}
	if i := r.of(c.Emoji); i >= 0 {
		out.Count = r[i].Count
	}
	return out
}

func (a *Agency) addReaction(t *kernel.Turn, c React, seq uint64, now standing) {
	place, _ := t.Next()
	r := now.message.Reactions
	i := r.of(c.Emoji)
	if i < 0 {
		i = len(r)
		r = append(r, Reaction{Emoji: c.Emoji})
	}
	if r[i].Count++; len(r[i].Users) < ShownReactors {
		r[i].Users = append(r[i].Users, c.Who.ID)
	}
	prefix := reactionPrefix(t.ID(), seq)
	a.commitReaction(t, c, seq, r, []persistence.DocumentOp{
		{Collection: persistence.CollectionReaction, Key: byReactor(prefix, c.Who.ID, c.Emoji), Data: fmt.Appendf(nil, "%x", place)},
		{Collection: persistence.CollectionReaction, Key: inOrder(prefix, c.Emoji, place), Data: []byte(c.Who.ID)},
	})
}

func (a *Agency) unreact(t *kernel.Turn, c React, seq uint64, now standing) {
	r := now.message.Reactions
	if i := r.of(c.Emoji); i >= 0 {
		r[i].Count--
		r[i].Users = slices.DeleteFunc(now.first, func(id string) bool { return id == c.Who.ID })
		r[i].Users = r[i].Users[:min(len(r[i].Users), ShownReactors)]
		if r[i].Count <= 0 {
			r = slices.Delete(r, i, i+1)
		}
	}
	prefix := reactionPrefix(t.ID(), seq)
	a.commitReaction(t, c, seq, r, []persistence.DocumentOp{
		{Collection: persistence.CollectionReaction, Key: byReactor(prefix, c.Who.ID, c.Emoji)},
		{Collection: persistence.CollectionReaction, Key: inOrder(prefix, c.Emoji, now.mine)},
	})
}

func (a *Agency) commitReaction(t *kernel.Turn, c React, seq uint64, r Reactions, rows []persistence.DocumentOp) {
	answer := standsAt(c, r)
	tally := persistence.DocumentOp{Collection: persistence.CollectionTally, Key: persistence.SeqKey(t.ID(), seq)}
	if len(r) > 0 {
		tally.Data = encodeJSON(r)
	}
	body := reacted{MessageID: c.MessageID, Emoji: c.Emoji, Count: answer.Count, By: wire(c.Who), Added: !c.Remove}
	a.commit(t, kernel.Change{Events: []persistence.Event{event(evReacted, body)}, Documents: append(rows, tally)},
		func() { t.Reply(answer) }, nil)
}

// droppedReactions is the number of documents of reactions that one change deletes.
const droppedReactions = 1000

// UnreactEntry is the id of the outbox entry that promises to drop what is left of the reactions to a deleted message.
func UnreactEntry(agency string, seq uint64) string {
	return UnreactPrefix + persistence.SeqKey(agency, seq)
}

// UnreactPrefix begins the ids of UnreactEntry.
const UnreactPrefix = "unreact/"

// DropReactions takes one step of dropping the reactions to a deleted message. It answers with Purged.
type DropReactions struct{ Entry string } // of UnreactEntry

// Creates implements kernel.Creator: the promise is fulfilled in any case.
func (DropReactions) Creates() {}

func (a *Agency) dropReactions(t *kernel.Turn, c DropReactions) {
	over := func() {
		var change kernel.Change
		fulfil(&change, c.Entry)
		t.Commit(change, func() { t.Reply(Purged{Over: true}) }, nil)
	}
	if !a.s.exists() || !strings.HasPrefix(c.Entry, UnreactPrefix+t.ID()+"/") { // what ends an agency drops its reactions
		over()
		return
	}
	prefix := strings.TrimPrefix(c.Entry, UnreactPrefix) + "/"
	a.purges.Enter(struct{}{}, func() {
		t.AfterCommits(func() {
			kernel.Load(t, func(ctx context.Context, s persistence.Store) ([]persistence.Document, error) {
				return s.Documents(ctx, persistence.CollectionReaction, persistence.Range{Prefix: prefix, Limit: droppedReactions})
			}, func(rows []persistence.Document, err error) {
				defer a.purges.Leave(struct{}{})
				switch {
				case err != nil:
					t.Fail(err)
				case len(rows) == 0:
					over()
				default:
					t.Commit(kernel.Change{Documents: drop(persistence.CollectionReaction, rows)}, func() { t.Reply(Purged{}) }, nil)
				}
			})
		})
	})
}

// drop deletes documents.
func drop(collection string, rows []persistence.Document) []persistence.DocumentOp {
	ops := make([]persistence.DocumentOp, len(rows))
	for i, d := range rows {
		ops[i] = persistence.DocumentOp{Collection: collection, Key: d.Key}
	}
	return ops
}
