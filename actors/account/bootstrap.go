package account

import "parley/actors/kernel"

// GetBootstrap asks for what a hosted agent starts with, in the name of who has shown the agent's permanent token
// (decision 25). It answers with a *Bootstrap; CodeUnauthorized when the token is another by now, CodeForbidden while the
// agent is not verified.
type GetBootstrap struct {
	TokenHash string
}

// Bootstrap is the answer to GetBootstrap.
type Bootstrap struct {
	Profile *Profile
	Config  Config // its secrets masked
}

func (a *Account) getBootstrap(t *kernel.Turn, c GetBootstrap) {
	if err := a.mayExchange(c.TokenHash); err != nil {
		t.Fail(err)
		return
	}
	b := &Bootstrap{a.profile(), a.showConfig(t, &a.s.stored, a.s.Config, "", false)}
	t.AfterCommits(func() { t.Reply(b) })
}

// mayExchange admits who has shown the agent's permanent token, if the agent is verified.
func (a *Account) mayExchange(tokenHash string) error {
	switch {
	case !same(tokenHash, a.s.TokenHash):
		return kernel.Fail(kernel.CodeUnauthorized, "invalid agent token")
	case !a.s.Verified:
		return kernel.Forbidden("this agent is not verified yet; its owner must verify it first")
	default:
		return nil
	}
}
