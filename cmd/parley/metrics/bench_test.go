package metrics

import (
	"sync/atomic"
	"testing"

	"parley/actors/actortest"
	"parley/actors/kernel"
	"parley/actors/mirror"
	"parley/persistence"
)

// counting is a socket that only counts.
type counting struct{ n atomic.Int64 }

func (c *counting) Deliver(events ...*mirror.Event) { c.n.Add(int64(len(events))) }

// BenchmarkFanOut hands events to a room of ten sockets, with and without being measured.
func BenchmarkFanOut(b *testing.B) {
	const sockets = 10
	for name, meter := range map[string]kernel.Meter{"measured": New(Options{}), "not": nil} {
		b.Run(name, func(b *testing.B) {
			w := actortest.NewMetered(b, meter)
			ann := w.User("ann")
			room := w.Room(ann, "Room", false)
			all := &counting{}
			for range sockets {
				seat := &mirror.Seat{Socket: all, Account: ann.ID, Evicted: func(bool) {}}
				if _, err := kernel.Ask[kernel.Done](b.Context(), w.Local, mirror.Ref(room), mirror.Attach{Seat: seat}); err != nil {
					b.Fatal(err)
				}
				b.Cleanup(func() { w.Local.Call(mirror.Ref(room), mirror.Detach{Seat: seat}, func(any, error) {}) })
			}
			joined := all.n.Load()
			events, data := int64(0), []byte(`{"content":"hello"}`)
			arrived := func() bool { return all.n.Load()-joined == events*sockets }
			for b.Loop() {
				events++
				w.Publisher.Publish(room, []persistence.Event{{Seq: uint64(events) + 2, At: events, Kind: "message", Data: data}})
				for events%64 == 0 && !arrived() {
					continue
				}
			}
			for !arrived() {
				continue
			}
		})
	}
}
