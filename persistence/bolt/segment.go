package bolt

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"

	"parley/persistence"
)

const (
	segmentMagic   = "parleylg"
	segmentVersion = 1
	// headerSize is one sector, which a disk writes whole or not at all.
	headerSize = 512
	// firstFrame is where the records begin: on a page of their own.
	firstFrame = 4096
	// reserveStep is how much space a growing segment asks for at a time, in bytes.
	reserveStep = 4 << 20
	// keptBytes is the most space that a segment keeps for its next use.
	keptBytes = 64 << 20
)

type (
	storeID [16]byte
	salt    [16]byte
)

// segment is one file of the log. Its header is on disk before the first record is written. Behind the last record there
// may be anything: nothing there has the salt.
type segment struct {
	f     *os.File
	id    storeID
	salt  salt
	index uint64 // rises from use to use
	first uint64 // number of its first record; what an older segment has from there on does not count

	end      int64 // where the next record goes
	reserved int64
}

func (g *segment) header() []byte {
	b, be := make([]byte, headerSize), binary.BigEndian
	copy(b, segmentMagic)
	be.PutUint32(b[8:], segmentVersion)
	copy(b[16:], g.id[:])
	copy(b[32:], g.salt[:])
	be.PutUint64(b[48:], g.index)
	be.PutUint64(b[56:], g.first)
	be.PutUint32(b[12:], crc32.Update(crc32.Checksum(b[:12], castagnoli), castagnoli, b[16:]))
	return b
}

// decodeHeader reads a segment's header. blank says that there never was one: the file was made and not used.
func decodeHeader(b []byte) (g segment, blank bool, err error) {
	if len(bytes.TrimRight(b, "\x00")) == 0 {
		return g, true, nil
	}
	be := binary.BigEndian
	switch {
	case len(b) < headerSize:
		return g, false, fmt.Errorf("its header is cut short: %w", persistence.ErrDamaged)
	case be.Uint32(b[12:]) != crc32.Update(crc32.Checksum(b[:12], castagnoli), castagnoli, b[16:headerSize]):
		return g, false, fmt.Errorf("the checksum of its header is wrong: %w", persistence.ErrDamaged)
	case string(b[:8]) != segmentMagic || be.Uint32(b[8:]) != segmentVersion:
		return g, false, fmt.Errorf("it is no log, or one of a newer version: %w", persistence.ErrForeign)
	}
	copy(g.id[:], b[16:])
	copy(g.salt[:], b[32:])
	g.index, g.first = be.Uint64(b[48:]), be.Uint64(b[56:])
	return g, false, nil
}

// start makes the file a new segment: with another salt, what it held before is nothing any more.
func (g *segment) start(id storeID, index, first uint64, sync func(*os.File) error) error {
	_, _ = rand.Read(g.salt[:]) // never fails
	g.id, g.index, g.first, g.end = id, index, first, firstFrame
	if g.reserved > keptBytes {
		if err := g.f.Truncate(keptBytes); err != nil {
			return err
		}
		g.reserved = keptBytes
	}
	g.grow(firstFrame)
	if _, err := g.f.WriteAt(g.header(), 0); err != nil {
		return err
	}
	return sync(g.f)
}

// append writes a record and waits until it is on disk. After an error the next one goes to the same place: it
// replaces all of the record that may be there, so that two outcomes of one number are never both on disk.
func (g *segment) append(frame []byte, sync func(*os.File) error) error {
	if len(frame) > maxRecord {
		return errors.New("the record is larger than any that is read back")
	}
	g.grow(g.end + int64(len(frame)))
	if _, err := g.f.WriteAt(frame, g.end); err != nil {
		return err
	}
	if err := sync(g.f); err != nil {
		return err
	}
	g.end += int64(len(frame))
	return nil
}

// grow reserves space up to end and some more.
func (g *segment) grow(end int64) {
	if end <= g.reserved {
		return
	}
	to := (end + reserveStep - 1) / reserveStep * reserveStep
	reserve(g.f, g.reserved, to)
	g.reserved = to
}
