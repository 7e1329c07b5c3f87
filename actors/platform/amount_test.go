package platform

import (
	"math/big"
	"strings"
	"testing"
)

func TestAmounts(t *testing.T) {
	for text, want := range map[string]string{
		"1": "1000000", "1.5": "1500000", "0.000001": "1", " 12.500000 ": "12500000", "1.50000000000": "1500000", "007": "7000000",
		"1e-6": "1", "1E+2": "100000000", "1e2": "100000000", "150e-1": "15000000", "0.1e-5": "1", "10e-7": "1", "1000000000000": "1000000000000000000",
		"": "", "0": "", "0.0": "", "0e5": "", "-1": "", "+1": "", ".5": "", "5.": "", "1,5": "", "1 5": "", "0x10": "", "1e": "", "1e-7": "", "0.0000001": "",
		"1.0000001": "", "NaN": "", "Infinity": "", "1e999": "", "1e41": "", "1e40": "", "1e1000000000": "", "½": "", "１": "", "1_000": "",
		strings.Repeat("9", 64): "", strings.Repeat("9", 65): "", "0." + strings.Repeat("0", 70) + "1": "", strings.Repeat("9", 1<<20): "",
	} {
		got, err := parseUnits("amount", text, tokenDecimals)
		switch {
		case err == nil && got.String() != want:
			t.Errorf("%.80q is %s, want %q", text, got, want)
		case err != nil && want != "":
			t.Errorf("%.80q: %v", text, err)
		}
	}
	for _, c := range []struct {
		units    string
		decimals int
		want     string
	}{
		{"0", 6, "0"}, {"1", 6, "0.000001"}, {"1000000", 6, "1"}, {"12500000", 6, "12.5"}, {"1234567890123456789012", 18, "1234.567890123456789012"},
		{"100000", 6, "0.1"}, {"1000000000000000000", 18, "1"}, {"9", 18, "0.000000000000000009"},
	} {
		n, _ := new(big.Int).SetString(c.units, 10)
		if got := formatUnits(n, c.decimals); got != c.want {
			t.Errorf("%s with %d decimals is %s, want %s", c.units, c.decimals, got, c.want)
		}
	}
}

// FuzzAmount holds the reader against exact fractions, and what it read against what it writes.
func FuzzAmount(f *testing.F) {
	for _, s := range []string{"1", "1.5", "1e-6", "0.000001", "150e-1", "1e40", "-1", "00.10"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		units, err := parseUnits("amount", text, tokenDecimals)
		if err != nil {
			return
		}
		want, ok := new(big.Rat).SetString(strings.TrimSpace(text))
		if !ok || want.Mul(want, big.NewRat(1_000_000, 1)).Cmp(new(big.Rat).SetInt(units)) != 0 || units.Sign() <= 0 {
			t.Fatalf("%q became %s", text, units)
		}
		if again, err := parseUnits("amount", formatUnits(units, tokenDecimals), tokenDecimals); err != nil || again.Cmp(units) != 0 {
			t.Fatalf("%q became %s, then %s, %v", text, units, again, err)
		}
	})
}
