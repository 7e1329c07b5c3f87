package conn

import "sync/atomic"

// sent counts what was written. Each worker has one of its own, so that writing does not wait for a shared one.
type sent struct{ frames, bytes atomic.Int64 }

func (s *sent) add(frames, bytes int) {
	s.frames.Add(int64(frames))
	s.bytes.Add(int64(bytes))
}
