// Package account is the actor of one user or agent: profile, credentials, sessions, and what an agent's owner may do.
package account

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"parley/actors/kernel"
	"parley/persistence"
)

// Kind is the kind of account actors.
const Kind kernel.Kind = persistence.StreamAccount

// snapshotVersion is the version of the snapshot's format.
const snapshotVersion = 1

// Ref names the actor of an account.
func Ref(id string) kernel.Ref { return kernel.Ref{Kind: Kind, ID: id} }

// Revoker ends what lives by a credential that is dead now.
type Revoker interface {
	// Revoke closes the live connections of these sessions or PATs of an account. It must not block.
	Revoke(account string, sessions ...string)
	// RevokeAll closes all live connections of an account.
	RevokeAll(account string)
	// Renamed gives the live connections of an account its new names. It must not block.
	Renamed(who Sender)
}

// Ports is what an account needs from outside.
type Ports struct {
	Revoker Revoker
	Sealer  *Sealer
}

// Account is the entity.
type Account struct {
	ports   Ports
	s       state
	follows kernel.Gate[string] // see follow.go
}

var _ kernel.Entity = (*Account)(nil)

// Factory makes the actors of accounts.
func Factory(p Ports) kernel.Factory {
	return func(id string) kernel.Behavior {
		return kernel.NewGrain(persistence.StreamAccount, id, func() kernel.Entity { return &Account{ports: p} })
	}
}

// Load implements kernel.Entity.
func (a *Account) Load(version uint32, data []byte) error {
	if version != snapshotVersion {
		return fmt.Errorf("account snapshot of version %d", version)
	}
	return json.Unmarshal(data, &a.s)
}

// Apply implements kernel.Entity.
func (a *Account) Apply(ev *persistence.Event) error { return a.s.apply(ev) }

// Snapshot implements kernel.Entity.
func (a *Account) Snapshot() (uint32, []byte) {
	data, err := json.Marshal(&a.s)
	if err != nil {
		panic(err) // plain structs always encode
	}
	return snapshotVersion, data
}

// Ready implements kernel.Entity.
func (a *Account) Ready(kernel.Grain) {}

// Notice implements kernel.Entity.
func (a *Account) Notice(kernel.Grain, any) {}

// Settled implements kernel.Entity.
func (a *Account) Settled() {}

// Busy implements kernel.Entity.
func (a *Account) Busy() bool { return false }

// Retain implements kernel.Entity: nobody reads an account's log behind its snapshot.
func (a *Account) Retain() (uint64, time.Duration) { return 0, 0 }

func (a *Account) profile() *Profile {
	p := Profile(a.s.stored)
	return &p
}

// Handle implements kernel.Entity.
func (a *Account) Handle(t *kernel.Turn, command any) {
	switch c := command.(type) {
	case RegisterUser:
		a.registerUser(t, c)
		return
	case RegisterAgent:
		a.registerAgent(t, c)
		return
	case DropFollows:
		a.dropFollows(t, c)
		return
	case Fulfil:
		t.Commit(kernel.Change{Outbox: []persistence.OutboxOp{{ID: c.Entry, Done: true}}, Final: a.s.Deleted}, func() { t.Reply(kernel.Done{}) }, nil)
		return
	}
	if !a.s.exists() {
		t.Fail(errNoAccount())
		return
	}
	switch c := command.(type) {
	case OpenSession:
		a.openSession(t, c)
	case CloseSession:
		a.closeSession(t, c)
	case ExtendSession:
		a.extendSession(t, c)
	case Credentials:
		hash := a.s.PasswordHash
		t.AfterCommits(func() { t.Reply(hash) })
	case ChangePassword:
		a.changePassword(t, c)
	case ProfileUpdate:
		a.updateProfile(t, c)
	case CreatePAT:
		a.createPAT(t, c)
	case ListPATs:
		a.listPATs(t)
	case RevokePAT:
		a.revokePAT(t, c)
	case UsePAT:
		a.usePAT(t, c)
	case Verify:
		a.verify(t, c)
	case ShowToken:
		a.showToken(t, c)
	case ReplaceToken:
		a.replaceToken(t, c)
	case Delete:
		a.delete(t, c)
	case GetConfig:
		a.getConfig(t, c)
	case SetConfig:
		a.setConfig(t, c)
	case Transfer:
		a.transfer(t, c)
	case SetPicture:
		a.setPicture(t, c)
	case Follow:
		a.follow(t, c)
	case Unfollow:
		a.unfollow(t, c)
	case SyncFollower:
		a.syncFollower(t, c)
	case SetWallet:
		a.setWallet(t, c)
	case ClearWallet:
		a.clearWallet(t)
	case GetBootstrap:
		a.getBootstrap(t, c)
	default:
		a.handleClaim(t, command)
	}
}

