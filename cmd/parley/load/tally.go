package load

import (
	"sort"
	"sync"
	"sync/atomic"
)

// maxTexts bounds the different error texts that a loop keeps; the counts go on.
const maxTexts = 16

// tally is what one loop counted. The loop alone writes; the progress display reads along.
type tally struct {
	dialed, joined, failed, closed    atomic.Int64
	posted, acked, refused, held      atomic.Int64
	expected, delivered               atomic.Int64
	repeated, outOfOrder              atomic.Int64
	misrouted, withoutSeq             atomic.Int64
	errorEvents, otherEvents, strange atomic.Int64
	cut                               atomic.Int64 // slow readers that the server ended
	swept, back, gaps                 atomic.Int64 // dropped by the storm, back, back with a gap

	connect, ack, delivery, lag latencies
	during, returned            latencies

	failures, closes, errors texts
}

func newTally() *tally {
	return &tally{connect: newLatencies(), ack: newLatencies(), delivery: newLatencies(), lag: newLatencies(),
		during: newLatencies(), returned: newLatencies()}
}

// texts counts how often each text occurred.
type texts struct {
	mu     sync.Mutex
	counts map[string]int64
}

func (t *texts) add(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.counts == nil {
		t.counts = make(map[string]int64)
	}
	if _, known := t.counts[text]; !known && len(t.counts) >= maxTexts {
		text = "others"
	}
	t.counts[text]++
}

func (t *texts) merge(other *texts) {
	other.mu.Lock()
	defer other.mu.Unlock()
	for text, n := range other.counts {
		t.mu.Lock()
		if t.counts == nil {
			t.counts = make(map[string]int64)
		}
		t.counts[text] += n
		t.mu.Unlock()
	}
}

// Count is a text and how often it occurred.
type Count struct {
	Text  string `json:"text"`
	Count int64  `json:"count"`
}

// list answers the texts, the most frequent first.
func (t *texts) list() []Count {
	t.mu.Lock()
	defer t.mu.Unlock()
	list := make([]Count, 0, len(t.counts))
	for text, n := range t.counts {
		list = append(list, Count{text, n})
	}
	sort.Slice(list, func(i, j int) bool {
		return list[i].Count > list[j].Count || list[i].Count == list[j].Count && list[i].Text < list[j].Text
	})
	return list
}

// merge adds what another loop counted. Both loops must have ended.
func (t *tally) merge(o *tally) {
	for _, pair := range [][2]*atomic.Int64{
		{&t.dialed, &o.dialed}, {&t.joined, &o.joined}, {&t.failed, &o.failed}, {&t.closed, &o.closed},
		{&t.posted, &o.posted}, {&t.acked, &o.acked}, {&t.refused, &o.refused}, {&t.held, &o.held},
		{&t.expected, &o.expected}, {&t.delivered, &o.delivered}, {&t.repeated, &o.repeated},
		{&t.outOfOrder, &o.outOfOrder}, {&t.misrouted, &o.misrouted}, {&t.withoutSeq, &o.withoutSeq},
		{&t.errorEvents, &o.errorEvents}, {&t.otherEvents, &o.otherEvents}, {&t.strange, &o.strange},
		{&t.cut, &o.cut}, {&t.swept, &o.swept}, {&t.back, &o.back}, {&t.gaps, &o.gaps},
	} {
		pair[0].Add(pair[1].Load())
	}
	t.connect.merge(o.connect)
	t.ack.merge(o.ack)
	t.delivery.merge(o.delivery)
	t.lag.merge(o.lag)
	t.during.merge(o.during)
	t.returned.merge(o.returned)
	t.failures.merge(&o.failures)
	t.closes.merge(&o.closes)
	t.errors.merge(&o.errors)
}
