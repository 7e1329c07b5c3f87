package platform_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/actors/account"
	"parley/actors/actortest"
	"parley/actors/kernel"
	"parley/actors/platform"
	"parley/persistence"
)

var linkForm = regexp.MustCompile(`https://api\.test/api/agents/claim/verify/([0-9a-f]{48})`)

// wild registers an agent without an owner.
func wild(w *actortest.World, name string) *platform.Registered {
	w.T.Helper()
	r, err := w.Platform.RegisterAgent(ctx, platform.SelfRegistration{Name: name, Description: "wild"})
	if err != nil {
		w.T.Fatal(err)
	}
	return r
}

// claim asks for an agent and returns the token in the mail.
func claim(w *actortest.World, id *platform.Identity, code, email string) string {
	w.T.Helper()
	n := len(w.Mailbox.Mails())
	if _, err := w.Platform.ClaimAgent(ctx, id, code, email); err != nil {
		w.T.Fatal(err)
	}
	return mailed(w, n)
}

// mailed waits for the mail behind the first n and returns the token in it.
func mailed(w *actortest.World, n int) string {
	w.T.Helper()
	w.Eventually("the mail", func() bool { return len(w.Mailbox.Mails()) > n })
	m := linkForm.FindStringSubmatch(w.Mailbox.Mails()[n].Text)
	if m == nil {
		w.T.Fatalf("no link in %s", w.Mailbox.Mails()[n].Text)
	}
	return m[1]
}

func pending(w *actortest.World) (unclaimed, claims int64) {
	c := counters(w)
	return c[persistence.CountUnclaimed], c[persistence.CountPendingClaims]
}

func TestClaim(t *testing.T) {
	w := actortest.New(t)
	ann, bob := w.User("ann"), w.User("bob")
	r := wild(w, "Wild <One>")
	for code, claimed := range map[string]bool{r.ClaimCode: false, " " + strings.ToUpper(r.ClaimCode): false} {
		if page, err := w.Platform.ClaimPage(ctx, code); err != nil || page.Agent.ID != r.Agent.ID || page.Claimed != claimed {
			t.Errorf("page: %+v, %v", page, err)
		}
	}
	_, err := w.Platform.ClaimPage(ctx, "none")
	actortest.Wants(t, "the page of no code", err, kernel.CodeNotFound)

	expires, err := w.Platform.ClaimAgent(ctx, ann, r.ClaimCode, "ann@mail.test")
	if err != nil || !expires.Equal(w.Clock.Now().Add(account.ClaimLife)) {
		t.Fatal(expires, err)
	}
	token := mailed(w, 0)
	m := w.Mailbox.Mails()[0]
	if m.To != "ann@mail.test" || m.Subject != "Claim the agent Wild <One>" || !strings.Contains(m.HTML, token) || strings.Contains(m.HTML, "<One>") ||
		!strings.Contains(m.Text, "ann wants") || !strings.Contains(m.Text, "01:00 on 1 January 2026") {
		t.Errorf("the mail: %+v", m)
	}
	if u, p := pending(w); u != 1 || p != 1 {
		t.Errorf("%d unclaimed, %d pending", u, p)
	}
	for range 2 { // a double click
		p, err := w.Platform.VerifyClaim(ctx, token)
		if err != nil || p.OwnerID != ann.ID {
			t.Fatal(p, err)
		}
	}
	if u, p := pending(w); u != 0 || p != 0 || outbox(w) != 0 {
		t.Errorf("%d unclaimed, %d pending, %d errands", u, p, outbox(w))
	}
	if page, err := w.Platform.ClaimPage(ctx, r.ClaimCode); err != nil || !page.Claimed {
		t.Errorf("the page afterwards: %+v, %v", page, err)
	}
	_, err = w.Platform.ClaimAgent(ctx, bob, r.ClaimCode, "bob@mail.test")
	actortest.Wants(t, "claiming what is claimed", err, kernel.CodeTaken)
	if got := owns(w, ann); len(got) != 1 {
		t.Errorf("the owner's list: %v", got)
	}
	if _, _, err := w.Platform.ExchangeAgentToken(ctx, r.Token); err != nil {
		t.Errorf("its token: %v", err)
	}
	if _, _, err := w.Platform.TransferAgent(ctx, ann, r.Agent.ID, platform.NewOwner{ID: bob.ID}); err != nil {
		t.Fatal(err)
	}
	_, err = w.Platform.VerifyClaim(ctx, token)
	actortest.Wants(t, "the link after a transfer", err, kernel.CodeTaken)
	if err := w.Platform.DeleteAgent(ctx, bob, r.Agent.ID); err != nil {
		t.Fatal(err)
	}
	_, err = w.Platform.VerifyClaim(ctx, token)
	actortest.Wants(t, "the link after the agent's end", err, kernel.CodeNotFound)
	_, err = w.Platform.ClaimPage(ctx, r.ClaimCode)
	actortest.Wants(t, "the page after the agent's end", err, kernel.CodeNotFound)
	if u, p := pending(w); u != 0 || p != 0 {
		t.Errorf("%d unclaimed, %d pending", u, p)
	}
}

