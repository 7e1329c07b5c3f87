package mirror_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"parley/actors/account"
	"parley/actors/actortest"
	"parley/actors/agency"
	"parley/actors/mirror"
	"parley/actors/platform"
	"parley/actors/session"
)

// tally is a session's socket that only counts.
type tally struct{ presence, messages *atomic.Int64 }

func (s *tally) Deliver(events ...*mirror.Event) {
	for _, e := range events {
		switch e.Name {
		case mirror.EventMemberPresence:
			s.presence.Add(1)
		case agency.EventMessage:
			s.messages.Add(1)
		}
	}
}
func (*tally) Revoked() {}
func (*tally) Restart() {}

// BenchmarkPresence is what it costs when so many members come into one room at once and go again, with all that is told
// of it: a join must cost the same among ten times as many.
func BenchmarkPresence(b *testing.B) {
	for _, n := range []int{1000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			w := actortest.New(b)
			ann := w.User("ann")
			room := w.Room(ann, "Room", false)
			w.Populate(room, n)
			var told, messages atomic.Int64
			done := actortest.CPU(b)
			for b.Loop() {
				sessions := make([]*session.Session, n)
				actortest.PipelineOf(b, n, 256, func(i int, done func(error)) {
					who := &platform.Identity{Sender: account.Sender{ID: fmt.Sprintf("m%07d", i), Type: account.User}, Session: fmt.Sprint(i)}
					var err error
					if sessions[i], err = w.Open(who, &tally{&told, &messages}); err != nil {
						b.Fatal(err)
					}
					sessions[i].Do(session.Join{AgencyID: room}, func(_ any, err error) { done(err) })
				})
				time.Sleep(1100 * time.Millisecond) // until it is told
				for _, s := range sessions {
					s.Close()
				}
				w.Eventually("all have gone", func() bool { return w.Registry.Len() == 0 })
			}
			done()
			b.ReportMetric(float64(told.Load())/float64(b.N*n), "told/join")
		})
	}
}

// BenchmarkDirect is a message in a direct message to one connection that has not joined, and what it costs to connect with
// a thousand of them.
func BenchmarkDirect(b *testing.B) {
	w := actortest.New(b)
	ann, bob := w.User("ann"), w.User("bob")
	dm := openDM(b, w, ann, bob)
	for i := range 1000 {
		openDM(b, w, w.User(fmt.Sprint("peer", i)), ann)
	}
	var told, messages atomic.Int64
	b.Run("connect", func(b *testing.B) {
		for b.Loop() {
			s, err := w.Open(ann, &tally{&told, &messages})
			if err != nil {
				b.Fatal(err)
			}
			s.Close()
		}
	})
	b.Run("message", func(b *testing.B) {
		s, err := w.Open(ann, &tally{&told, &messages})
		if err != nil {
			b.Fatal(err)
		}
		defer s.Close()
		messages.Store(0)
		actortest.Pipeline(b, 64, func(_ int, done func(error)) {
			w.Local.Call(agency.Ref(dm), agency.Post{Who: bob.Sender, NewMessage: agency.NewMessage{Content: "hello"}}, func(_ any, err error) { done(err) })
		})
		w.Eventually("all of them", func() bool { return messages.Load() == int64(b.N) })
	})
}
