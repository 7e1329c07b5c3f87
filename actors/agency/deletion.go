package agency

import (
	"context"
	"encoding/json"

	"parley/actors/account"
	"parley/actors/kernel"
	"parley/persistence"
)

// DeleteMessage removes a message: one's own, or as moderator or higher that of another of lower rank. It answers with
// kernel.Done.
type DeleteMessage struct {
	Who       account.Sender
	MessageID string
}

func (a *Agency) deleteMessage(t *kernel.Turn, c DeleteMessage) {
	a.openMessage(t, c.Who, c.MessageID, func(member MemberRecord, m *Message, leave func()) {
		if m.SenderID == c.Who.ID {
			a.dropMessage(t, c.Who, m, leave)
			return
		}
		a.lookUp(t, m.SenderID, func(sender MemberRecord, err error) {
			if now, known := a.members.Get(c.Who.ID); known {
				member = now // its role may be another since
			}
			if err == nil && (member.Role.Rank() < Moderator.Rank() || sender.Role.Rank() >= member.Role.Rank()) {
				err = kernel.Forbidden("only the sender, or a moderator of higher rank, can delete a message")
			}
			if err != nil {
				t.Fail(err)
				leave()
				return
			}
			a.dropMessage(t, c.Who, m, leave)
		})
	})
}

// dropMessage deletes an open message with its reactions: those that are too many for one change follow later.
func (a *Agency) dropMessage(t *kernel.Turn, who account.Sender, m *Message, leave func()) {
	if len(m.Reactions) == 0 {
		a.commitDrop(t, who, m, kernel.Change{})
		leave()
		return
	}
	kernel.Load(t, func(ctx context.Context, s persistence.Store) ([]persistence.Document, error) {
		return s.Documents(ctx, persistence.CollectionReaction,
			persistence.Range{Prefix: reactionPrefix(t.ID(), m.Seq), Limit: droppedReactions})
	}, func(rows []persistence.Document, err error) {
		defer leave()
		if err == nil {
			err = a.still(who.ID, m.Seq)
		}
		if err != nil {
			t.Fail(err)
			return
		}
		c := kernel.Change{Documents: drop(persistence.CollectionReaction, rows)}
		c.Documents = append(c.Documents, persistence.DocumentOp{Collection: persistence.CollectionTally, Key: persistence.SeqKey(t.ID(), m.Seq)})
		if len(rows) == droppedReactions {
			c.Outbox = []persistence.OutboxOp{{ID: UnreactEntry(t.ID(), m.Seq), Data: []byte("{}")}}
		}
		a.commitDrop(t, who, m, c)
	})
}

func (a *Agency) commitDrop(t *kernel.Turn, who account.Sender, m *Message, c kernel.Change) {
	c.Events = []persistence.Event{deletionOf(m, wire(who))}
	c.Documents = append(c.Documents, persistence.DocumentOp{Collection: persistence.CollectionMessage, Key: persistence.SeqKey(t.ID(), m.Seq)})
	c.Counters = []persistence.CounterOp{{Name: persistence.CountMessages, Delta: -1}}
	a.walls.Remove(m.Seq)
	a.commit(t, c, func() { t.Reply(kernel.Done{}) }, nil)
}

// deletionOf is the event of a message's deletion.
func deletionOf(m *Message, by WireSender) persistence.Event {
	told, err := json.Marshal(map[string]string{"id": m.ID, "content": m.Content, "type": m.Type, "created_at": m.CreatedAt})
	if err != nil {
		panic(err) // strings always encode
	}
	return event(evDeleted, deletion{MessageID: m.ID, By: by, Message: told})
}