func TestClaimRules(t *testing.T) {
	w := actortest.New(t)
	ann := w.User("ann")
	r := wild(w, "wild")
	for _, email := range []string{"", "ann", "ann@", "@mail.test", "Ann <ann@mail.test>", "a@b.test, c@d.test", "a@b.test\r\nBcc: c@d.test", "a b@c.test",
		"a\x00@b.test", "ä@b.test", `"a b"@c.test`, strings.Repeat("a", 65) + "@b.test", "a@" + strings.Repeat("b", 250) + ".test", "a@b@c.test", "a@b.test;c@d.test"} {
		_, err := w.Platform.ClaimAgent(ctx, ann, r.ClaimCode, email)
		actortest.Wants(t, email, err, kernel.CodeInvalid)
	}
	_, err := w.Platform.ClaimAgent(ctx, ann, "none", "ann@mail.test")
	actortest.Wants(t, "no such code", err, kernel.CodeNotFound)
	_, err = w.Platform.ClaimAgent(ctx, &platform.Identity{Sender: r.Agent.Sender()}, r.ClaimCode, "ann@mail.test")
	actortest.Wants(t, "an agent claims", err, kernel.CodeForbidden)
	for _, token := range []string{"", "none", strings.Repeat("x", 300), r.ClaimCode} {
		_, err := w.Platform.VerifyClaim(ctx, token)
		actortest.Wants(t, token, err, kernel.CodeNotFound)
	}

	tokens := []string{claim(w, ann, r.ClaimCode, "a@mail.test"), claim(w, ann, r.ClaimCode, "b@mail.test"), claim(w, ann, r.ClaimCode, "c@mail.test")}
	_, err = w.Platform.ClaimAgent(ctx, ann, r.ClaimCode, "d@mail.test")
	actortest.Wants(t, "a fourth", err, kernel.CodeLimited)
	if wait := kernel.AsError(err).RetryAfter; wait != account.ClaimLife {
		t.Errorf("come back in %s", wait)
	}
	if _, p := pending(w); p != 3 {
		t.Errorf("%d pending", p)
	}
	w.Clock.Advance(account.ClaimLife)
	_, err = w.Platform.VerifyClaim(ctx, tokens[0])
	actortest.Wants(t, "too late", err, kernel.CodeGone)
	runErrands(w) // the end of each request is an errand
	if u, p := pending(w); u != 1 || p != 0 {
		t.Errorf("%d unclaimed, %d pending after an hour", u, p)
	}
	again := claim(w, ann, r.ClaimCode, "a@mail.test")
	_, err = w.Platform.VerifyClaim(ctx, tokens[1])
	actortest.Wants(t, "an old link beside a new one", err, kernel.CodeGone)
	if _, err := w.Platform.VerifyClaim(ctx, again); err != nil {
		t.Error(err)
	}
}

// A request that expired before any errand could end it makes room for the next one.
func TestExpiredClaimsMakeRoom(t *testing.T) {
	w := actortest.New(t)
	ann := w.User("ann")
	r := wild(w, "wild")
	for range 3 * account.MaxPendingClaims {
		claim(w, ann, r.ClaimCode, "a@mail.test")
		w.Clock.Advance(account.ClaimLife / 2)
	}
	if _, p := pending(w); p < 1 || p > account.MaxPendingClaims {
		t.Errorf("%d pending", p)
	}
	w.Clock.Advance(account.ClaimLife)
	runErrands(w)
	if _, p := pending(w); p != 0 {
		t.Errorf("%d pending in the end", p)
	}
}

// Of two claimants the first to follow the link gets the agent; links followed at the same time agree.
func TestClaimRaces(t *testing.T) {
	w := actortest.New(t)
	for round := range 8 {
		ann, bob := w.User(fmt.Sprint("ann", round)), w.User(fmt.Sprint("bob", round))
		r := wild(w, fmt.Sprint("wild", round))
		tokens := []string{claim(w, ann, r.ClaimCode, "a@mail.test"), claim(w, bob, r.ClaimCode, "b@mail.test")}
		var mu sync.Mutex
		won := map[string]int{}
		var wg sync.WaitGroup
		for i := range 6 {
			wg.Go(func() {
				p, err := w.Platform.VerifyClaim(ctx, tokens[i%2])
				if err != nil {
					actortest.Wants(t, "the second", err, kernel.CodeTaken)
					return
				}
				mu.Lock()
				defer mu.Unlock()
				won[p.OwnerID]++
			})
		}
		wg.Wait()
		if len(won) != 1 || won[ann.ID]+won[bob.ID] != 3 {
			t.Errorf("winners: %v", won)
		}
	}
	runErrands(w)
	if u, p := pending(w); u != 0 || p != 0 {
		t.Errorf("%d unclaimed, %d pending", u, p)
	}
	checkOwners(t, w)
}

