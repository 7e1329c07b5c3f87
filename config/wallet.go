package config

import (
	"errors"
	"net/url"
	"strconv"
	"strings"
)

// Network is a block chain that wallets can be on.
type Network struct {
	Name     string
	ChainID  uint64
	Explorer string // address of the block explorer, without a slash at the end
	Token    string // address of the contract of USDC, in checksum form
}

// Networks is the table of the block chains that wallets can be on.
func Networks() []Network { return append([]Network(nil), networks...) }

var networks = []Network{
	{"base", 8453, "https://basescan.org", "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"},
	{"base-sepolia", 84532, "https://sepolia.basescan.org", "0x036CbD53842c5426634e7929541eC2318f3dCF7e"},
}

// walletNetwork finds a row of the table.
func walletNetwork(s string) (Network, error) {
	var names []string
	for _, n := range networks {
		if n.Name == strings.ToLower(s) {
			return n, nil
		}
		names = append(names, n.Name)
	}
	return Network{}, errors.New(strings.Join(names, " or "))
}

// chainNode checks the address of a node of the chain; empty is none. Many have a key in their path, query or user.
func chainNode(s string) (*url.URL, error) {
	if s == "" {
		return nil, nil
	}
	want := errors.New("an http or https address such as https://node.example.org/v2/key")
	u, err := url.Parse(s)
	if err != nil || len(s) > maxURL || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.Fragment != "" {
		return nil, want
	}
	if p := u.Port(); p != "" {
		if n, err := strconv.ParseUint(p, 10, 16); err != nil || n == 0 {
			return nil, want
		}
	}
	return u, nil
}
