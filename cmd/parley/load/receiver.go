package load

import "slices"

// maxGaps bounds the holes that one receiver keeps per poster, in ranges. More than that means that
// deliveries go missing all over: the oldest hole is then counted as lost for good.
const maxGaps = 256

// verdict is what a receiver says of one delivery.
type verdict int

const (
	fresh    verdict = iota // the first sight of this post, in its turn
	late                    // the first sight of it, after a later one of the same poster
	repeated                // seen before
	unknown                 // no such poster in this room
)

// span is a range of sequence numbers, from inclusive, to exclusive.
type span struct{ from, to uint32 }

// receiver is the memory of one connection in one room: for each poster the next sequence number,
// the holes before it, and the last position in the room's log. It stays small whatever the number of
// messages. It belongs to one loop.
type receiver struct {
	next    []uint32
	lastLog int64
	gaps    map[uint32][]span
	dropped map[uint32]int64 // posts of holes that maxGaps pushed out, per poster
}

func newReceiver(posters int) receiver {
	return receiver{next: make([]uint32, posters), lastLog: -1}
}

// take books a delivery. inOrder is false when its position in the room's log (the field seq of a
// message) is not above the last one; log is negative when the message had none, which only the
// caller can judge.
func (r *receiver) take(poster, seq uint32, log int64) (v verdict, inOrder bool) {
	inOrder = true
	if log >= 0 {
		inOrder = log > r.lastLog
		r.lastLog = max(log, r.lastLog)
	}
	if int64(poster) >= int64(len(r.next)) {
		return unknown, inOrder
	}
	switch next := r.next[poster]; {
	case seq == next:
		r.next[poster]++
		return fresh, inOrder
	case seq > next:
		r.addGap(poster, span{next, seq})
		r.next[poster] = seq + 1
		return fresh, inOrder
	default:
		if r.fillGap(poster, seq) {
			return late, inOrder
		}
		return repeated, inOrder
	}
}

func (r *receiver) addGap(poster uint32, s span) {
	if r.gaps == nil {
		r.gaps = make(map[uint32][]span)
	}
	list := append(r.gaps[poster], s)
	if len(list) > maxGaps {
		if r.dropped == nil {
			r.dropped = make(map[uint32]int64)
		}
		r.dropped[poster] += int64(list[0].to - list[0].from)
		list = slices.Delete(list, 0, 1)
	}
	r.gaps[poster] = list
}

// fillGap takes seq out of the poster's holes; false when it is in none.
func (r *receiver) fillGap(poster, seq uint32) bool {
	list := r.gaps[poster]
	for i, s := range list {
		if seq < s.from || seq >= s.to {
			continue
		}
		left, right := span{s.from, seq}, span{seq + 1, s.to}
		list = slices.Delete(list, i, i+1)
		if right.from < right.to {
			list = slices.Insert(list, i, right)
		}
		if left.from < left.to {
			list = slices.Insert(list, i, left)
		}
		r.gaps[poster] = list
		return true
	}
	return false
}

// missing counts the acknowledged posts of one poster that did not arrive. tail says whether those
// after the last one seen count too: they do not for a connection that closed early.
func (r *receiver) missing(poster uint32, sent *sent, tail bool) int64 {
	lost := r.dropped[poster]
	for _, s := range r.gaps[poster] {
		lost += sent.ackedIn(s)
	}
	if tail && r.next[poster] < sent.posted {
		lost += sent.ackedIn(span{r.next[poster], sent.posted})
	}
	return lost
}

// sent is the memory of one poster: which of its posts were acknowledged. Since nearly all are, it
// keeps the exceptions.
type sent struct {
	posted  uint32
	refused []uint32 // acknowledged with ok: false
	pending []pending
}

// pending is a post whose ack is awaited.
type pending struct {
	seq uint32
	due int64
}

// post books a new post and answers its sequence number.
func (s *sent) post(due int64) uint32 {
	seq := s.posted
	s.posted++
	s.pending = append(s.pending, pending{seq, due})
	return seq
}

// ack books the answer to a post; false when none such was awaited.
func (s *sent) ack(seq uint32, ok bool) (pending, bool) {
	i := slices.IndexFunc(s.pending, func(p pending) bool { return p.seq == seq })
	if i < 0 {
		return pending{}, false
	}
	p := s.pending[i]
	s.pending = slices.Delete(s.pending, i, i+1)
	if !ok {
		s.refused = append(s.refused, seq)
	}
	return p, true
}

// ackedIn counts the posts of a range that were acknowledged with ok: true.
func (s *sent) ackedIn(r span) int64 {
	n := int64(min(r.to, s.posted)) - int64(r.from)
	for _, seq := range s.refused {
		if seq >= r.from && seq < r.to {
			n--
		}
	}
	for _, p := range s.pending {
		if p.seq >= r.from && p.seq < r.to {
			n--
		}
	}
	return max(n, 0)
}
