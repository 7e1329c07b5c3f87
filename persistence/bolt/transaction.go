package bolt

import (
	"encoding/binary"
	"fmt"
	"time"

	"go.etcd.io/bbolt"
)

// writeTx is the transaction that is being filled. It is used again for the next one, with its memory.
type writeTx struct {
	tx    *bbolt.Tx
	clock func() time.Time
	now   int64 // milliseconds since 1970, read once a transaction

	streams, events, snapshots, counters, outbox, expiry *bbolt.Bucket

	documents map[string]*bbolt.Bucket // by collection
	claims    map[string]*bbolt.Bucket // by index

	// Streams and counters are written once, at the end, however often they change.
	heads map[string]*head
	sums  map[string]*counter

	writes  int
	bytes   int
	touched bool // there is something to commit

	chainer *chainer
	arena   arena
	key     []byte            // scratch; bbolt copies keys
	key2    []byte            // scratch
	holders map[string]string // scratch: claims that the batch under check has changed
}

type counter struct {
	value int64
	dirty bool
}

func newWriteTx(clock func() time.Time) *writeTx {
	return &writeTx{
		clock:     clock,
		documents: map[string]*bbolt.Bucket{},
		claims:    map[string]*bbolt.Bucket{},
		heads:     map[string]*head{},
		sums:      map[string]*counter{},
		holders:   map[string]string{},
		chainer:   newChainer(),
	}
}

func (w *writeTx) begin(tx *bbolt.Tx) {
	w.tx = tx
	w.now = w.clock().UnixMilli()
	w.streams = tx.Bucket(bucketStreams)
	w.events = tx.Bucket(bucketEvents)
	w.events.FillPercent = pageFill
	w.snapshots = tx.Bucket(bucketSnapshots)
	w.counters = tx.Bucket(bucketCounters)
	w.outbox = tx.Bucket(bucketOutbox)
	w.expiry = tx.Bucket(bucketExpiry)
	w.writes, w.bytes, w.touched = 0, 0, false
}

// end forgets the transaction, whatever became of it.
func (w *writeTx) end() {
	w.tx = nil
	clear(w.documents)
	clear(w.claims)
	clear(w.heads)
	clear(w.sums)
	w.arena.reset()
}

// head returns the record of a stream as this transaction sees it.
func (w *writeTx) head(stream string) (*head, error) {
	if h, ok := w.heads[stream]; ok {
		return h, nil
	}
	w.key = append(w.key[:0], stream...)
	h, err := decodeHead(w.key, w.streams.Get(w.key))
	if err != nil {
		return nil, err
	}
	if w.key, err = h.locate(stream, w.events, w.key); err != nil {
		return nil, err
	}
	w.heads[stream] = &h
	return &h, nil
}

// sum returns a counter as this transaction sees it.
func (w *writeTx) sum(name string) (*counter, error) {
	if c, ok := w.sums[name]; ok {
		return c, nil
	}
	w.key = append(w.key[:0], name...)
	n, err := decodeCounter(w.key, w.counters.Get(w.key))
	if err != nil {
		return nil, err
	}
	c := &counter{value: n}
	w.sums[name] = c
	return c, nil
}

// bucket returns the bucket of a collection or index, nil when there is none and create is false.
func (w *writeTx) bucket(cache map[string]*bbolt.Bucket, prefix, name string, create bool) (*bbolt.Bucket, error) {
	if b := cache[name]; b != nil {
		return b, nil
	}
	w.key2 = append(append(w.key2[:0], prefix...), name...)
	b := w.tx.Bucket(w.key2)
	if b == nil && create {
		var err error
		if b, err = w.tx.CreateBucket(w.key2); err != nil {
			return nil, fmt.Errorf("create bucket %s: %w", w.key2, err)
		}
	}
	if b != nil {
		b.FillPercent = pageFill
		cache[name] = b
	}
	return b, nil
}

// put stores a value whose payload begins at sealSize.
func (w *writeTx) put(b *bbolt.Bucket, key, value []byte) error {
	w.writes++
	w.bytes += len(value)
	return b.Put(key, seal(key, value))
}

// value returns memory for a value with a payload of n bytes that will be sealed.
func (w *writeTx) value(n int) []byte { return w.arena.take(sealSize + n) }

// finish writes what was held back and takes out claims that have ended.
func (w *writeTx) finish() error {
	for stream, h := range w.heads {
		if !h.dirty {
			continue
		}
		w.key = append(w.key[:0], stream...)
		if err := w.streams.Put(w.key, h.encode(w.key, w.arena.take(headSize))); err != nil {
			return fmt.Errorf("stream %s: %w", stream, err)
		}
	}
	for name, c := range w.sums {
		if !c.dirty {
			continue
		}
		w.key = append(w.key[:0], name...)
		v := w.value(8)
		binary.BigEndian.PutUint64(v[sealSize:], uint64(c.value))
		if err := w.put(w.counters, w.key, v); err != nil {
			return fmt.Errorf("counter %s: %w", name, err)
		}
	}
	return w.purge(maxPurge)
}
