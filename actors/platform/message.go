package platform

import (
	"context"
	"encoding/json"
	"time"

	"parley/actors/account"
	"parley/actors/agency"
	"parley/actors/command"
	"parley/actors/kernel"
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
type History struct {
	Limit         int
	Before, After string
	Ascending     bool
}

// Messages returns a page of an agency's history; members may read it.
func (p *Platform) Messages(ctx context.Context, id *Identity, agencyID string, h History) ([]json.RawMessage, error) {
	if _, _, err := p.membership(ctx, id, agencyID); err != nil {
		return nil, err
	}
	if h.Limit == 0 {
		h.Limit = DefaultHistory
	}
	r := persistence.Range{Prefix: agencyID + "/", Limit: min(max(h.Limit, 1), MaxHistory), Reverse: !h.Ascending}
	if h.Before != "" {
		seq, err := p.position(ctx, agencyID, "before", h.Before, false)
		if err != nil {
			return nil, err
		}
		r.Before = persistence.SeqKey(agencyID, seq)
	}
	if h.After != "" {
		seq, err := p.position(ctx, agencyID, "after", h.After, true)
		if err != nil {
			return nil, err
		}
		r.After = persistence.SeqKey(agencyID, seq)
	}
	rows, err := p.Store.Documents(ctx, persistence.CollectionMessage, r)
	if err != nil {
		return nil, kernel.AsError(err)
	}
	page, err := p.showSenders(ctx, rows)
	if err != nil {
		return nil, err
	}
	return p.showReactions(ctx, agencyID, page)
}

// showSenders renders a page; the senders of deleted accounts are shown as such.
func (p *Platform) showSenders(ctx context.Context, rows []persistence.Document) ([]json.RawMessage, error) {
	alive := map[string]bool{}
	page := make([]json.RawMessage, 0, len(rows))
	for _, d := range rows {
		var m struct {
			SenderID string `json:"sender_id"`
		}
		if err := json.Unmarshal(d.Data, &m); err != nil {
			return nil, kernel.AsError(err)
		}
		known, seen := alive[m.SenderID]
		if !seen {
			_, err := p.Profile(ctx, m.SenderID)
			if err != nil && !gone(err) {
				return nil, err
			}
			known = err == nil
			alive[m.SenderID] = known
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
	if seq, ok := agency.SeqOfMessageID(cursor); ok {
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
		m, err := agency.DecodeMessage(rows[0].Data)
		if err != nil {
			return 0, kernel.AsError(err)
		}
		if m.CreatedAt >= at {
			high = middle // between middle and m there is nothing
			continue
		}
		low = m.Seq + 1
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

// Command executes a slash command that was posted over REST; members may. What nobody handles is answered, not refused
// (clients.md 5.1).
func (p *Platform) Command(ctx context.Context, id *Identity, agencyID, content string) (command.Result, error) {
	if _, _, err := p.membership(ctx, id, agencyID); err != nil {
		return command.Result{}, err
	}
	return command.Unknown(content), nil
}
