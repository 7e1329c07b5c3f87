package load

// pacer decides when one poster may post. With an interval it follows a fixed schedule that no
// slowness of the server moves: a late post keeps the time for which it was due. Without one it is a
// closed loop: the next post is due when the last was acknowledged, held back only by the bucket
// that keeps the socket below the server's limit of inbound events.
// Times are nanoseconds since the run began.
type pacer struct {
	due      int64 // of the next post
	end      int64 // no post is due at or after it
	interval int64 // 0: closed loop
	bucket   bucket
}

// fixedPacer is the schedule of poster number index of posters at a total rate in posts/s: together
// the posters' schedules are evenly spaced.
func fixedPacer(start, end int64, rate float64, index, posters int) pacer {
	gap := 1e9 / rate
	return pacer{
		due:      start + int64(float64(index)*gap),
		end:      end,
		interval: max(1, int64(float64(posters)*gap)),
	}
}

func closedPacer(start, end int64, socketRate float64) pacer {
	return pacer{due: start, end: end, bucket: bucket{interval: max(1, int64(1e9/socketRate)), burst: socketBurst}}
}

// fixed says whether the pacer follows a schedule.
func (p *pacer) fixed() bool { return p.interval > 0 }

// over says whether no post is left to be made. A late post of a schedule is still made; a closed
// loop ends with the clock.
func (p *pacer) over(now int64) bool {
	if !p.fixed() && now >= p.end {
		return true
	}
	return p.due >= p.end
}

// posted moves on after a post that went out at now, and answers the time from which its latency
// counts: the scheduled one, or, in a closed loop, now.
func (p *pacer) posted(now int64) int64 {
	if p.fixed() {
		due := p.due
		p.due += p.interval
		return due
	}
	return now
}

// acked plans the next post of a closed loop; held says that the bucket delays it.
func (p *pacer) acked(now int64) (held bool) {
	p.due = p.bucket.take(now)
	return p.due > now
}

// bucket is a token bucket in the form of the generic cell rate algorithm. Times are nanoseconds.
type bucket struct {
	interval int64 // between two events at the sustained rate
	burst    int64 // events that may come at once, at least 1
	next     int64 // theoretical arrival time
}

// take books an event wanted at now and answers when it may take place.
func (b *bucket) take(now int64) int64 {
	at := max(now, b.next-(b.burst-1)*b.interval)
	b.next = max(b.next, at) + b.interval
	return at
}

// turn is a poster's place in the order of posts to come.
type turn struct {
	due  int64
	slot int // of the connection in its loop
}

// turns is a binary heap of turns, the earliest first.
type turns []turn

func (h *turns) push(t turn) {
	s := append(*h, t)
	for i := len(s) - 1; i > 0; {
		parent := (i - 1) / 2
		if s[parent].due <= s[i].due {
			break
		}
		s[parent], s[i] = s[i], s[parent]
		i = parent
	}
	*h = s
}

// pop removes the earliest turn; the heap must not be empty.
func (h *turns) pop() turn {
	s := *h
	first, last := s[0], len(s)-1
	s[0] = s[last]
	s = s[:last]
	for i := 0; ; {
		child := 2*i + 1
		if child >= last {
			break
		}
		if child+1 < last && s[child+1].due < s[child].due {
			child++
		}
		if s[i].due <= s[child].due {
			break
		}
		s[i], s[child] = s[child], s[i]
		i = child
	}
	*h = s
	return first
}