// Whose account is deleted takes its claims along, whether before the link is followed or while it is.
func TestClaimOfTheDeleted(t *testing.T) {
	w := actortest.New(t)
	ann := w.User("ann")
	r := wild(w, "wild")
	token := claim(w, ann, r.ClaimCode, "a@mail.test")
	if err := w.Platform.DeleteAccount(ctx, ann, nil); err != nil {
		t.Fatal(err)
	}
	_, err := w.Platform.VerifyClaim(ctx, token)
	actortest.Wants(t, "the link", err, kernel.CodeNotFound)
	if u, p := pending(w); u != 1 || p != 0 {
		t.Errorf("%d unclaimed, %d pending", u, p)
	}
	for i := range 10 {
		bob := w.User(fmt.Sprint("bob", i))
		r := wild(w, fmt.Sprint("wild", i))
		token := claim(w, bob, r.ClaimCode, "b@mail.test")
		var wg sync.WaitGroup
		wg.Go(func() { _, _ = w.Platform.VerifyClaim(ctx, token) })
		wg.Go(func() {
			if err := w.Platform.DeleteAccount(ctx, bob, nil); err != nil {
				t.Error(err)
			}
		})
		wg.Wait()
	}
	w.Clock.Advance(account.ClaimLife)
	runErrands(w)
	if _, p := pending(w); p != 0 {
		t.Errorf("%d pending", p)
	}
	checkOwners(t, w)
	checkBooks(t, w)
}

// Mail is tried again with growing pauses, also by the next life of the server, but not for ever.
func TestMailIsTriedAgain(t *testing.T) {
	w := actortest.New(t)
	ann := w.User("ann")
	r := wild(w, "wild")
	down := errors.New("connection refused")
	w.Mailbox.Fail(down, down)
	if _, err := w.Platform.ClaimAgent(ctx, ann, r.ClaimCode, "a@mail.test"); err != nil {
		t.Fatal(err)
	}
	w.Eventually("the first try", func() bool { return w.Mailbox.Tries() == 1 })
	look := func() { // a courier that starts looks at once
		w.T.Helper()
		w.NewPlatform().Close()
	}
	look()
	if n := w.Mailbox.Tries(); n != 1 {
		t.Fatalf("%d tries at once", n)
	}
	w.Clock.Advance(5 * time.Second)
	w.Crash()
	w.Eventually("the second try", func() bool { return w.Mailbox.Tries() == 2 })
	w.Clock.Advance(19 * time.Second)
	look()
	if n := w.Mailbox.Tries(); n != 2 {
		t.Fatalf("%d tries before the third is due", n)
	}
	w.Clock.Advance(time.Second)
	w.Restart()
	token := mailed(w, 0)
	w.Eventually("the errand's end", func() bool { return outbox(w) == 1 })
	if _, err := w.Platform.VerifyClaim(ctx, token); err != nil {
		t.Error(err)
	}

	for _, c := range []struct {
		name  string
		fails []error
	}{
		{"refused", []error{fmt.Errorf("no such mailbox: %w", platform.ErrUndeliverable)}},
		{"hopeless", []error{down, down, down, down, down, down}},
	} {
		r := wild(w, c.name)
		before := w.Mailbox.Tries()
		w.Mailbox.Fail(c.fails...)
		if _, err := w.Platform.ClaimAgent(ctx, ann, r.ClaimCode, "a@mail.test"); err != nil {
			t.Fatal(err)
		}
		for i := range c.fails {
			w.Eventually(c.name, func() bool { return w.Mailbox.Tries() == before+i+1 })
			if i+1 < len(c.fails) {
				w.Clock.Advance(1280 * time.Second / time.Duration([]int{256, 64, 16, 4, 1}[i]))
				w.Restart()
			}
		}
		w.Eventually("giving up", func() bool { _, p := pending(w); return p == 0 && outbox(w) == 0 })
	}
}

// A server without a way to send mail says so.
func TestNoMailer(t *testing.T) {
	w := actortest.New(t)
	ann := w.User("ann")
	r := wild(w, "wild")
	o := w.Platform.Options
	o.Mailer = nil
	p, err := platform.New(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	_, err = p.ClaimAgent(ctx, ann, r.ClaimCode, "a@mail.test")
	actortest.Wants(t, "claim", err, kernel.CodeUnavailable)
}

// A name that would carry a link into somebody's mail is left out of it.
func TestMailCarriesNoForeignLinks(t *testing.T) {
	w := actortest.New(t)
	ann := w.User("ann")
	r, err := w.Platform.RegisterAgent(ctx, platform.SelfRegistration{Name: "win https://evil.test now"})
	if err != nil {
		t.Fatal(err)
	}
	claim(w, ann, r.ClaimCode, "a@mail.test")
	if m := w.Mailbox.Mails()[0]; strings.Contains(m.Subject+m.Text+m.HTML, "://evil.test") {
		t.Errorf("%+v", m)
	}
}
