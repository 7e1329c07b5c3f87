package rest_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"parley/actors/account"
	"parley/actors/actortest"
	"parley/actors/agency"
	"parley/actors/kernel"
	"parley/actors/platform"
	"parley/persistence"
	"parley/transport/rest"
)

// BenchmarkHistory is the cost of a page of 50 messages by a request with a session token, without what the HTTP server
// and the kernel add.
func BenchmarkHistory(b *testing.B) {
	w := actortest.New(b)
	token := account.NewSessionToken()
	p, err := kernel.Ask[*account.Profile](b.Context(), w.Local, account.Ref("ann"), account.RegisterUser{Username: "ann", PasswordHash: "x",
		Session: account.NewSession{ID: "s", Hash: persistence.HashToken(token)}})
	if err != nil {
		b.Fatal(err)
	}
	ann := &platform.Identity{Sender: p.Sender()}
	room := w.Room(ann, "Room", false)
	writers := []*platform.Identity{ann}
	for i := range 9 {
		u := w.User(fmt.Sprint("user", i))
		w.Join(room, u)
		writers = append(writers, u)
	}
	for i := range 100 {
		if _, _, err := w.Platform.Post(b.Context(), writers[i%10], room, agency.NewMessage{
			Content: fmt.Sprintf("message %d: <b>the quick brown fox</b> jumps over the lazy dog, and the dog does not even wake up", i)}); err != nil {
			b.Fatal(err)
		}
	}
	home, _ := url.Parse("https://chat.test")
	api, err := rest.New(rest.Options{Service: w.Platform, Vendors: []string{"Service"}, PublicURL: home, WebURL: home, Logger: actortest.Quiet()})
	if err != nil {
		b.Fatal(err)
	}
	r := httptest.NewRequest(http.MethodGet, "/api/agencies/"+room+"/messages", nil)
	r.Header.Set("Authorization", "Bearer "+token)
	b.ReportAllocs()
	report := actortest.CPU(b)
	for b.Loop() {
		rec := httptest.NewRecorder()
		api.ServeHTTP(rec, r)
		if rec.Code != http.StatusOK || rec.Body.Len() < 20_000 {
			b.Fatal(rec.Code, rec.Body.Len())
		}
	}
	report()
}
