package platform

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"parley/actors/account"
	"parley/actors/agency"
	"parley/actors/kernel"
	"parley/actors/search"
	"parley/persistence"
)

// Limits of history pages (decision 21).
const (
	DefaultHistory = 50
	MaxHistory     = 100
)

// deletedName is what history shows of a sender whose account is gone (decision 9).
const deletedName = agency.DeletedUsername

// History selects a page of messages: those before and after a message id or a time (both exclusive), the newest Limit of
// them newest first, or with Ascending the oldest Limit oldest first. Limit 0 means DefaultHistory.
//
// With Query only those count that have all its words, in any case, and its "phrases in quotes"; with Mentions only those
// that mention the username (clients.md 6.4). Queries without a word, or with more than search.MaxQuery, are CodeInvalid.
type History struct {
	Limit           int
	Before, After   string
	Ascending       bool
	Query, Mentions string
}

// Messages returns a page of an agency's history; members may read it.
func (p *Platform) Messages(ctx context.Context, id *Identity, agencyID string, h History) ([]json.RawMessage, error) {
	if _, _, err := p.membership(ctx, id, agencyID); err != nil {
		return nil, err
	}
	if h.Limit == 0 {
		h.Limit = DefaultHistory
	}
	h.Limit = min(max(h.Limit, 1), MaxHistory)
	bounds, err := p.bounds(ctx, agencyID, h)
	if err != nil {
		return nil, err
	}
	var rows []persistence.Document
	if h.Query != "" || h.Mentions != "" {
		rows, err = p.search(ctx, agencyID, h, bounds)
	} else {
		rows, err = p.page(ctx, agencyID, h, bounds)
	}
	if err != nil {
		return nil, kernel.AsError(err)
	}
	page, err := p.showSenders(ctx, rows)
	if err != nil {
		return nil, err
	}
	return page, p.showReactions(ctx, agencyID, rows, page)
}

// bounds are positions in the log, both exclusive; nil for none.
type bounds struct{ after, before *uint64 }

func (p *Platform) bounds(ctx context.Context, agencyID string, h History) (b bounds, err error) {
	if h.Before != "" {
		seq, err := p.position(ctx, agencyID, "before", h.Before, false)
		if err != nil {
			return b, err
		}
		b.before = &seq
	}
	if h.After != "" {
		seq, err := p.position(ctx, agencyID, "after", h.After, true)
		if err != nil {
			return b, err
		}
		b.after = &seq
	}
	return b, nil
}

func (p *Platform) page(ctx context.Context, agencyID string, h History, b bounds) ([]persistence.Document, error) {
	r := persistence.Range{Prefix: agencyID + "/", Limit: h.Limit, Reverse: !h.Ascending}
	if b.before != nil {
		r.Before = persistence.SeqKey(agencyID, *b.before)
	}
	if b.after != nil {
		r.After = persistence.SeqKey(agencyID, *b.after)
	}
	return p.Store.Documents(ctx, persistence.CollectionMessage, r)
}

// showSenders renders a page; the senders of deleted accounts are shown as such.
func (p *Platform) showSenders(ctx context.Context, rows []persistence.Document) ([]json.RawMessage, error) {
	alive := map[string]bool{} // read anew for each page: a name must not outlive its account
	page := make([]json.RawMessage, 0, len(rows))
	for _, d := range rows {
		sender, err := agency.SenderOf(d.Data)
		if err != nil {
			return nil, kernel.AsError(err)
		}
		known, seen := alive[sender]
		if !seen {
			_, err := p.Store.Document(ctx, persistence.CollectionAccount, sender)
			if err != nil && !errors.Is(err, persistence.ErrNotFound) {
				return nil, kernel.AsError(err)
			}
			known = err == nil
			alive[sender] = known
		}
		if known {
			page = append(page, d.Data)
			continue
		}
		shown, err := withoutSender(d.Data)
		if err != nil {
			return nil, kernel.AsError(err)
		}
		page = append(page, shown)
	}
	return page, nil
}

