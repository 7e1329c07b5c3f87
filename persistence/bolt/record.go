package bolt

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"strings"

	"parley/persistence"
)

// A record is what one round of the committer has changed: a frame, and behind it the changes. The frame's own checksum
// covers the segment's salt, which is new at each use of a file and unknown to clients: nothing that the file held before,
// and no data that a client makes up, passes for a frame, nor makes a search for frames look any further.
const (
	recordMagic = 0x50574C52 // "PWLR"
	// frameSize is magic, checksum of what follows in the frame, length of the changes, the record's number, checksum of
	// the changes, and nothing.
	frameSize = 4 + 4 + 8 + 8 + 4 + 4
	// frameAlign is what the place of a frame is a multiple of.
	frameAlign = 8
	// maxRecord is the largest frame. A round is far smaller: maxTxBytes and two requests of MaxBatchBytes with their keys.
	maxRecord = 512 << 20
)

// recorder builds the frame of one record, in memory that it uses again.
type recorder struct {
	buf     []byte
	buckets int
}

func (r *recorder) begin() {
	r.buf, r.buckets = append(r.buf[:0], make([]byte, frameSize)...), 0
}

// change adds a put, or a delete when value is nil. ref names the bucket: 0 until the record has named it.
func (r *recorder) change(ref *int, bucket string, key, value []byte) {
	if *ref == 0 {
		r.buckets++
		*ref = r.buckets
		r.buf = binary.AppendUvarint(r.buf, uint64(*ref))
		r.buf = binary.AppendUvarint(r.buf, uint64(len(bucket)))
		r.buf = append(r.buf, bucket...)
	} else {
		r.buf = binary.AppendUvarint(r.buf, uint64(*ref))
	}
	r.buf = binary.AppendUvarint(r.buf, uint64(len(key)))
	r.buf = append(r.buf, key...)
	if value == nil {
		r.buf = append(r.buf, 0)
		return
	}
	r.buf = binary.AppendUvarint(r.buf, uint64(len(value))+1)
	r.buf = append(r.buf, value...)
}

// frame completes the record. The result is good until the next begin.
func (r *recorder) frame(s *salt, number uint64) []byte {
	be, n := binary.BigEndian, len(r.buf)-frameSize
	for len(r.buf)%frameAlign != 0 {
		r.buf = append(r.buf, 0)
	}
	be.PutUint32(r.buf, recordMagic)
	be.PutUint64(r.buf[8:], uint64(n))
	be.PutUint64(r.buf[16:], number)
	be.PutUint32(r.buf[24:], crc32.Checksum(r.buf[frameSize:frameSize+n], castagnoli))
	be.PutUint32(r.buf[28:], 0)
	be.PutUint32(r.buf[4:], frameSum(s, r.buf))
	return r.buf
}

func frameSum(s *salt, frame []byte) uint32 {
	return crc32.Update(crc32.Checksum(s[:], castagnoli), castagnoli, frame[8:frameSize])
}

// decodeRecord shows every change of a record to visit, whose slices are parts of changes.
func decodeRecord(changes []byte, visit func(bucket string, key, value []byte) error) error {
	d := recordDecoder{rest: changes}
	var buckets []string
	for len(d.rest) > 0 {
		ref := d.number()
		if ref == uint64(len(buckets))+1 {
			name := string(d.bytes(d.number()))
			if d.broken || !loggedBucket(name) {
				return fmt.Errorf("a record changes %q: %w", name, persistence.ErrDamaged)
			}
			buckets = append(buckets, name)
		}
		key := d.bytes(d.number())
		var value []byte
		if n := d.number(); n > 0 {
			value = d.bytes(n - 1)
		}
		if d.broken || ref == 0 || ref > uint64(len(buckets)) || len(key) == 0 || len(key) > maxKey {
			return fmt.Errorf("a change does not read back: %w", persistence.ErrDamaged)
		}
		if err := visit(buckets[ref-1], key, value); err != nil {
			return err
		}
	}
	return nil
}

// recordDecoder takes a record apart; broken says that it ended too early.
type recordDecoder struct {
	rest   []byte
	broken bool
}

func (d *recordDecoder) number() uint64 {
	n, used := binary.Uvarint(d.rest)
	if used <= 0 {
		d.broken = true
		return 0
	}
	d.rest = d.rest[used:]
	return n
}

func (d *recordDecoder) bytes(n uint64) []byte {
	if d.broken || n > uint64(len(d.rest)) {
		d.broken = true
		return nil
	}
	b := d.rest[:n:n]
	d.rest = d.rest[n:]
	return b
}

// loggedBucket says whether records may change a bucket.
func loggedBucket(name string) bool {
	for _, prefix := range []string{prefixDocuments, prefixClaims} {
		if strings.HasPrefix(name, prefix) {
			return len(name) > len(prefix) && len(name) <= maxKey
		}
	}
	for _, b := range fixedBuckets() {
		if string(b) == name {
			return !bytes.Equal(b, bucketMeta)
		}
	}
	return false
}
