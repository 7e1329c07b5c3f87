package platform

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"time"

	"parley/actors/account"
	"parley/actors/kernel"
)

// Limits of sending mail.
const (
	mailEvery   = 5 * time.Second  // between two looks at what waits
	mailTimeout = 30 * time.Second // of one try
	mailWorkers = 4                // tries at once
	mailTries   = 6
	mailRetry   = 5 * time.Second // after the first try that failed, then mailGrowth times that
	mailGrowth  = 4               // 5 s, 20 s, 80 s, 320 s and 1280 s: all tries lie within ClaimLife
)

// ErrUndeliverable says that a mail was refused for good, so that there is no use in another try.
var ErrUndeliverable = errors.New("undeliverable")

// Mail is one mail to one address.
type Mail struct {
	To      string // a bare address
	Subject string // one line
	Text    string
	HTML    string // the same as Text
}

// Mailer sends mail.
type Mailer interface {
	// Send returns when the mail has been taken over, or fails: with ErrUndeliverable for good.
	Send(ctx context.Context, m Mail) error
}

// wakeCourier says that there is mail.
func (p *Platform) wakeCourier() {
	select {
	case p.post <- struct{}{}:
	default: // it will look anyhow
	}
}

// courier sends the mail that the outbox promises, also that of an earlier run of the server.
func (p *Platform) courier() {
	defer p.tasks.Done()
	if p.Mailer == nil {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		select {
		case <-p.ended:
			cancel()
		case <-ctx.Done():
		}
	}()
	tick := time.NewTicker(mailEvery)
	defer tick.Stop()
	for {
		p.sendMail(ctx)
		select {
		case <-p.ended:
			return
		case <-tick.C:
		case <-p.post:
		}
	}
}

// sendMail tries to send all mail that is due.
func (p *Platform) sendMail(ctx context.Context) {
	var tries sync.WaitGroup
	defer tries.Wait()
	slots := make(chan struct{}, mailWorkers)
	for after := errandMail + "/"; ; {
		entries, err := p.Store.Outbox(ctx, after, errandPage)
		if err != nil && ctx.Err() == nil {
			p.Log.Warn("outbox can't be read", "error", err)
		}
		if len(entries) == 0 {
			return
		}
		for _, entry := range entries {
			if after = entry.ID; !strings.HasPrefix(after, errandMail+"/") {
				return
			}
			var e errand
			if err := json.Unmarshal(entry.Data, &e); err != nil {
				p.Log.Error("errand can't be read", "entry", entry.ID, "error", err)
				continue
			}
			if e.Due > p.Now().UnixMilli() || ctx.Err() != nil {
				continue
			}
			slots <- struct{}{}
			tries.Go(func() {
				defer func() { <-slots }()
				p.tryMail(ctx, e)
			})
		}
	}
}

// tryMail tries to send one mail. The try is counted before it is made, so that neither a crash nor a second server can
// try more often than mailTries.
func (p *Platform) tryMail(ctx context.Context, e errand) {
	ctx, cancel := context.WithTimeout(ctx, mailTimeout)
	defer cancel()
	wait := mailRetry
	for range min(e.Tries, mailTries) {
		wait *= mailGrowth
	}
	next := p.Now().Add(wait)
	again := e
	again.Tries, again.Due = e.Tries+1, next.UnixMilli()
	m, err := kernel.Ask[*account.ClaimMail](ctx, p.Directory, account.Ref(e.Who.ID), account.TryClaimMail{ID: e.Request, Next: next, Keep: again.promise()})
	if err == nil {
		err = p.mailClaim(ctx, e, m)
	} else if gone(err) { // the request is over
		err = p.fulfil(ctx, e)
	}
	if code := kernel.AsError(err); code != nil && code.Code != kernel.CodeTaken && ctx.Err() == nil {
		p.Log.Warn("mail postponed", "errand", e.entry(), "error", err)
	}
}

// mailClaim sends the mail of a claim and notes that, or gives the claim up.
func (p *Platform) mailClaim(ctx context.Context, e errand, m *account.ClaimMail) error {
	agent, err := p.Profile(ctx, m.Agent)
	if gone(err) {
		return p.settleClaim(ctx, e.Who.ID, e.Request)
	}
	if err != nil {
		return err
	}
	user, err := p.Profile(ctx, e.Who.ID)
	if err != nil {
		return err
	}
	letter, err := claimMail(agent, user, p.PublicURL+"/api/agents/claim/verify/"+m.Token, m)
	if err != nil {
		return err
	}
	err = p.Mailer.Send(ctx, letter)
	switch {
	case err == nil:
		return p.tell(context.WithoutCancel(ctx), account.Ref(e.Who.ID), account.ClaimMailed{ID: e.Request, Entry: e.entry()})
	case errors.Is(err, ErrUndeliverable) || m.Tries >= mailTries:
		p.Log.Warn("mail given up", "errand", e.entry(), "tries", m.Tries, "error", err)
		return p.settleClaim(ctx, e.Who.ID, e.Request)
	}
	return err
}
