package config

import (
	"strings"
	"testing"
)

func TestWalletOptions(t *testing.T) {
	c := mustLoad(t, nil)
	if c.WalletNode != nil || c.WalletNetwork.Name != "base" || c.WalletNetwork.ChainID != 8453 {
		t.Errorf("%v, %+v", c.WalletNode, c.WalletNetwork)
	}
	c = mustLoad(t, []string{"PARLEY_WALLET_RPC_URL=https://node.example/v2/s3cret?k=s3cret", "PARLEY_WALLET_NETWORK=Base-Sepolia"})
	if c.WalletNode.Host != "node.example" || c.WalletNetwork.Name != "base-sepolia" || c.WalletNetwork.ChainID != 84532 {
		t.Errorf("%v, %+v", c.WalletNode.Redacted(), c.WalletNetwork)
	}
	text, err := c.YAML()
	if err != nil || strings.Contains(string(text), "s3cret") {
		t.Errorf("printed: %s, %v", text, err)
	}
	for _, args := range [][]string{
		{"--wallet-rpc-url", "ftp://node/s3cret"}, {"--wallet-rpc-url", "https://:80/s3cret"}, {"--wallet-rpc-url", "https://x:0/s3cret"},
		{"--wallet-rpc-url", "s3cret"}, {"--wallet-rpc-url", "https://x/#s3cret"}, {"--wallet-network", "ethereum"}, {"--wallet-network", ""},
	} {
		_, err := Load(sources(t, nil, args...))
		if err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%v: %v", args, err)
		}
	}
}
