// Package chain reads a block chain of the Ethereum kind over JSON-RPC: balances, and what transactions did.
package chain

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"parley/actors/platform"
)

// Limits of the conversation with a node.
const (
	// DefaultTimeout bounds one reading, with the wait for its turn.
	DefaultTimeout = 5 * time.Second
	// MaxCalls is how many readings are made at once, and MaxWaiting how many may wait for their turn.
	MaxCalls   = 8
	MaxWaiting = 128
	// MaxAnswer is the largest answer of a node in bytes.
	MaxAnswer = 4 << 20
)

// ErrBusy means that too many readings wait already.
var ErrBusy = errors.New("chain: too many readings wait for the node")

// Options of a Client. URL and Network are required.
type Options struct {
	// URL is the node's JSON-RPC address, http or https. It may have a secret in it and is never repeated in an error.
	URL *url.URL
	// Network is the chain that the node must be of.
	Network platform.Network
	// Timeout of one reading. 0: DefaultTimeout.
	Timeout time.Duration
}

// Client reads one chain. It may be used from any goroutine and needs no end.
type Client struct {
	o       Options
	token   string // address of the contract in lower case
	http    *http.Client
	turns   chan struct{} // a place for each reading that is being made
	waiting atomic.Int64
	ids     atomic.Uint64
	checked atomic.Bool // the node is of the right chain
}

var _ platform.Chain = (*Client)(nil)

// New makes a client; it connects to nothing yet.
func New(o Options) (*Client, error) {
	if o.URL == nil || o.URL.Scheme != "http" && o.URL.Scheme != "https" || o.URL.Host == "" {
		return nil, errors.New("chain: the node's address must be http or https")
	}
	if o.Timeout == 0 {
		o.Timeout = DefaultTimeout
	}
	token := strings.ToLower(o.Network.Token)
	if !addressForm.MatchString(token) {
		return nil, fmt.Errorf("chain: %q is no address of a contract", o.Network.Token)
	}
	return &Client{o: o, token: token, turns: make(chan struct{}, MaxCalls),
		http: &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}, nil
}

// reading waits for its turn, makes sure of the chain, and reads.
func (c *Client) reading(ctx context.Context, read func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, c.o.Timeout)
	defer cancel()
	if c.waiting.Add(1) > MaxCalls+MaxWaiting {
		c.waiting.Add(-1)
		return ErrBusy
	}
	defer c.waiting.Add(-1)
	select {
	case c.turns <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("chain: wait for a turn: %w", ctx.Err())
	}
	defer func() { <-c.turns }()
	if err := c.check(ctx); err != nil {
		return err
	}
	return read(ctx)
}

// check asks the node once which chain it is of.
func (c *Client) check(ctx context.Context) error {
	if c.checked.Load() {
		return nil
	}
	var id quantity
	if err := c.call(ctx, &id, "eth_chainId"); err != nil {
		return err
	}
	if id.n == nil || id.n.Cmp(new(big.Int).SetUint64(c.o.Network.ChainID)) != 0 {
		return fmt.Errorf("chain: the node is of chain %v, not of %s (%d)", id.n, c.o.Network.Name, c.o.Network.ChainID)
	}
	c.checked.Store(true)
	return nil
}

// selectorBalance is the selector of balanceOf(address) (EIP-20).
const selectorBalance = "0x70a08231"

// Balances implements platform.Chain.
func (c *Client) Balances(ctx context.Context, address string) (token, ether *big.Int, err error) {
	address = strings.ToLower(address)
	if !addressForm.MatchString(address) {
		return nil, nil, fmt.Errorf("chain: %q is no address", address)
	}
	var wei quantity
	var units word
	err = c.reading(ctx, func(ctx context.Context) error {
		if err := c.call(ctx, &wei, "eth_getBalance", address, "latest"); err != nil {
			return err
		}
		question := map[string]string{"to": c.token, "data": selectorBalance + strings.Repeat("0", 24) + address[2:]}
		return c.call(ctx, &units, "eth_call", question, "latest")
	})
	switch {
	case err != nil:
		return nil, nil, err
	case wei.n == nil || units.n == nil:
		return nil, nil, errors.New("chain: the node answered no balance")
	}
	return units.n, wei.n, nil
}

// Receipt implements platform.Chain.
func (c *Client) Receipt(ctx context.Context, txHash string) (*platform.Receipt, error) {
	txHash = strings.ToLower(txHash)
	var r *receipt
	err := c.reading(ctx, func(ctx context.Context) error { return c.call(ctx, &r, "eth_getTransactionReceipt", txHash) })
	if err != nil || r == nil {
		return nil, err
	}
	return r.read(txHash, c.token)
}
