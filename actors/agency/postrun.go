package agency

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"

	"parley/actors/account"
	"parley/actors/kernel"
	"parley/persistence"
)

// Limits of messages that runs make (decision 21).
const (
	MaxRunContent  = 256 << 10 // bytes; longer texts are cut (decision 40)
	MaxRunMetadata = 256 << 10 // bytes of JSON; larger metadata is left out
)

// truncatedKey is the metadata key that says that a message was cut (decision 21).
const truncatedKey = "truncated"

// RunMessage is what a run streamed to its end.
type RunMessage struct {
	ID       string          `json:"id"`  // made by the client: a UUID, but of no version that carries a place
	RunID    string          `json:"run"` // becomes metadata.run_id
	Content  string          `json:"content"`
	Metadata json.RawMessage `json:"metadata,omitempty"` // an object, or a text that holds one; empty for none
}

// Check applies the limits and returns the message in its final form: a text that is too long is cut, metadata that is too
// large is replaced, and both are told by metadata.truncated. What was checked once passes unchanged. An id that can't be
// one and metadata that is no object are CodeInvalid, and so is a text with nothing in it.
func (m RunMessage) Check() (RunMessage, error) {
	if !IsClientID(m.ID) {
		return m, kernel.Invalid("messageId must be a UUID of a version other than 8")
	}
	m.Content = strings.ToValidUTF8(m.Content, "\uFFFD")
	if m.Empty() {
		return m, kernel.Invalid("content must have something to read")
	}
	keys, _, raw, err := readMetadata(m.Metadata)
	if err != nil {
		return m, err
	}
	if nesting(raw) > MaxNesting {
		return m, errNesting()
	}
	cut := string(keys[truncatedKey]) == "true" // what the check adds itself is not measured
	if cut {
		delete(keys, truncatedKey)
	}
	if len(encodeJSON(keys)) > MaxRunMetadata {
		keys, cut = map[string]json.RawMessage{}, true
	}
	if short := CutText(m.Content, MaxRunContent); short != m.Content {
		m.Content, cut = short, true
	}
	if cut {
		keys[truncatedKey] = json.RawMessage("true")
	}
	keys["run_id"] = encodeJSON(m.RunID)
	m.Metadata = encodeJSON(keys)
	return m, nil
}

// Empty reports whether there is nothing to read in the message, so that it can't be posted.
func (m RunMessage) Empty() bool {
	return !strings.ContainsFunc(m.Content, func(c rune) bool { return unicode.IsGraphic(c) && !unicode.IsSpace(c) })
}

// CutText returns the longest beginning of a text that has at most so many bytes and ends with a whole character.
func CutText(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	end := max(limit, 0)
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}

// PostRun posts a message of a run under the id that the client made. It answers with *Posted, Earlier when the same agent
// posted under that id before; CodeTaken when somebody else did, CodeGone when the message has been deleted since. Members
// only, as for Post.
type PostRun struct {
	Who account.Sender
	RunMessage
	Done string // outbox entry that this fulfils, if any
}

func (a *Agency) postRun(t *kernel.Turn, c PostRun) {
	m, err := c.RunMessage.Check()
	if err != nil {
		t.Fail(err)
		return
	}
	a.withMember(t, c.Who.ID, func(member MemberRecord) {
		switch {
		case member.Role == "":
			t.Fail(a.errOutsider())
			return
		case a.s.Kind == DM && a.s.MemberCount < 2:
			t.Fail(errAlone())
			return
		}
		key := "run/" + m.ID // ids of clientIds begin with the agency's id, a UUID
		a.posts.Enter(key, func() {
			t.AfterCommits(func() { a.findRunMessage(t, c, m, func() { a.posts.Leave(key) }) })
		})
	})
}

// errOutsider is told to those who want to post and are no members.
func (a *Agency) errOutsider() error {
	if a.s.Private {
		return errNotFound()
	}
	return kernel.Forbidden("you are not a member of this agency; join it first")
}

// earlierRun is what was found under an id.
type earlierRun struct {
	place   uint64 // 0: the id is free
	message *Message
	doc     []byte
}

// findRunMessage posts unless the id was used before.
func (a *Agency) findRunMessage(t *kernel.Turn, c PostRun, m RunMessage, leave func()) {
	kernel.Load(t, func(ctx context.Context, s persistence.Store) (e earlierRun, err error) {
		seq, err := PlaceOf(ctx, s, t.ID(), m.ID)
		if err != nil {
			if kernel.AsError(err).Code == kernel.CodeNotFound {
				err = nil
			}
			return e, err
		}
		e.place = seq
		e.doc, err = s.Document(ctx, persistence.CollectionMessage, persistence.SeqKey(t.ID(), seq))
		if errors.Is(err, persistence.ErrNotFound) {
			return e, nil
		}
		if err == nil {
			e.message, err = DecodeMessage(e.doc)
		}
		return e, err
	}, func(e earlierRun, err error) {
		defer leave()
		if err == nil {
			err = a.stillIn(c.Who.ID)
		}
		switch {
		case err != nil:
			t.Fail(err)
		case e.place == 0:
			a.appendRun(t, c, m)
		case e.message == nil, a.still(c.Who.ID, e.place) != nil:
			t.Fail(kernel.Fail(kernel.CodeGone, "this message was posted before and has been deleted since"))
		case e.message.SenderID != c.Who.ID:
			t.Fail(kernel.Fail(kernel.CodeTaken, "this messageId is taken"))
		default:
			var change kernel.Change
			fulfil(&change, c.Done)
			t.Commit(change, func() { t.Reply(&Posted{ID: e.message.ID, Seq: e.message.Seq, Message: e.doc, Earlier: true}) }, nil)
		}
	})
}

func (a *Agency) appendRun(t *kernel.Turn, c PostRun, m RunMessage) {
	seq, at := t.Next()
	msg := Message{ID: m.ID, Seq: seq, AgencyID: t.ID(), AgencyID2: t.ID(), Content: m.Content, Type: "chat", Metadata: m.Metadata, DM: a.s.Kind == DM,
		SenderID: c.Who.ID, SenderUsername: c.Who.Username, Username: c.Who.Username, SenderDisplayName: c.Who.DisplayName,
		SenderType: c.Who.Type, CreatedAt: *account.FormatTime(at)}
	data := msg.encode()
	change := kernel.Change{
		Events: []persistence.Event{{Kind: evMessage, Data: data}},
		Documents: []persistence.DocumentOp{{Collection: persistence.CollectionMessage, Key: persistence.SeqKey(t.ID(), seq), Data: data},
			aliasDocument(t.ID(), m.ID, seq)},
		Counters: []persistence.CounterOp{{Name: persistence.CountMessages, Delta: 1}},
	}
	fulfil(&change, c.Done)
	a.commit(t, change, func() { t.Reply(&Posted{ID: m.ID, Seq: seq, Message: data}) }, nil)
}
