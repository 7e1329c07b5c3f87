package bolt

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// scanBlock is how many bytes a search for records reads at a time.
const scanBlock = 1 << 20

// frameLength is how many bytes of changes a whole frame says that it has.
func frameLength(frame []byte) int { return int(binary.BigEndian.Uint64(frame[8:])) }

// frameReader reads the records of one segment.
type frameReader struct {
	segment *segment
	size    int64
	buf     []byte
}

func newFrameReader(g *segment) (*frameReader, error) {
	info, err := g.f.Stat()
	if err != nil {
		return nil, fmt.Errorf("read the log: %w", err)
	}
	return &frameReader{segment: g, size: info.Size()}, nil
}

// read returns the frame at a place, with its padding, nil when there is none that is whole. It is good until the next read.
func (r *frameReader) read(at int64) (number uint64, frame []byte, err error) {
	if at+frameSize > r.size {
		return 0, nil, nil
	}
	var head [frameSize]byte
	if _, err := r.segment.f.ReadAt(head[:], at); err != nil {
		return 0, nil, fmt.Errorf("read the log: %w", err)
	}
	be := binary.BigEndian
	length := be.Uint64(head[8:])
	if be.Uint32(head[:]) != recordMagic || be.Uint32(head[4:]) != frameSum(&r.segment.salt, head[:]) ||
		length > maxRecord || at+frameSize+int64(length) > r.size {
		return 0, nil, nil
	}
	n := frameSize + int(length)
	padded := (n + frameAlign - 1) / frameAlign * frameAlign
	if cap(r.buf) < padded {
		r.buf = make([]byte, padded)
	}
	frame = r.buf[:padded]
	if _, err := r.segment.f.ReadAt(frame[:n], at); err != nil {
		return 0, nil, fmt.Errorf("read the log: %w", err)
	}
	if be.Uint32(frame[24:]) != crc32.Checksum(frame[frameSize:n], castagnoli) {
		return 0, nil, nil
	}
	return be.Uint64(frame[16:]), frame, nil
}

// search says whether a whole record with a number over after begins at the place at or behind it.
func (r *frameReader) search(at int64, after uint64) (bool, error) {
	block := make([]byte, min(scanBlock, max(r.size-at, 0)))
	for ; at+frameSize <= r.size; at += scanBlock {
		n, err := r.segment.f.ReadAt(block, at)
		if err != nil && !errors.Is(err, io.EOF) {
			return false, fmt.Errorf("read the log: %w", err)
		}
		for i := 0; i+4 <= n; i += frameAlign {
			if binary.BigEndian.Uint32(block[i:]) != recordMagic {
				continue
			}
			number, frame, err := r.read(at + int64(i))
			if err != nil {
				return false, err
			}
			if frame != nil && number > after {
				return true, nil
			}
		}
	}
	return false, nil
}