func errNoAccount() error { return kernel.NotFound("there is no such account") }

// handleClaim handles what belongs to the claiming of agents.
func (a *Account) handleClaim(t *kernel.Turn, command any) {
	switch c := command.(type) {
	case ClaimAgent:
		a.claimAgent(t, c)
	case RequestClaim:
		a.requestClaim(t, c)
	case TryClaimMail:
		a.tryClaimMail(t, c)
	case ClaimMailed:
		a.claimMailed(t, c)
	case SettleClaim:
		a.settleClaim(t, c)
	default:
		t.Fail(fmt.Errorf("account: unknown command %T", command))
	}
}

// Fulfil removes an outbox entry whose work is done. It answers with kernel.Done, also for an account that is gone.
type Fulfil struct{ Entry string }

// Creates implements kernel.Creator.
func (Fulfil) Creates() {}

// RegisterUser makes a user. It answers with a *Profile; CodeTaken if the name is taken.
type RegisterUser struct {
	Username     string
	DisplayName  string // empty: the username
	PasswordHash string
	Session      NewSession
	Outbox       []persistence.OutboxOp // what is promised with the registration
}

// Creates implements kernel.Creator.
func (RegisterUser) Creates() {}

func (a *Account) registerUser(t *kernel.Turn, c RegisterUser) {
	name, err := CheckDisplayName("displayName", c.DisplayName)
	if err == nil {
		err = CheckUsername(c.Username)
	}
	if err == nil && a.s.ID != "" {
		err = kernel.Fail(kernel.CodeTaken, "this account exists already")
	}
	if err != nil {
		t.Fail(err)
		return
	}
	if name == "" {
		name = c.Username
	}
	s := state{stored: stored{ID: t.ID(), Username: c.Username, DisplayName: name, Type: User, CreatedAt: t.Now().UnixMilli()},
		PasswordHash: c.PasswordHash}
	change, _ := a.beginSession(t, c.Session, true)
	a.register(t, s, change, persistence.CounterOp{Name: persistence.CountUsers, Delta: 1}, c.Outbox)
}

// register commits a new account: its name, its profile and whatever comes with it.
func (a *Account) register(t *kernel.Turn, s state, change kernel.Change, count persistence.CounterOp, outbox []persistence.OutboxOp) {
	p := Profile(s.stored)
	change.Events = append([]persistence.Event{event(registered, s)}, change.Events...)
	change.Claims = append([]persistence.ClaimOp{usernameClaim(&s)}, change.Claims...)
	change.Documents = append(change.Documents, profileDocuments(t.ID(), nil, &p)...)
	change.Counters = append(change.Counters, count)
	change.Outbox = append(change.Outbox, outbox...)
	t.Commit(change, func() { t.Reply(&p) }, nameTaken(s.Username))
}

// nameTaken puts a lost race for a name into words.
func nameTaken(name string) func(error) error {
	return func(err error) error {
		if errors.Is(err, persistence.ErrExists) {
			return kernel.Fail(kernel.CodeTaken, "the name %q is taken", name)
		}
		return err
	}
}

func usernameClaim(s *state) persistence.ClaimOp {
	return persistence.ClaimOp{Index: persistence.ClaimUsername, Key: strings.ToLower(s.Username), Owner: s.ID}
}
