package bolt

import (
	"encoding/binary"
	"time"
)

// writeTx is the round that is being filled: it judges requests against the state of the store and puts what they change
// into the active overlay, where nobody sees it before the record is on disk. It is used again for the next one.
type writeTx struct {
	view   *view
	number uint64 // of the record
	clock  func() time.Time
	now    int64 // milliseconds since 1970, read once a round

	streams, events, snapshots, counters, outbox, expiry *writeTable

	documents map[string]*writeTable // by collection
	claims    map[string]*writeTable // by index

	// Streams and counters are written once, at the end, however often they change. What was read of them stays for later
	// rounds: nobody else writes them.
	heads        map[string]*head
	sums         map[string]*counter
	changedHeads []string
	changedSums  []string

	effects []effect
	writes  int
	bytes   int
	touched bool // there is something to commit

	chainer *chainer
	key     []byte            // scratch; overlays copy keys
	key2    []byte            // scratch
	holders map[string]string // scratch: claims that the batch under check has changed
	due     []byte            // see purge; nil when it is not known
}

// writeTable is a bucket in a round.
type writeTable struct {
	table
	name string
	ref  int // what the record calls it
}

// effect is a key that the round has changed.
type effect struct {
	table *writeTable
	node  *node
}

type counter struct {
	value int64
	dirty bool
}

func newWriteTx(clock func() time.Time) *writeTx {
	return &writeTx{
		clock:     clock,
		documents: map[string]*writeTable{},
		claims:    map[string]*writeTable{},
		heads:     map[string]*head{},
		sums:      map[string]*counter{},
		holders:   map[string]string{},
		chainer:   newChainer(),
	}
}

// begin starts a round that becomes the record of this number.
func (w *writeTx) begin(v *view, number uint64) {
	w.view, w.number = v, number
	w.now = w.clock().UnixMilli()
	w.streams = w.table(bucketStreams)
	w.events = w.table(bucketEvents)
	w.snapshots = w.table(bucketSnapshots)
	w.counters = w.table(bucketCounters)
	w.outbox = w.table(bucketOutbox)
	w.expiry = w.table(bucketExpiry)
	w.writes, w.bytes, w.touched = 0, 0, false
}

// end forgets the round. What it has not published it must have undone.
func (w *writeTx) end() {
	w.view = nil
	clear(w.documents)
	clear(w.claims)
	clear(w.effects)
	w.effects, w.changedHeads, w.changedSums = w.effects[:0], w.changedHeads[:0], w.changedSums[:0]
	if len(w.heads) > maxCached {
		clear(w.heads)
	}
	if len(w.sums) > maxCached {
		clear(w.sums)
	}
}

// undo takes everything back that the round has done.
func (w *writeTx) undo() {
	for _, e := range w.effects {
		w.view.active.undo(e.node, w.number)
	}
	clear(w.heads)
	clear(w.sums)
	w.due = nil
}

func (w *writeTx) table(bucket []byte) *writeTable {
	return &writeTable{table: w.view.table(bucket), name: string(bucket)}
}

// named returns the bucket of a collection or index.
func (w *writeTx) named(cache map[string]*writeTable, prefix, name string) *writeTable {
	t := cache[name]
	if t == nil {
		w.key2 = append(append(w.key2[:0], prefix...), name...)
		t = w.table(w.key2)
		cache[name] = t
	}
	return t
}

// set stores a value, which the overlay keeps. It is not nil.
func (w *writeTx) set(t *writeTable, key, value []byte) {
	w.bytes += len(value)
	w.put(t, key, value)
}

// remove deletes a key, if it is there.
func (w *writeTx) remove(t *writeTable, key []byte) { w.put(t, key, nil) }

func (w *writeTx) put(t *writeTable, key, value []byte) {
	w.writes++
	if t.young == nil {
		t.young = w.view.active.make(t.name)
	}
	if n, fresh := w.view.active.put(t.young, w.number, key, value); fresh {
		w.effects = append(w.effects, effect{table: t, node: n})
	}
}

// take returns memory for a value, from the overlay's.
func (w *writeTx) take(n int) []byte { return w.view.active.arena.take(n) }

// value returns memory for a value with a payload of n bytes that will be sealed.
func (w *writeTx) value(n int) []byte { return w.take(sealSize + n) }

// head returns the record of a stream as this round sees it.
func (w *writeTx) head(stream string) (*head, error) {
	if h, ok := w.heads[stream]; ok {
		return h, nil
	}
	w.key = append(w.key[:0], stream...)
	h, err := decodeHead(w.key, w.streams.get(w.key))
	if err != nil {
		return nil, err
	}
	if w.key, err = h.locate(stream, &w.events.table, w.key); err != nil {
		return nil, err
	}
	w.heads[stream] = &h
	return &h, nil
}

// changedHead has the record of a stream written at the end of the round.
func (w *writeTx) changedHead(stream string, h *head) {
	if !h.dirty {
		h.dirty = true
		w.writes++
		w.changedHeads = append(w.changedHeads, stream)
	}
}

// sum returns a counter as this round sees it.
func (w *writeTx) sum(name string) (*counter, error) {
	if c, ok := w.sums[name]; ok {
		return c, nil
	}
	w.key = append(w.key[:0], name...)
	n, err := decodeCounter(w.key, w.counters.get(w.key))
	if err != nil {
		return nil, err
	}
	c := &counter{value: n}
	w.sums[name] = c
	return c, nil
}

// changedSum has a counter written at the end of the round.
func (w *writeTx) changedSum(name string, c *counter) {
	if !c.dirty {
		c.dirty = true
		w.changedSums = append(w.changedSums, name)
	}
}

// finish writes what was held back, takes out claims that have ended, and puts all changes into the record.
func (w *writeTx) finish(r *recorder) {
	for _, stream := range w.changedHeads {
		h := w.heads[stream]
		h.dirty = false
		w.key = append(w.key[:0], stream...)
		w.set(w.streams, w.key, h.encode(w.key, w.take(headSize)))
	}
	for _, name := range w.changedSums {
		c := w.sums[name]
		c.dirty = false
		w.key = append(w.key[:0], name...)
		v := w.value(8)
		binary.BigEndian.PutUint64(v[sealSize:], uint64(c.value))
		w.set(w.counters, w.key, seal(w.key, v))
	}
	w.purge(maxPurge)
	r.begin()
	for _, e := range w.effects {
		r.change(&e.table.ref, e.table.name, e.node.key, e.node.latest.Load().value)
	}
}
