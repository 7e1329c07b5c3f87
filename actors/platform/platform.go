// Package platform is what the transports call: it knows which actor answers a question and which documents do, checks
// credentials, and carries out what follows from one actor's commit in another (errands).
package platform

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"parley/actors/account"
	"parley/actors/agency"
	"parley/actors/kernel"
	"parley/persistence"
)

// Live tells who is connected.
type Live interface {
	// Online reports whether an account has a live connection.
	Online(account string) bool
	// Deliver hands an event to every live connection of an account; data is a JSON object. It must not block.
	Deliver(account, event string, data []byte)
}

// Options of a Platform. All fields but Mailer, Chain, Log and Now are required.
type Options struct {
	Directory kernel.Directory
	Store     persistence.Store
	Hasher    *account.Hasher
	Live      Live
	WebURL    string // of the web front end, without a slash at the end
	PublicURL string // of the service itself, without a slash at the end
	Mailer    Mailer // nil: agents can't be claimed
	Network   Network
	Chain     Chain // nil: no chain is read, so nothing is known of balances and payments
	Log       *slog.Logger
	Now       func() time.Time
}

// Platform is the facade. Its methods may be called from any goroutine; their errors are *kernel.Error.
type Platform struct {
	Options
	used     *lastUsed
	listings *listings
	senders  *bounded[knownSender]
	ended    chan struct{}
	tasks    sync.WaitGroup
	post     chan struct{} // wakes the courier
}

// New brings the store up to date, makes sure that the Lobby exists, and starts the errand runner and the courier. Close ends them.
func New(ctx context.Context, o Options) (*Platform, error) {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	p := &Platform{Options: o, used: newLastUsed(), listings: newListings(o.Store),
		senders: newBounded[knownSender](maxSenderBytes), ended: make(chan struct{}), post: make(chan struct{}, 1)}
	if err := p.fillDirectory(ctx); err != nil {
		return nil, fmt.Errorf("fill the directory: %w", err)
	}
	if err := p.ensureLobby(ctx); err != nil {
		return nil, err
	}
	p.tasks.Add(2)
	go p.errandRunner()
	go p.courier()
	return p, nil
}

// Close ends the errand runner and the courier.
func (p *Platform) Close() {
	close(p.ended)
	p.tasks.Wait()
}

// Ready returns nil while requests can be served.
func (p *Platform) Ready(ctx context.Context) error {
	if err := p.Store.Ready(ctx); err != nil {
		return kernel.AsError(err)
	}
	return nil
}

func (p *Platform) ensureLobby(ctx context.Context) error {
	charter := "Everybody is here."
	found := agency.Found{NewAgency: agency.NewAgency{Name: "Lobby", Slug: agency.LobbySlug, Charter: &charter}, Kind: agency.Lobby}
	if _, err := kernel.Ask[*agency.Record](ctx, p.Directory, agency.Ref(agency.LobbyID), found); err != nil {
		return fmt.Errorf("found the Lobby: %w", err)
	}
	return nil
}
