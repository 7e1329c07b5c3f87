package account_test

import (
	"encoding/hex"
	"strings"
	"testing"

	"parley/actors/account"
	"parley/actors/actortest"
	"parley/actors/kernel"
)

// checksummed are the examples of EIP-55.
var checksummed = []string{
	"0x52908400098527886E0F7030069857D2E4169EE7", "0x8617E340B3D01FA5F11F306F4090FD50E238070D",
	"0xde709f2102306220921060314715629080e2fb77", "0x27b1fdb04752bbc536007a920d24acb045561c26",
	"0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359",
	"0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB", "0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb",
}

func TestParseAddress(t *testing.T) {
	for _, want := range checksummed {
		for _, s := range []string{want, strings.ToLower(want), "0x" + strings.ToUpper(want[2:]), "0X" + strings.ToLower(want[2:]), " " + want + "\n"} {
			if got, err := account.ParseAddress("address", s); err != nil || got != want {
				t.Errorf("%q: %q, %v", s, got, err)
			}
		}
	}
	good := checksummed[4]
	for s, says := range map[string]string{
		"": "40 hex digits", "0x": "40 hex digits", good[2:]: "40 hex digits", good[:41]: "40 hex digits", good + "0": "40 hex digits",
		"0x" + strings.Repeat("g", 40): "40 hex digits", "0x" + strings.Repeat("é", 20): "40 hex digits", good + "\n\n" + good: "40 hex digits",
		"0x5AAeb6053F3E94C9b9A09f33669435E7Ef1BeAed":      "wrong checksum",
		"0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAee":      "wrong checksum",
		"0x" + strings.Repeat("0", 40):                    "zero address",
		"0x52908400098527886E0F7030069857D2E4169Ee7":      "wrong checksum",
		"javascript:alert(1)//" + strings.Repeat("a", 20): "40 hex digits",
	} {
		_, err := account.ParseAddress("address", s)
		actortest.Wants(t, s, err, kernel.CodeInvalid)
		if err != nil && !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", s, err)
		}
	}
}

func FuzzParseAddress(f *testing.F) {
	for _, s := range checksummed {
		f.Add(s)
	}
	f.Add("0x0")
	f.Fuzz(func(t *testing.T, s string) {
		got, err := account.ParseAddress("address", s)
		if err != nil {
			return
		}
		if b, err := hex.DecodeString(got[2:]); err != nil || len(b) != 20 || !strings.EqualFold(got, strings.TrimSpace(s)) {
			t.Fatalf("%q became %q", s, got)
		}
		for _, same := range []string{got, strings.ToLower(got)} {
			if again, err := account.ParseAddress("address", same); err != nil || again != got {
				t.Fatalf("%q became %q, %v", same, again, err)
			}
		}
	})
}
