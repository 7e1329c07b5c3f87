package agency_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"parley/actors/account"
	"parley/actors/actortest"
	"parley/actors/agency"
	"parley/actors/kernel"
	"parley/actors/platform"
)

// inFlight is the number of commands on their way in the benchmarks of throughput.
const inFlight = 512

// sized runs a benchmark in agencies of 10 and of 100,000 members: the cost must be the same.
func sized(b *testing.B, run func(b *testing.B, w *actortest.World, owner *platform.Identity, room string)) {
	for _, size := range []int{10, 100_000} {
		w := actortest.New(b)
		owner := w.User("owner")
		room := w.Room(owner, "Room", false)
		w.Populate(room, size)
		b.Run(fmt.Sprint("members=", size), func(b *testing.B) { run(b, w, owner, room) })
	}
}

func someone(kind string, n, i int) account.Sender {
	return account.Sender{ID: fmt.Sprint(kind, n, "-", i), Username: "x", Type: account.User}
}

func BenchmarkAgencyPost(b *testing.B) {
	sized(b, func(b *testing.B, w *actortest.World, owner *platform.Identity, room string) {
		actortest.Pipeline(b, inFlight, func(_ int, done func(error)) {
			w.Local.Call(agency.Ref(room), agency.Post{Who: owner.Sender, NewMessage: agency.NewMessage{Content: "hello"}}, func(_ any, err error) { done(err) })
		})
	})
}

func BenchmarkAgencyJoin(b *testing.B) {
	sized(b, func(b *testing.B, w *actortest.World, _ *platform.Identity, room string) {
		actortest.Pipeline(b, inFlight, func(i int, done func(error)) {
			w.Local.Call(agency.Ref(room), agency.Enter{Who: someone("j", b.N, i)}, func(_ any, err error) { done(err) })
		})
	})
}

func BenchmarkAgencyLeave(b *testing.B) {
	sized(b, func(b *testing.B, w *actortest.World, _ *platform.Identity, room string) {
		actortest.Pipeline(b, inFlight, func(i int, done func(error)) {
			w.Local.Call(agency.Ref(room), agency.Enter{Who: someone("l", b.N, i)}, func(_ any, err error) { done(err) })
		})
		b.ResetTimer()
		actortest.Pipeline(b, inFlight, func(i int, done func(error)) {
			w.Local.Call(agency.Ref(room), agency.Leave{Who: someone("l", b.N, i)}, func(_ any, err error) { done(err) })
		})
	})
}

// BenchmarkHotRoom is the number of durable posts a second through one agency.
func BenchmarkHotRoom(b *testing.B) {
	w := actortest.New(b)
	owner := w.User("owner")
	room := w.Room(owner, "Room", false)
	b.ResetTimer()
	actortest.Pipeline(b, 2048, func(_ int, done func(error)) {
		w.Local.Call(agency.Ref(room), agency.Post{Who: owner.Sender, NewMessage: agency.NewMessage{Content: "hello"}}, func(_ any, err error) { done(err) })
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "posts/s")
}

// BenchmarkProse is BenchmarkHotRoom with messages of ten words out of 50,000, as they go into the index of words.
func BenchmarkProse(b *testing.B) {
	w := actortest.New(b)
	owner := w.User("owner")
	room := w.Room(owner, "Room", false)
	z := rand.NewZipf(rand.New(rand.NewPCG(1, 2)), 1.1, 4, 50_000)
	texts := make([]string, 20_000)
	for i := range texts {
		for range 10 {
			texts[i] += fmt.Sprintf("w%d ", z.Uint64())
		}
	}
	b.ResetTimer()
	actortest.Pipeline(b, 2048, func(i int, done func(error)) {
		w.Local.Call(agency.Ref(room), agency.Post{Who: owner.Sender, NewMessage: agency.NewMessage{Content: texts[i%len(texts)]}}, func(_ any, err error) { done(err) })
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "posts/s")
}

// BenchmarkManyRooms is the same over a thousand agencies.
func BenchmarkManyRooms(b *testing.B) {
	w := actortest.New(b)
	owner := w.User("owner")
	var rooms []kernel.Ref
	for i := range 1000 {
		id := fmt.Sprint("room", i)
		if _, err := ask[*agency.Record](w, id, agency.Found{NewAgency: agency.NewAgency{Name: "Room", Slug: id}, Kind: agency.Room, Owner: owner.Sender}); err != nil {
			b.Fatal(err)
		}
		rooms = append(rooms, agency.Ref(id))
	}
	b.ResetTimer()
	actortest.Pipeline(b, 2048, func(i int, done func(error)) {
		w.Local.Call(rooms[i%len(rooms)], agency.Post{Who: owner.Sender, NewMessage: agency.NewMessage{Content: "hello"}}, func(_ any, err error) { done(err) })
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "posts/s")
}

// BenchmarkWake wakes an agency with one command and puts it to sleep again.
func BenchmarkWake(b *testing.B) {
	for _, size := range []int{10, 1_000_000} {
		w := actortest.New(b)
		owner := w.User("owner")
		room := w.Room(owner, "Room", false)
		w.Populate(room, size)
		b.Run(fmt.Sprint("members=", size), func(b *testing.B) {
			for range b.N {
				if _, err := ask[agency.Watched](w, room, agency.Watch{}); err != nil {
					b.Fatal(err)
				}
				for w.Local.TellResident(agency.Ref(room), kernel.Sweep{}) {
					continue
				}
			}
		})
	}
}
