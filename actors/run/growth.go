package run

import (
	"hash/maphash"
	"unicode/utf8"
)

// Limits of whole texts in steps of streams.
const (
	// wholeUpTo is the length in bytes up to which each step of a stream carries the whole text besides what was added.
	wholeUpTo = 1 << 10
	// wholeAtMost is the length in bytes from which on a step carries the whole text only for those who lack its beginning.
	wholeAtMost = MaxRelay / 2
)

// growth is what the room has seen of one stream. Agents send the whole text with each step, which costs as much as the
// square of its length; a room in which many listen is sent what was added, so that a stream costs it as much as its text is
// long. The whole text goes with it while it is short, each time that it has doubled, when it was changed instead of
// continued, to those who came late, and at the end: together less than four times the text.
//
// What was sent is not kept: its hash tells whether a text continues it.
type growth struct {
	bytes, runes int
	sum          uint64
	blind        bool // the agent has sent a part without the whole text
	whole        int  // bytes of the text when it was last told whole
}

// textSeed makes hashes of texts that mean nothing outside of the process.
var textSeed = maphash.MakeSeed()

// step takes what the agent says, and returns what was added and whether the whole text has to be told.
func (g *growth) step(content, delta string) (added string, whole bool) {
	if content == "" && delta != "" {
		g.bytes, g.runes, g.blind = g.bytes+len(delta), g.runes+utf8.RuneCountInString(delta), true
		return delta, false
	}
	first := g.bytes == 0 // also after a restart of the server
	var hash maphash.Hash
	hash.SetSeed(textSeed)
	seen := content[:min(g.bytes, len(content))]
	_, _ = hash.WriteString(seen)
	if !g.blind && len(seen) == g.bytes && hash.Sum64() == g.sum {
		added = content[g.bytes:]
		g.runes += utf8.RuneCountInString(added)
		whole = len(content) <= wholeUpTo || len(content) >= 2*g.whole && len(content) <= wholeAtMost
	} else {
		g.runes, whole = utf8.RuneCountInString(content), true
	}
	whole = whole || first
	_, _ = hash.WriteString(content[len(seen):])
	g.bytes, g.sum, g.blind = len(content), hash.Sum64(), false
	if whole {
		g.whole = len(content)
	}
	return added, whole
}

// relayGrowth tells the room of a step of a stream.
func (r *Run) relayGrowth(c Stream) {
	if r.ports.Room == nil {
		return
	}
	g := r.grown[c.MessageID]
	if g == nil {
		if r.grown == nil {
			r.grown = map[string]*growth{}
		}
		g = &growth{}
		r.grown[c.MessageID] = g
	}
	added, whole := g.step(c.Content, c.Delta)
	told := fields{"messageId": c.MessageID, "delta": added, "contentLength": g.runes, "done": false}
	if whole {
		told["content"] = c.Content
	}
	e := r.relayed(EventStream, told)
	e.Grows = &Grows{MessageID: c.MessageID}
	if !whole {
		e.Short = nil // steps are put off, and put together, rather than shortened
		r.makeLonger(e.Grows, c.Content, added, told)
	}
	r.ports.Room.Relay(r.s.AgencyID, e)
}

// makeLonger lets a step be told together with others, or with the whole text.
func (r *Run) makeLonger(g *Grows, content, added string, told fields) {
	told = r.signed(told)
	with := func(name, text string) []byte {
		f := make(fields, len(told)+1)
		for k, v := range told {
			f[k] = v
		}
		f[name] = text
		return shorten(f, MaxRelay)
	}
	g.Added = added
	g.Longer = func(added string) []byte { return with("delta", added) }
	if content != "" {
		g.Whole = func() []byte { return with("content", content) }
	}
}

// relayDone tells the room of the end of a stream.
func (r *Run) relayDone(messageID string, told fields) {
	delete(r.grown, messageID)
	if r.ports.Room == nil {
		return
	}
	e := r.relayed(EventStream, told)
	e.Grows = &Grows{MessageID: messageID, Done: true}
	r.ports.Room.Relay(r.s.AgencyID, e)
}
