package rest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"parley/actors/account"
	"parley/actors/actortest"
	"parley/actors/agency"
	"parley/actors/kernel"
	"parley/persistence"
	"parley/transport/rest"
)

// listBench is a server with n public agencies and a caller who is a member of some.
func listBench(b *testing.B, n, member int) (*actortest.World, http.Handler, *http.Request) {
	b.Helper()
	w := actortest.New(b)
	w.FillDirectory(n - 1) // and the Lobby
	token := account.NewSessionToken()
	if _, err := kernel.Ask[*account.Profile](b.Context(), w.Local, account.Ref("ann"), account.RegisterUser{Username: "ann", PasswordHash: "x",
		Session: account.NewSession{ID: "s", Hash: persistence.HashToken(token)}}); err != nil {
		b.Fatal(err)
	}
	w.Enroll("ann", member)
	base, err := url.Parse("http://127.0.0.1")
	if err != nil {
		b.Fatal(err)
	}
	api, err := rest.New(rest.Options{Service: w.Platform, PublicURL: base, Logger: actortest.Quiet()})
	if err != nil {
		b.Fatal(err)
	}
	r := httptest.NewRequest(http.MethodGet, "/api/agencies", nil)
	r.Header.Set("Authorization", "Bearer "+token)
	return w, api, r
}

// discard is an answer that nobody keeps.
type discard struct {
	header http.Header
	bytes  int
	status int
}

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) WriteHeader(status int)      { d.status = status }
func (d *discard) Write(p []byte) (int, error) { d.bytes += len(p); return len(p), nil }

// churn makes accounts join a room, perSecond of them, until it is ended.
func churn(b *testing.B, w *actortest.World, perSecond int) (end func()) {
	b.Helper()
	owner := w.User("owner")
	rooms := make([]string, 10)
	for i := range rooms {
		rooms[i] = w.Room(owner, fmt.Sprint("Busy ", i), false)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		from := time.Now()
		for i := 0; ctx.Err() == nil; time.Sleep(time.Millisecond) {
			for ; i < int(time.Since(from).Seconds()*float64(perSecond)); i++ {
				who := account.Sender{ID: fmt.Sprint("j", i), Username: "j", Type: account.User}
				w.Local.Call(agency.Ref(rooms[i%len(rooms)]), agency.Enter{Who: who}, func(any, error) {})
			}
		}
	}()
	return func() { cancel(); <-done }
}

// BenchmarkListAgencies is GET /api/agencies through the whole transport, without a network.
func BenchmarkListAgencies(b *testing.B) {
	for _, c := range []struct{ rooms, member, joins int }{
		{200, 5, 0}, {200, 199, 0}, {200, 5, 1000}, {200, 199, 1000}, {10_000, 5, 0}, {10_000, 5, 1000},
	} {
		b.Run(fmt.Sprintf("rooms=%d/member=%d/joins=%d", c.rooms, c.member, c.joins), func(b *testing.B) {
			w, api, r := listBench(b, c.rooms, c.member)
			if c.joins > 0 {
				defer churn(b, w, c.joins)()
			}
			b.ReportAllocs()
			bytes := 0
			for b.Loop() {
				answer := &discard{header: http.Header{}}
				api.ServeHTTP(answer, r)
				if answer.status != http.StatusOK {
					b.Fatal(answer.status)
				}
				bytes = answer.bytes
			}
			b.ReportMetric(float64(bytes), "bytes")
		})
	}
}

// BenchmarkListOneByOne is what a list costs that reads every record by itself and encodes it for this request.
func BenchmarkListOneByOne(b *testing.B) {
	for _, rooms := range []int{200, 10_000} {
		b.Run(fmt.Sprintf("rooms=%d", rooms), func(b *testing.B) {
			w, _, _ := listBench(b, rooms, 0)
			for b.Loop() {
				views := make([]agency.View, 0, rooms)
				for i := range rooms - 1 {
					doc, err := w.Store.Document(b.Context(), persistence.CollectionAgency, actortest.RoomID(i))
					if err != nil {
						b.Fatal(err)
					}
					r, err := agency.DecodeRecord(doc)
					if err != nil {
						b.Fatal(err)
					}
					views = append(views, agency.NewView(r, ""))
				}
				if _, err := json.Marshal(views); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
