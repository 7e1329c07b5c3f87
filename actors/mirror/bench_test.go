package mirror_test

import (
	"sync/atomic"
	"testing"

	"parley/actors/actortest"
	"parley/actors/kernel"
	"parley/actors/mirror"
	"parley/persistence"
)

// counter is a socket that only counts.
type counter struct{ n atomic.Int64 }

func (c *counter) Deliver(events ...*mirror.Event) { c.n.Add(int64(len(events))) }

// BenchmarkFanOut is the cost of handing one event to one socket, in a room of a thousand.
func BenchmarkFanOut(b *testing.B) {
	const sockets = 1000
	w := actortest.New(b)
	ann := w.User("ann")
	room := w.Room(ann, "Room", false)
	last := &counter{}
	for i := range sockets {
		seat := &mirror.Seat{Socket: &counter{}, Account: ann.ID, Evicted: func(bool) {}}
		if i == sockets-1 {
			seat.Socket = last
		}
		if _, err := kernel.Ask[kernel.Done](ctx, w.Local, mirror.Ref(room), mirror.Attach{Seat: seat}); err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() {
			_, _ = kernel.Ask[kernel.Done](ctx, w.Local, mirror.Ref(room), mirror.Detach{Seat: seat})
		})
	}
	seq, data := uint64(2), []byte(`{"content":"hello"}`)
	for b.Loop() {
		seq++
		w.Publisher.Publish(room, []persistence.Event{{Seq: seq, At: int64(seq), Kind: "message", Data: data}})
		if seq%64 == 0 {
			for last.n.Load() < int64(seq-2) {
				continue
			}
		}
	}
	for last.n.Load() < int64(seq-2) {
		continue
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*sockets), "ns/delivery")
}
