package kernel

import "time"

// Meter is told what the actors do. Its methods are called from any goroutine and in the midst of the work: they must not
// wait, lock or allocate. What can be looked up at any time instead (Queues, Census) is not told.
type Meter interface {
	// Committed tells of one round trip to the store: how many batches it carried, how many of them the store refused, and
	// how long it took.
	Committed(batches, refused int, took time.Duration)
	// Queued tells how many calls a call to an actor of the directory found in front of it.
	Queued(calls int)
	// Overloaded tells of a call that was refused with ErrOverloaded.
	Overloaded(k Kind)
	// Failed tells of an actor that panicked.
	Failed()
	// FannedOut tells of events that were handed to each of some sockets.
	FannedOut(events, sockets int)
	// FanOutTook tells how long that took, for some of the times: reading a clock costs more than the rest of measuring.
	FanOutTook(took time.Duration)
}

// noMeter is the Meter of those who do not measure.
type noMeter struct{}

func (noMeter) Committed(int, int, time.Duration) {}
func (noMeter) Queued(int)                        {}
func (noMeter) Overloaded(Kind)                   {}
func (noMeter) Failed()                           {}
func (noMeter) FannedOut(int, int)                {}
func (noMeter) FanOutTook(time.Duration)          {}

// Queues is what waits in a System at one moment.
type Queues struct {
	Batches     int // in front of the committer
	BatchBytes  int // their size in bytes
	Reads       int // in front of the reading pool
	ReadWorkers int // reads that are being done
}

// Queues looks at the queues.
func (s *System) Queues() Queues {
	var q Queues
	c := s.committer
	c.mu.Lock()
	q.Batches, q.BatchBytes = len(c.queue), c.bytes
	c.mu.Unlock()
	p := s.readers
	p.mu.Lock()
	q.Reads, q.ReadWorkers = len(p.queue), p.workers
	p.mu.Unlock()
	return q
}

// Headcount is what a Census finds of one kind of actors.
type Headcount struct {
	Awake   int // actors
	Waiting int // messages in their mailboxes
	Deepest int // messages in the fullest of them
}

// Census counts the actors that are awake, for each kind that is registered. It looks at every mailbox, which takes a few
// milliseconds for a hundred thousand actors and holds up none of them for longer than a sixty-fourth of that.
func (l *Local) Census() map[Kind]Headcount {
	found := make(map[Kind]Headcount, len(l.kinds))
	for k := range l.kinds {
		found[k] = Headcount{}
	}
	for i := range l.shards {
		sh := &l.shards[i]
		sh.Lock()
		for ref, r := range sh.actors {
			h := found[ref.Kind]
			depth := r.process.box.UserMessageCount()
			h.Awake++
			h.Waiting += depth
			h.Deepest = max(h.Deepest, depth)
			found[ref.Kind] = h
		}
		sh.Unlock()
	}
	return found
}
