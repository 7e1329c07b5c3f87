package platform_test

import (
	"testing"

	"parley/actors/account"
	"parley/actors/actortest"
	"parley/actors/kernel"
	"parley/persistence"
)

// BenchmarkAuthenticate is the cost of finding who a session token belongs to.
func BenchmarkAuthenticate(b *testing.B) {
	w := actortest.New(b)
	token := account.NewSessionToken()
	if _, err := kernel.Ask[*account.Profile](ctx, w.Local, account.Ref("ann"), account.RegisterUser{Username: "ann", PasswordHash: "x",
		Session: account.NewSession{ID: "s", Hash: persistence.HashToken(token)}}); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := w.Platform.Authenticate(ctx, token); err != nil {
			b.Fatal(err)
		}
	}
}
