// Package actortest wires the actors for tests: over an embedded store in a folder of the test, with faults that can be
// scripted and a clock that the test drives.
package actortest

import (
	"sync/atomic"
	"time"
)

// Clock stands still until the test moves it. It may be used from any goroutine.
type Clock struct{ at atomic.Int64 }

// NewClock returns a clock at the beginning of 2026.
func NewClock() *Clock {
	c := &Clock{}
	c.at.Store(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano())
	return c
}

// Now returns the clock's time.
func (c *Clock) Now() time.Time { return time.Unix(0, c.at.Load()).UTC() }

// Advance moves the clock.
func (c *Clock) Advance(d time.Duration) { c.at.Add(int64(d)) }
