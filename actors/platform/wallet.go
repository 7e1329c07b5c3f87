package platform

import (
	"context"
	"errors"
	"math/big"

	"parley/actors/account"
	"parley/actors/kernel"
	"parley/persistence"
)

// Network is the block chain that wallets are on, with its token.
type Network struct {
	Name     string // base or base-sepolia (clients.md 4.9)
	ChainID  uint64
	Explorer string // address of the block explorer, without a slash at the end
	Token    string // address of the contract of USDC, in checksum form
}

// TokenName is the token of every network.
const TokenName = "USDC"

// Decimals of the token's and ether's smallest units.
const (
	tokenDecimals = 6
	etherDecimals = 18
)

// Chain reads a network's block chain. Addresses are given and returned in any case.
type Chain interface {
	// Balances returns what an address holds in the smallest units of the token and of ether.
	Balances(ctx context.Context, address string) (token, ether *big.Int, err error)
	// Receipt returns what a transaction did, nil while it is in no block, for whatever reason.
	Receipt(ctx context.Context, txHash string) (*Receipt, error)
}

// Receipt is what came of a transaction.
type Receipt struct {
	Succeeded bool
	Transfers []TokenTransfer
}

// TokenTransfer is one transfer of the network's token.
type TokenTransfer struct {
	From, To string
	Amount   *big.Int // in the token's smallest units
}

// Wallet is a registered address as its holder sees it.
type Wallet struct {
	Address  string // in checksum form; empty: none is registered
	Network  string
	Explorer string // address of its page at the block explorer
	// USDC and Ether are decimal numbers. Without Known they are 0, and Problem says why nothing is known.
	USDC, Ether string
	Known       bool
	Problem     string
}

// Capabilities are what this server can do beyond chat (clients.md 2.9).
type Capabilities struct {
	Wallets bool    // it reads the chain
	Network *string // nil without chain access, as is Token
	Token   *string
}

// Capabilities tells what this server is set up for.
func (p *Platform) Capabilities() Capabilities {
	if p.Chain == nil {
		return Capabilities{}
	}
	network, token := p.Network.Name, TokenName
	return Capabilities{Wallets: true, Network: &network, Token: &token}
}

// RegisterWallet registers an address as the caller's, in place of any other: CodeTaken when it is somebody else's.
func (p *Platform) RegisterWallet(ctx context.Context, id *Identity, address string) (*Wallet, error) {
	address, err := account.ParseAddress("address", address)
	if err != nil {
		return nil, err
	}
	if err := p.addressIsFree(ctx, id, address); err != nil {
		return nil, err
	}
	profile, err := p.askProfile(ctx, account.Ref(id.ID), account.SetWallet{Address: address})
	if err != nil {
		return nil, own(err)
	}
	return p.walletOf(profile), nil
}

// addressIsFree spares the actor a batch that the store would refuse; the claim decides.
func (p *Platform) addressIsFree(ctx context.Context, id *Identity, address string) error {
	claim, err := p.Store.Claim(ctx, persistence.ClaimWallet, account.WalletKey(address))
	switch {
	case errors.Is(err, persistence.ErrNotFound), err == nil && claim.Owner == id.ID:
		return nil
	case err == nil:
		return account.ErrAddressTaken()
	default:
		return kernel.AsError(err)
	}
}

// UnregisterWallet gives the caller's address up, if there is one.
func (p *Platform) UnregisterWallet(ctx context.Context, id *Identity) error {
	return own(p.tell(ctx, account.Ref(id.ID), account.ClearWallet{}))
}

// Wallet returns the caller's wallet with its balances. A chain that can't be asked is told of in it.
func (p *Platform) Wallet(ctx context.Context, id *Identity) (*Wallet, error) {
	profile, err := p.Profile(ctx, id.ID)
	if err != nil {
		return nil, err
	}
	w := p.walletOf(profile)
	if w.Address == "" {
		return w, nil
	}
	if p.Chain == nil {
		w.Problem = "this server is not connected to a block chain, so it does not know the balances"
		return w, nil
	}
	token, ether, err := p.Chain.Balances(ctx, w.Address)
	if err != nil {
		p.Log.Warn("balances can't be read", "network", p.Network.Name, "error", err)
		w.Problem = "the block chain can't be reached, so the balances are not known; try again later"
		return w, nil
	}
	w.USDC, w.Ether, w.Known = formatUnits(token, tokenDecimals), formatUnits(ether, etherDecimals), true
	return w, nil
}

func (p *Platform) walletOf(profile *account.Profile) *Wallet {
	w := &Wallet{Address: profile.Wallet, Network: p.Network.Name, USDC: "0", Ether: "0"}
	if w.Address != "" {
		w.Explorer = p.Network.Explorer + "/address/" + w.Address
	}
	return w
}

// WalletOwner finds an account by its name in any case, to look up its wallet: addresses are public.
func (p *Platform) WalletOwner(ctx context.Context, username string) (*account.Profile, error) {
	return p.namedAccount(ctx, "", username)
}
