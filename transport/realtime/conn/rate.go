package conn

import "time"

// pace is a token bucket in eight bytes (the generic cell rate algorithm): the time, in
// nanoseconds, at which the bucket is full again.
type pace int64

// take takes a token at now from a bucket that gains one every step and holds burst of them, and
// says how long the caller has to wait first. It may be called again only after that wait.
func (p *pace) take(now int64, step time.Duration, burst int) time.Duration {
	full := max(int64(*p), now) + int64(step)
	*p = pace(full)
	return max(time.Duration(full-now)-step*time.Duration(burst), 0)
}
