package platform

import (
	"math/big"
	"regexp"
	"strconv"
	"strings"

	"parley/actors/kernel"
)

// Limits of amounts, so that no short text becomes a long number.
const (
	maxAmountText     = 64 // characters
	maxAmountExponent = 40
	maxAmountDigits   = 40 // of the result in smallest units
)

// amountForm is a decimal number; the exponent is how some languages write small ones in JSON.
var amountForm = regexp.MustCompile(`^([0-9]+)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]{1,3}))?$`)

// parseUnits reads a decimal number as a whole number of smallest units, exactly: CodeInvalid for what is no number above
// 0 or has more decimals than there are.
func parseUnits(name, text string, decimals int) (*big.Int, error) {
	text = strings.TrimSpace(text)
	parts := amountForm.FindStringSubmatch(text)
	if len(text) > maxAmountText || parts == nil {
		return nil, kernel.Invalid("%s must be a decimal number such as 12.5", name)
	}
	exponent := 0
	if parts[3] != "" {
		var err error
		if exponent, err = strconv.Atoi(parts[3]); err != nil || max(exponent, -exponent) > maxAmountExponent {
			return nil, kernel.Invalid("%s is out of range", name)
		}
	}
	digits := strings.TrimLeft(parts[1]+parts[2], "0")
	if digits == "" {
		return nil, kernel.Invalid("%s must be more than 0", name)
	}
	shift := decimals + exponent - len(parts[2])
	for ; shift < 0 && strings.HasSuffix(digits, "0"); shift++ {
		digits = digits[:len(digits)-1]
	}
	switch {
	case shift < 0:
		return nil, kernel.Invalid("%s must have at most %d decimals", name, decimals)
	case len(digits)+shift > maxAmountDigits:
		return nil, kernel.Invalid("%s is out of range", name)
	}
	units, ok := new(big.Int).SetString(digits+strings.Repeat("0", shift), 10)
	if !ok {
		return nil, kernel.Invalid("%s must be a decimal number such as 12.5", name)
	}
	return units, nil
}

// formatUnits writes smallest units as a decimal number without needless zeros.
func formatUnits(units *big.Int, decimals int) string {
	digits := units.String()
	if missing := decimals + 1 - len(digits); missing > 0 {
		digits = strings.Repeat("0", missing) + digits
	}
	whole, part := digits[:len(digits)-decimals], strings.TrimRight(digits[len(digits)-decimals:], "0")
	if part == "" {
		return whole
	}
	return whole + "." + part
}
