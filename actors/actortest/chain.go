package actortest

import (
	"context"
	"math/big"
	"strings"
	"sync"

	"parley/actors/platform"
)

// Network is the chain of a world's wallets.
var Network = platform.Network{Name: "base", ChainID: 8453, Explorer: "https://scan.test", Token: "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"}

// Chain is a block chain in memory.
type Chain struct {
	mu       sync.Mutex
	fails    error
	units    *big.Int
	wei      *big.Int
	receipts map[string]*platform.Receipt
	asked    int
}

var _ platform.Chain = (*Chain)(nil)

// NewChain makes a chain on which every address holds the same.
func NewChain(units, wei *big.Int) *Chain {
	return &Chain{units: units, wei: wei, receipts: map[string]*platform.Receipt{}}
}

// chain keeps a nil *Chain from becoming an interface that is not nil.
func (w *World) chain() platform.Chain {
	if w.Chain == nil {
		return nil
	}
	return w.Chain
}

// UseChain gives the world's platform a chain, which takes a new platform.
func (w *World) UseChain(c *Chain) {
	w.T.Helper()
	w.Chain = c
	w.Platform.Close()
	w.Platform = w.NewPlatform()
}

// Mine puts a transaction into a block.
func (c *Chain) Mine(txHash string, r *platform.Receipt) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.receipts[strings.ToLower(txHash)] = r
}

// Fail makes every reading fail from now on; nil: no more.
func (c *Chain) Fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fails = err
}

// Asked is how many readings were made.
func (c *Chain) Asked() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.asked
}

// Balances implements platform.Chain.
func (c *Chain) Balances(context.Context, string) (token, ether *big.Int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked++
	return c.units, c.wei, c.fails
}

// Receipt implements platform.Chain.
func (c *Chain) Receipt(_ context.Context, txHash string) (*platform.Receipt, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked++
	return c.receipts[strings.ToLower(txHash)], c.fails
}
