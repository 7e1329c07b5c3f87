package agency

import (
	"context"
	"errors"

	"parley/actors/account"
	"parley/actors/kernel"
	"parley/persistence"
)

// settleIn answers one who has become a member, once it is certain that its account is still there. An account that ends
// has its memberships ended (Forget), those that it has then: a request that was let in before the end may come behind
// that. It is asked behind the commit, since an end that comes later finds the membership. When the store can't tell, or
// the server ends in between, the account's end looks again some time later.
func (a *Agency) settleIn(t *kernel.Turn, who account.Sender, answer any) {
	if who.ID == "" { // nobody founds the Lobby
		t.Reply(answer)
		return
	}
	kernel.Load(t, func(ctx context.Context, s persistence.Store) (bool, error) {
		_, err := s.Document(ctx, persistence.CollectionAccount, who.ID)
		return errors.Is(err, persistence.ErrNotFound), nil
	}, func(gone bool, _ error) {
		if !gone {
			t.Reply(answer)
			return
		}
		t.Fail(kernel.Fail(kernel.CodeUnauthorized, "this account has been deleted"))
		a.forget(t, Forget{Who: who}) // its answer comes too late, and is dropped
	})
}
