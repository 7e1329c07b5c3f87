package bolt

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"hash/crc32"
	"math"

	"parley/persistence"
)

// A stored value is a format byte, a CRC-32C over its key and the rest, and the rest. The key is part of the sum so that
// a value that turns up under another key is noticed too.
const (
	format     = 1
	sealSize   = 5
	chainSize  = 16
	headSize   = sealSize + 5*8 + 1 + 2*chainSize
	eventFixed = sealSize + chainSize + 8
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// seal completes a value whose payload begins at sealSize.
func seal(key, value []byte) []byte {
	value[0] = format
	sum := crc32.Update(crc32.Update(0, castagnoli, key), castagnoli, value[sealSize:])
	binary.BigEndian.PutUint32(value[1:], sum)
	return value
}

// unseal returns the payload of a value, still in the file's memory.
func unseal(key, value []byte) ([]byte, error) {
	if len(value) < sealSize || value[0] != format {
		return nil, fmt.Errorf("value of %q has no known format: %w", key, persistence.ErrDamaged)
	}
	sum := crc32.Update(crc32.Update(0, castagnoli, key), castagnoli, value[sealSize:])
	if binary.BigEndian.Uint32(value[1:]) != sum {
		return nil, fmt.Errorf("checksum of %q: %w", key, persistence.ErrDamaged)
	}
	return value[sealSize:], nil
}

// chain is a hash over an event and all before it.
type chain [chainSize]byte

// head is what is known of a stream. Its record is written when the stream is acquired, trimmed or gets a snapshot, and
// holds last and tip as they were then: an append does not touch it, because that would be one more page in every commit.
// The last event itself says the rest, see locate.
type head struct {
	epoch   uint64
	view    uint64
	last    uint64
	first   uint64 // of the kept events; last+1 when none is
	snapSeq uint64
	hasSnap bool
	tip     chain // of the last event
	base    chain // of the event before first

	known bool // acquired at least once
	dirty bool // to be written at the end of the round
}

func (h *head) encode(key, to []byte) []byte {
	be := binary.BigEndian
	be.PutUint64(to[5:], h.epoch)
	be.PutUint64(to[13:], h.view)
	be.PutUint64(to[21:], h.last)
	be.PutUint64(to[29:], h.first)
	be.PutUint64(to[37:], h.snapSeq)
	to[45] = 0
	if h.hasSnap {
		to[45] = 1
	}
	copy(to[46:], h.tip[:])
	copy(to[62:], h.base[:])
	return seal(key, to)
}

// decodeHead reads a stream record. A nil value is a stream that nobody has acquired.
func decodeHead(key, value []byte) (head, error) {
	if value == nil {
		return head{first: 1}, nil
	}
	p, err := unseal(key, value)
	if err != nil {
		return head{}, err
	}
	if len(p) != headSize-sealSize {
		return head{}, fmt.Errorf("stream record of %q: %w", key, persistence.ErrDamaged)
	}
	be := binary.BigEndian
	h := head{
		epoch: be.Uint64(p), view: be.Uint64(p[8:]), last: be.Uint64(p[16:]), first: be.Uint64(p[24:]),
		snapSeq: be.Uint64(p[32:]), hasSnap: p[40] == 1, known: true,
	}
	copy(h.tip[:], p[41:])
	copy(h.base[:], p[57:])
	return h, nil
}

// locate brings last and tip of a decoded record up to the last event of the stream. scratch is for the key, and returned.
func (h *head) locate(stream string, events *table, scratch []byte) ([]byte, error) {
	if !h.known {
		return scratch, nil
	}
	scratch = eventKey(scratch[:0], stream, math.MaxUint64)
	behind := events.below(scratch)
	k, v := behind.next()
	seq, ok := seqOf(stream, k)
	switch {
	case !ok && h.first == h.last+1:
		return scratch, nil // all are trimmed, or there never was one
	case !ok || seq < h.last:
		return scratch, fmt.Errorf("the last events of %s are missing: %w", stream, persistence.ErrDamaged)
	}
	e, err := decodeEvent(k, v)
	if err != nil {
		return scratch, err
	}
	h.last, h.tip = seq, e.chain
	return scratch, nil
}

// loadHead reads what is known of a stream.
func loadHead(v *view, stream string) (head, error) {
	key, streams, events := []byte(stream), v.table(bucketStreams), v.table(bucketEvents)
	h, err := decodeHead(key, streams.get(key))
	if err != nil {
		return h, err
	}
	_, err = h.locate(stream, &events, nil)
	return h, err
}

// eventKey appends the key of an event to to.
func eventKey(to []byte, stream string, seq uint64) []byte {
	to = append(append(to, stream...), 0)
	return binary.BigEndian.AppendUint64(to, seq)
}

// seqOf returns the sequence in an event key of the stream, if it is one.
func seqOf(stream string, key []byte) (uint64, bool) {
	n := len(stream)
	if len(key) != n+9 || key[n] != 0 || string(key[:n]) != stream {
		return 0, false
	}
	return binary.BigEndian.Uint64(key[n+1:]), true
}

func eventSize(e *persistence.Event) int {
	return eventFixed + binary.MaxVarintLen32 + len(e.Kind) + len(e.Data)
}

// encodeEvent writes an event into to, which has at least eventSize bytes.
func encodeEvent(key, to []byte, c chain, e *persistence.Event) []byte {
	copy(to[sealSize:], c[:])
	binary.BigEndian.PutUint64(to[sealSize+chainSize:], uint64(e.At))
	v := binary.AppendUvarint(to[:eventFixed], uint64(len(e.Kind)))
	v = append(append(v, e.Kind...), e.Data...)
	return seal(key, v)
}

// storedEvent is an event whose kind and data are still in the file's memory.
type storedEvent struct {
	chain chain
	at    int64
	kind  []byte
	data  []byte
}

func decodeEvent(key, value []byte) (storedEvent, error) {
	p, err := unseal(key, value)
	if err != nil {
		return storedEvent{}, err
	}
	var e storedEvent
	if len(p) < chainSize+8 {
		return e, fmt.Errorf("event %q is short: %w", key, persistence.ErrDamaged)
	}
	copy(e.chain[:], p)
	e.at = int64(binary.BigEndian.Uint64(p[chainSize:]))
	p = p[chainSize+8:]
	n, used := binary.Uvarint(p)
	if used <= 0 || n > uint64(len(p)-used) {
		return e, fmt.Errorf("kind of event %q: %w", key, persistence.ErrDamaged)
	}
	e.kind, e.data = p[used:used+int(n)], p[used+int(n):]
	return e, nil
}

// chainer hashes events without allocating.
type chainer struct {
	hash hash.Hash
	buf  []byte
	sum  []byte
}

func newChainer() *chainer { return &chainer{hash: sha256.New()} }

// next returns the link of the event (seq, at, kind, data) behind prev. Lengths are hashed too, so that no two events
// have the same bytes.
func (c *chainer) next(prev chain, seq uint64, at int64, kind string, data []byte) chain {
	c.hash.Reset()
	b := append(c.buf[:0], prev[:]...)
	b = binary.BigEndian.AppendUint64(b, seq)
	b = binary.BigEndian.AppendUint64(b, uint64(at))
	b = binary.BigEndian.AppendUint32(b, uint32(len(kind)))
	b = append(b, kind...)
	c.buf = b
	_, _ = c.hash.Write(b) // a hash never fails
	_, _ = c.hash.Write(data)
	c.sum = c.hash.Sum(c.sum[:0])
	return chain(c.sum[:chainSize])
}

func claimSize(op *persistence.ClaimOp) int {
	return sealSize + 8 + binary.MaxVarintLen32 + len(op.Owner) + len(op.Data)
}

func encodeClaim(key, to []byte, op *persistence.ClaimOp) []byte {
	binary.BigEndian.PutUint64(to[sealSize:], uint64(op.Expires))
	v := binary.AppendUvarint(to[:sealSize+8], uint64(len(op.Owner)))
	v = append(append(v, op.Owner...), op.Data...)
	return seal(key, v)
}

// storedClaim is a claim whose owner and data are still in the file's memory. owner is nil when there is none.
type storedClaim struct {
	expires int64
	owner   []byte
	data    []byte
}

// free says whether anybody may take the claim at now, in milliseconds.
func (c *storedClaim) free(now int64) bool {
	return c.owner == nil || (c.expires != 0 && c.expires <= now)
}

func decodeClaim(key, value []byte) (storedClaim, error) {
	if value == nil {
		return storedClaim{}, nil
	}
	p, err := unseal(key, value)
	if err != nil {
		return storedClaim{}, err
	}
	if len(p) < 8 {
		return storedClaim{}, fmt.Errorf("claim %q is short: %w", key, persistence.ErrDamaged)
	}
	c := storedClaim{expires: int64(binary.BigEndian.Uint64(p))}
	p = p[8:]
	n, used := binary.Uvarint(p)
	if used <= 0 || n == 0 || n > uint64(len(p)-used) {
		return storedClaim{}, fmt.Errorf("owner of claim %q: %w", key, persistence.ErrDamaged)
	}
	c.owner, c.data = p[used:used+int(n)], p[used+int(n):]
	return c, nil
}

// expiryKey is the key under which the end of a claim is found by time.
func expiryKey(to []byte, expires int64, index, key string) []byte {
	to = binary.BigEndian.AppendUint64(to, uint64(expires))
	to = binary.BigEndian.AppendUint16(to, uint16(len(index)))
	return append(append(to, index...), key...)
}

func decodeExpiryKey(k []byte) (expires int64, index, key []byte, err error) {
	if len(k) < 10 || int(binary.BigEndian.Uint16(k[8:])) > len(k)-10 {
		return 0, nil, nil, fmt.Errorf("expiry entry %q: %w", k, persistence.ErrDamaged)
	}
	n := 10 + int(binary.BigEndian.Uint16(k[8:]))
	return int64(binary.BigEndian.Uint64(k)), k[10:n], k[n:], nil
}

func decodeCounter(key, value []byte) (int64, error) {
	if value == nil {
		return 0, nil
	}
	p, err := unseal(key, value)
	if err != nil {
		return 0, err
	}
	if len(p) != 8 {
		return 0, fmt.Errorf("counter %q: %w", key, persistence.ErrDamaged)
	}
	return int64(binary.BigEndian.Uint64(p)), nil
}

func decodeSnapshot(key, value []byte) (*persistence.Snapshot, error) {
	p, err := unseal(key, value)
	if err != nil {
		return nil, err
	}
	if len(p) < 12 {
		return nil, fmt.Errorf("snapshot of %q is short: %w", key, persistence.ErrDamaged)
	}
	return &persistence.Snapshot{
		Seq:     binary.BigEndian.Uint64(p),
		Version: binary.BigEndian.Uint32(p[8:]),
		Data:    bytes.Clone(p[12:]),
	}, nil
}