func withoutSender(doc []byte) (json.RawMessage, error) {
	m, err := agency.DecodeMessage(doc)
	if err != nil {
		return nil, err
	}
	m.SenderUsername, m.Username, m.SenderDisplayName = deletedName, deletedName, agency.DeletedDisplayName
	return json.Marshal(m)
}

// position turns a cursor, a message id or a time, into a place in the log. For a time it is that of the first message
// at or after it, or with upTo that of the last one at or before it.
func (p *Platform) position(ctx context.Context, agencyID, name, cursor string, upTo bool) (uint64, error) {
	if agency.IsMessageID(cursor) {
		seq, err := agency.PlaceOf(ctx, p.Store, agencyID, cursor)
		switch {
		case gone(err):
			return 0, kernel.Invalid("%s must be the id of a message or a time", name)
		case err != nil:
			return 0, kernel.AsError(err)
		}
		return seq, nil
	}
	at, err := parseTime(cursor)
	if err != nil {
		return 0, kernel.Invalid("%s must be the id of a message or a time", name)
	}
	if upTo {
		at = at.Add(time.Millisecond)
	}
	_, last, err := p.Store.Head(ctx, persistence.Stream(persistence.StreamAgency, agencyID))
	if err != nil {
		return 0, kernel.AsError(err)
	}
	seq, err := p.firstSince(ctx, agencyID, at.UTC().Format(account.TimeFormat), last+1)
	if err != nil || !upTo {
		return seq, err
	}
	return seq - 1, nil
}

func parseTime(s string) (time.Time, error) {
	return time.Parse(time.RFC3339Nano, s)
}

// firstSince finds the first message at or after a time by halving: times grow with the sequence (decision 21). end is
// behind the last message, and the answer when there is none.
func (p *Platform) firstSince(ctx context.Context, agencyID, at string, end uint64) (uint64, error) {
	low, high := uint64(1), end
	for low < high {
		middle := low + (high-low)/2
		rows, err := p.Store.Documents(ctx, persistence.CollectionMessage, persistence.Range{
			Prefix: agencyID + "/", After: persistence.SeqKey(agencyID, middle-1), Before: persistence.SeqKey(agencyID, high), Limit: 1})
		if err != nil {
			return 0, kernel.AsError(err)
		}
		if len(rows) == 0 {
			high = middle
			continue
		}
		created, err := agency.CreatedAtOf(rows[0].Data)
		if err != nil {
			return 0, kernel.AsError(err)
		}
		if created >= at {
			high = middle // between middle and this one there is nothing
			continue
		}
		seq, err := search.SeqOf(agencyID, rows[0].Key)
		if err != nil {
			return 0, kernel.AsError(err)
		}
		low = seq + 1
	}
	return high, nil
}

// Post posts a message; members may. earlier says that the clientId found the message of an earlier post.
func (p *Platform) Post(ctx context.Context, id *Identity, agencyID string, m agency.NewMessage) (json.RawMessage, bool, error) {
	posted, err := kernel.Ask[*agency.Posted](ctx, p.Directory, agency.Ref(agencyID), agency.Post{Who: id.Sender, NewMessage: m})
	if err != nil {
		return nil, false, kernel.AsError(err)
	}
	return posted.Message, posted.Earlier, nil
}

// EditMessage replaces the content of the caller's own message.
func (p *Platform) EditMessage(ctx context.Context, id *Identity, agencyID, messageID, content string) (json.RawMessage, error) {
	posted, err := kernel.Ask[*agency.Posted](ctx, p.Directory, agency.Ref(agencyID),
		agency.EditMessage{Who: id.Sender, MessageID: messageID, Content: content})
	if err != nil {
		return nil, kernel.AsError(err)
	}
	return posted.Message, nil
}

// DeleteMessage deletes the caller's own message, or as a moderator another's.
func (p *Platform) DeleteMessage(ctx context.Context, id *Identity, agencyID, messageID string) error {
	return p.tell(ctx, agency.Ref(agencyID), agency.DeleteMessage{Who: id.Sender, MessageID: messageID})
}
