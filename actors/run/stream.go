package run

import (
	"encoding/json"
	"unicode/utf8"

	"parley/actors/account"
	"parley/actors/agency"
	"parley/actors/kernel"
	"parley/persistence"
)

// MaxStreams is the number of messages that one run can stream.
const MaxStreams = 500

// Stream is a message that grows before the room's eyes. Its texts on the way are relayed (see growth) and not kept; with Done the agent
// posts it, under the id that the client made (clients.md 3.2), as a message like any other of up to agency.MaxRunContent.
// It is posted once however often it is done. Without text nothing is posted.
type Stream struct {
	MessageID string
	Content   string // the whole text so far; with a Delta it may be empty
	Delta     string // what came since the last time; counts only without Content
	Done      bool
	Metadata  json.RawMessage // with Done: an object, or a text that holds one
}

func (r *Run) stream(t *kernel.Turn, who account.Sender, c Stream) {
	done, known := r.s.Streams[c.MessageID]
	switch {
	case !agency.IsClientID(c.MessageID):
		t.Fail(kernel.Invalid("messageId must be a UUID of a version other than 8"))
	case !known && len(r.s.Streams) >= MaxStreams:
		t.Fail(kernel.Fail(kernel.CodeLimited, "a run can stream %d messages", MaxStreams))
	case done && !c.Done:
		t.Fail(kernel.Fail(kernel.CodeTaken, "this message is done"))
	case done:
		t.AfterCommits(func() { t.Reply(kernel.Done{}) })
	case c.Done:
		r.finish(t, who, c)
	default:
		r.progress(t, c, known)
	}
}

func (r *Run) progress(t *kernel.Turn, c Stream, known bool) {
	n, kind := note{Agent: true}, ""
	if !known {
		n.Stream, kind = c.MessageID, "stream-start"
	}
	r.note(t, n, kind, fields{"messageId": c.MessageID}, func() { r.relayGrowth(c) })
}

// finish ends a stream and promises its message in the same commit.
func (r *Run) finish(t *kernel.Turn, who account.Sender, c Stream) {
	shown := fields{"messageId": c.MessageID, "content": c.Content, "done": true}
	var outbox []persistence.OutboxOp
	answer := func() { t.Reply(kernel.Done{}) }
	if m := (agency.RunMessage{ID: c.MessageID, RunID: r.s.ID, Content: c.Content, Metadata: c.Metadata}); !m.Empty() {
		m, err := m.Check()
		if err != nil {
			t.Fail(err)
			return
		}
		p := Post{Run: r.s.ID, AgencyID: r.s.AgencyID, Who: who, Message: m}
		shown["metadata"] = m.Metadata
		outbox, answer = []persistence.OutboxOp{p.promise()}, func() { r.post(t, p) }
	}
	f := fields{"messageId": c.MessageID, "contentLength": utf8.RuneCountInString(c.Content)}
	r.commit(t, note{Agent: true, Stream: c.MessageID, Done: true}, "stream-end", f, outbox, func() {
		r.relayDone(c.MessageID, shown)
		answer()
	})
}

// PostPrefix is what the ids of outbox entries begin with that promise a message of a run.
const PostPrefix = "runpost/"

// Post is a promised message of a run.
type Post struct {
	Run      string            `json:"r"`
	AgencyID string            `json:"a"`
	Who      account.Sender    `json:"w"`
	Message  agency.RunMessage `json:"m"`
}

// Entry is the id of the promise.
func (p *Post) Entry() string { return PostPrefix + persistence.Key(p.Run, p.Message.ID) }

// Command is what carries the promise out.
func (p *Post) Command() agency.PostRun {
	return agency.PostRun{Who: p.Who, RunMessage: p.Message, Done: p.Entry()}
}

func (p *Post) promise() persistence.OutboxOp {
	return persistence.OutboxOp{ID: p.Entry(), Data: encode(p)}
}

// Hopeless reports whether a promised message will never be posted: its agent is no member any more, its room is gone, or
// its id is used up.
func Hopeless(err error) bool {
	if err == nil {
		return false
	}
	switch kernel.AsError(err).Code {
	case kernel.CodeNotFound, kernel.CodeForbidden, kernel.CodeTaken, kernel.CodeGone, kernel.CodeInvalid:
		return true
	default:
		return false
	}
}

// post carries out a promise that has just been committed, and answers. What fails for now is done later, when the outbox
// is looked through.
func (r *Run) post(t *kernel.Turn, p Post) {
	directory := r.ports.Directory
	directory.Call(agency.Ref(p.AgencyID), p.Command(), func(_ any, err error) {
		if !Hopeless(err) {
			t.Reply(kernel.Done{})
			return
		}
		directory.Call(Ref(p.Run), Fulfil{Entry: p.Entry()}, func(any, error) {})
		t.Fail(err)
	})
}
