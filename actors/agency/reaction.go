package agency

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
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

// wall is what the actor knows of a message's reactions, committed or not. What it holds does not change: it is replaced.
type wall struct {
	message   string // id
	reactions Reactions
}

// mark is where a reaction of one account that is not yet committed stands in the log, and at which event it came there
// or went.
type mark struct {
	place uint64 // 0: taken back
	at    uint64
}

func (a *Agency) react(t *kernel.Turn, c React) {
	if err := CheckEmoji(c.Emoji); err != nil {
		a.refuse(t, c.Who.ID, err)
		return
	}
	a.atMessage(t, c.Who.ID, c.MessageID, func(_ MemberRecord, seq uint64, leave func()) {
		w, known := a.walls.Get(seq)
		err := a.still(c.Who.ID, seq)
		if err == nil && known && w.message != c.MessageID {
			err = errNoMessage()
		}
		switch {
		case err != nil:
			t.Fail(err)
			leave()
		case known:
			a.withMark(t, c, seq, leave, w)
		default:
			a.loadMessage(t, c.Who.ID, seq, c.MessageID, leave, func(m *Message) {
				w := &wall{message: m.ID, reactions: m.Reactions}
				a.walls.Add(seq, w)
				a.withMark(t, c, seq, leave, w)
			})
		}
	})
}

// withMark finds out whether the account has reacted so before: a mark that is not remembered is committed, or there is
// none.
func (a *Agency) withMark(t *kernel.Turn, c React, seq uint64, leave func(), w *wall) {
	key := byReactor(reactionPrefix(t.ID(), seq), c.Who.ID, c.Emoji)
	if m, ok := a.marks[key]; ok {
		a.decide(t, c, seq, leave, w, m.place)
		return
	}
	kernel.Load(t, func(ctx context.Context, s persistence.Store) (place uint64, err error) {
		doc, err := s.Document(ctx, persistence.CollectionReaction, key)
		if errors.Is(err, persistence.ErrNotFound) {
			return 0, nil
		}
		if err == nil {
			place, err = strconv.ParseUint(string(doc), 16, 64)
		}
		return place, err
	}, func(place uint64, err error) {
		if err == nil {
			err = a.still(c.Who.ID, seq)
		}
		if err != nil {
			t.Fail(err)
			leave()
			return
		}
		a.decide(t, c, seq, leave, w, place)
	})
}

// decide carries a reaction out. place is where the same one of this account stands, 0 for none.
func (a *Agency) decide(t *kernel.Turn, c React, seq uint64, leave func(), w *wall, place uint64) {
	i := w.reactions.of(c.Emoji)
	switch {
	case (place == 0) == c.Remove: // it is so already
		answer := standsAt(c, w.reactions)
		t.AfterCommits(func() { t.Reply(answer) })
	case !c.Remove && i < 0 && len(w.reactions) >= MaxReactions:
		t.Fail(kernel.Fail(kernel.CodeTaken, "this message has %d different reactions already; use one of them", MaxReactions))
	case !c.Remove:
		next, _ := t.Next()
		a.commitReaction(t, c, seq, w.reactions.with(c.Emoji, c.Who.ID), next)
	case i >= 0 && w.reactions[i].Count > ShownReactors && slices.Contains(w.reactions[i].Users, c.Who.ID):
		a.moveUp(t, c, seq, leave, w, place)
		return
	case i >= 0:
		a.commitReaction(t, c, seq, w.reactions.without(i, c.Who.ID, w.reactions[i].Users), place)
	default:
		t.Fail(fmt.Errorf("reaction %q of %s is not counted", c.Emoji, c.MessageID))
	}
	leave()
}

// moveUp takes back the reaction of one who is shown while others are not: the next one takes the place.
func (a *Agency) moveUp(t *kernel.Turn, c React, seq uint64, leave func(), w *wall, place uint64) {
	line := persistence.Range{Prefix: reactionPrefix(t.ID(), seq) + "e/" + c.Emoji + "/", Limit: ShownReactors + 1}
	t.AfterCommits(func() {
		kernel.Load(t, func(ctx context.Context, s persistence.Store) (first []string, err error) {
			rows, err := s.Documents(ctx, persistence.CollectionReaction, line)
			for _, r := range rows {
				first = append(first, string(r.Data))
			}
			return first, err
		}, func(first []string, err error) {
			defer leave()
			if err == nil {
				err = a.still(c.Who.ID, seq)
			}
			if err != nil {
				t.Fail(err)
				return
			}
			a.commitReaction(t, c, seq, w.reactions.without(w.reactions.of(c.Emoji), c.Who.ID, first), place)
		})
	})
}

// with returns the reactions with one more.
func (r Reactions) with(emoji, account string) Reactions {
	r = slices.Clone(r)
	i := r.of(emoji)
	if i < 0 {
		i = len(r)
		r = append(r, Reaction{Emoji: emoji})
	}
	if r[i].Count++; len(r[i].Users) < ShownReactors {
		r[i].Users = append(slices.Clone(r[i].Users), account)
	}
	return r
}

// without returns the reactions with one less; first are those who reacted first, or all of them.
func (r Reactions) without(i int, account string, first []string) Reactions {
	r = slices.Clone(r)
	if r[i].Count--; r[i].Count <= 0 {
		return slices.Delete(r, i, i+1)
	}
	users := slices.DeleteFunc(slices.Clone(first), func(id string) bool { return id == account })
	r[i].Users = users[:min(len(users), ShownReactors)]
	return r
}

func standsAt(c React, r Reactions) *Reacted {
	out := &Reacted{MessageID: c.MessageID, Emoji: c.Emoji, Reactions: r}
	if i := r.of(c.Emoji); i >= 0 {
		out.Count = r[i].Count
	}
	return out
}

// commitReaction commits that the reaction at a place came or went, and what the message shows after it.
func (a *Agency) commitReaction(t *kernel.Turn, c React, seq uint64, r Reactions, place uint64) {
	at, _ := t.Next()
	prefix, answer := reactionPrefix(t.ID(), seq), standsAt(c, r)
	key := byReactor(prefix, c.Who.ID, c.Emoji)
	own := persistence.DocumentOp{Collection: persistence.CollectionReaction, Key: key}
	line := persistence.DocumentOp{Collection: persistence.CollectionReaction, Key: inOrder(prefix, c.Emoji, place)}
	tally := persistence.DocumentOp{Collection: persistence.CollectionTally, Key: persistence.SeqKey(t.ID(), seq)}
	m := mark{at: at}
	if !c.Remove {
		m.place, own.Data, line.Data = place, fmt.Appendf(nil, "%x", place), []byte(c.Who.ID)
	}
	if len(r) > 0 {
		tally.Data = encodeJSON(r)
	}
	a.walls.Add(seq, &wall{message: c.MessageID, reactions: r})
	a.marks[key] = m
	body := reacted{MessageID: c.MessageID, Emoji: c.Emoji, Count: answer.Count, By: wire(c.Who), Added: !c.Remove}
	a.commit(t, kernel.Change{Events: []persistence.Event{event(evReacted, body)}, Documents: []persistence.DocumentOp{own, line, tally}}, func() {
		if a.marks[key] == m {
			delete(a.marks, key)
		}
		t.Reply(answer)
	}, nil)
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
