package platform_test

import (
	"fmt"
	"sync"
	"testing"

	"parley/actors/account"
	"parley/actors/actortest"
	"parley/actors/kernel"
	"parley/persistence"
)

// Sessions that are being opened with the old password while it is changed do not outlive the change (decision 8).
func TestChangePasswordWhileSessionsOpen(t *testing.T) {
	w := actortest.New(t)
	for round := range 10 {
		ann := w.User(fmt.Sprint("ann", round)) // the hash of its password is "none"
		tokens := make([]string, 24)
		var wg sync.WaitGroup
		for i := range tokens {
			tokens[i] = account.NewSessionToken()
			wg.Go(func() {
				_, err := kernel.Ask[*account.Profile](ctx, w.Local, account.Ref(ann.ID), account.OpenSession{PasswordHash: "none",
					NewSession: account.NewSession{ID: fmt.Sprint("s", i), Hash: persistence.HashToken(tokens[i])}})
				if code, failed := actortest.Code(err); failed && code != kernel.CodeUnauthorized {
					t.Error(err)
				}
			})
			if i == len(tokens)/2 {
				wg.Go(func() {
					_, err := kernel.Ask[kernel.Done](ctx, w.Local, account.Ref(ann.ID), account.ChangePassword{Current: "none", Next: "other"})
					if err != nil {
						t.Error(err)
					}
				})
			}
		}
		wg.Wait()
		for _, token := range tokens {
			_, err := w.Platform.Authenticate(ctx, token)
			actortest.Wants(t, "a session of the old password", err, kernel.CodeUnauthorized)
		}
	}
}
