package agency

import (
	"context"

	"parley/actors/account"
	"parley/actors/kernel"
	"parley/actors/search"
	"parley/persistence"
)

// clearPage is the number of messages that one step of clearing a direct message deletes: each is an event of the log.
const clearPage = 200

// ClearDM deletes all messages of a direct message that are there now; either side may. From its commit on they can't be
// changed any more, and steps of ClearMessages, which it promises, delete them. It answers with kernel.Done.
type ClearDM struct{ By account.Sender }

// clearing is the body of evCleared.
type clearing struct {
	UpTo uint64     `json:"upTo"`
	By   WireSender `json:"by"`
}

// ClearPrefix begins the ids of ClearEntry.
const ClearPrefix = "clear/"

// ClearEntry is the id of the outbox entry that promises the clearing of a direct message.
func ClearEntry(agency string) string { return ClearPrefix + agency }

func (a *Agency) clearDM(t *kernel.Turn, c ClearDM) {
	a.withParticipant(t, c.By.ID, func() {
		if a.s.Messages == 0 {
			t.AfterCommits(func() { t.Reply(kernel.Done{}) })
			return
		}
		a.commit(t, kernel.Change{
			Events: []persistence.Event{event(evCleared, clearing{UpTo: a.last(t), By: wire(c.By)})},
			Outbox: []persistence.OutboxOp{{ID: ClearEntry(t.ID()), Data: []byte("{}")}},
		}, func() { t.Reply(kernel.Done{}) }, nil)
	})
}

// ClearMessages takes one step of the clearing. Each message goes with an event of its deletion. It answers with Purged;
// the caller asks until all is gone.
type ClearMessages struct{}

// Creates implements kernel.Creator: the promise of a clearing is fulfilled in any case.
func (ClearMessages) Creates() {}

// cleared is a page of what a clearing deletes.
type cleared struct {
	messages             []*Message
	rows, tallies, reacs []persistence.Document
}

func (c *cleared) empty() bool { return len(c.rows)+len(c.tallies)+len(c.reacs) == 0 }

func (a *Agency) clearMessages(t *kernel.Turn) {
	if !a.s.exists() { // what ends an agency deletes its messages
		a.clearOver(t)
		return
	}
	upTo := a.s.Cleared // whatever has its place up to here is committed when the step begins
	a.purges.Enter(struct{}{}, func() {
		t.AfterCommits(func() {
			id := t.ID()
			kernel.Load(t, func(ctx context.Context, s persistence.Store) (cleared, error) {
				return readCleared(ctx, s, id, upTo)
			}, func(page cleared, err error) {
				defer a.purges.Leave(struct{}{})
				switch {
				case err != nil:
					t.Fail(err)
				case !a.s.exists():
					a.clearOver(t)
				case page.empty() && a.s.Cleared == upTo:
					a.clearWords(t)
				case page.empty(): // another clearing has begun meanwhile
					t.Reply(Purged{})
				default:
					a.clearRows(t, &page)
				}
			})
		})
	})
}

func readCleared(ctx context.Context, s persistence.Store, id string, upTo uint64) (page cleared, err error) {
	r := persistence.Range{Prefix: id + "/", Before: persistence.SeqKey(id, upTo+1), Limit: clearPage}
	if page.rows, err = s.Documents(ctx, persistence.CollectionMessage, r); err != nil {
		return page, err
	}
	for _, d := range page.rows {
		m, err := DecodeMessage(d.Data)
		if err != nil {
			return page, err
		}
		page.messages = append(page.messages, m)
	}
	if page.tallies, err = s.Documents(ctx, persistence.CollectionTally, r); err != nil {
		return page, err
	}
	r.Limit = droppedReactions
	page.reacs, err = s.Documents(ctx, persistence.CollectionReaction, r)
	return page, err
}

func (a *Agency) clearRows(t *kernel.Turn, page *cleared) {
	var c kernel.Change
	for _, m := range page.messages {
		c.Events = append(c.Events, deletionOf(m, a.s.ClearedBy))
	}
	c.Documents = append(drop(persistence.CollectionMessage, page.rows), drop(persistence.CollectionTally, page.tallies)...)
	c.Documents = append(c.Documents, drop(persistence.CollectionReaction, page.reacs)...)
	if n := len(page.messages); n > 0 {
		c.Counters = []persistence.CounterOp{{Name: persistence.CountMessages, Delta: -int64(n)}}
	}
	a.commit(t, c, func() { t.Reply(Purged{}) }, nil)
}

// clearWords drops the index of words, a page at a time. It will be made anew of what was posted since: the cursor goes back
// to the beginning with the words.
func (a *Agency) clearWords(t *kernel.Turn) {
	if a.words.busy { // with words that are going to be dropped
		t.AfterCommits(func() { t.Reply(Purged{}) })
		return
	}
	a.words.busy = true
	id := t.ID()
	kernel.Load(t, func(ctx context.Context, s persistence.Store) ([]persistence.Document, error) {
		return search.Words(ctx, s, id, purgeWords)
	}, func(words []persistence.Document, err error) {
		if err != nil || len(words) == 0 || !a.s.exists() {
			a.words.busy = false
			if err != nil {
				t.Fail(err)
				return
			}
			a.clearOver(t)
			return
		}
		t.Commit(kernel.Change{Documents: append(drop(persistence.CollectionWord, words), search.Reach(id, 0))}, func() {
			a.words = wordIndex{known: true}
			t.Reply(Purged{})
		}, nil)
	})
}

func (a *Agency) clearOver(t *kernel.Turn) {
	var c kernel.Change
	fulfil(&c, ClearEntry(t.ID()))
	t.Commit(c, func() { t.Reply(Purged{Over: true}) }, nil)
}
