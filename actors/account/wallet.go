package account

import (
	"encoding/hex"
	"errors"
	"regexp"
	"strings"

	"golang.org/x/crypto/sha3"

	"parley/actors/kernel"
	"parley/persistence"
)

// addressForm is a wallet's address (rest.md, Wallet).
var addressForm = regexp.MustCompile(`^0[xX][0-9a-fA-F]{40}$`)

// ParseAddress brings the address of a wallet into its checksum form (EIP-55). Digits all in lower or all in upper case
// have no checksum; in mixed case it must be right. Whatever else is wrong is CodeInvalid too.
func ParseAddress(field, s string) (string, error) {
	s = strings.TrimSpace(s)
	if !addressForm.MatchString(s) {
		return "", kernel.Invalid("%s must be 0x and 40 hex digits", field)
	}
	digits := s[2:]
	lower := strings.ToLower(digits)
	if strings.Trim(lower, "0") == "" {
		return "", kernel.Invalid("%s is the zero address, which belongs to nobody", field)
	}
	sum := checksum(lower)
	if digits != lower && digits != strings.ToUpper(digits) && digits != sum {
		return "", kernel.Invalid("%s has a wrong checksum: check it for typing errors, or give its digits in lower case", field)
	}
	return "0x" + sum, nil
}

// checksum puts letters of 40 lower-case hex digits into upper case where the hash of the digits says so (EIP-55).
func checksum(lower string) string {
	h := sha3.NewLegacyKeccak256()
	_, _ = h.Write([]byte(lower)) // a hash takes all
	sum := hex.EncodeToString(h.Sum(nil))
	out := []byte(lower)
	for i, c := range out {
		if c >= 'a' && sum[i] >= '8' {
			out[i] = c - 'a' + 'A'
		}
	}
	return string(out)
}

// WalletKey is the form in which addresses are claimed: whatever their case, one address is one.
func WalletKey(address string) string { return strings.ToLower(address) }

func releaseWallet(owner, address string) persistence.ClaimOp {
	return persistence.ClaimOp{Index: persistence.ClaimWallet, Key: WalletKey(address), Owner: owner, Release: true}
}

// newWallet is the body of the event walletChanged.
type newWallet struct {
	Address string `json:"a,omitempty"` // in checksum form; empty: none any more
}

// ErrAddressTaken says that an address is another account's.
func ErrAddressTaken() error {
	return kernel.Fail(kernel.CodeTaken, "this address is registered to another account")
}

// SetWallet registers the address of the account's wallet in place of any other. It answers with a *Profile; CodeTaken
// when the address is somebody else's (rest.md, Wallet).
type SetWallet struct {
	Address string // of ParseAddress
}

// ClearWallet gives the address up. It answers with kernel.Done, also when there is none.
type ClearWallet struct{}

func (a *Account) setWallet(t *kernel.Turn, c SetWallet) {
	address, err := ParseAddress("address", c.Address)
	if err != nil {
		t.Fail(err)
		return
	}
	if address == a.s.Wallet {
		p := a.profile()
		t.AfterCommits(func() { t.Reply(p) })
		return
	}
	change, p := a.changeWallet(t.ID(), address)
	change.Claims = append(change.Claims, persistence.ClaimOp{Index: persistence.ClaimWallet, Key: WalletKey(address), Owner: t.ID()})
	t.Commit(change, func() { t.Reply(p) }, func(err error) error {
		if errors.Is(err, persistence.ErrExists) {
			return ErrAddressTaken()
		}
		return err
	})
}

func (a *Account) clearWallet(t *kernel.Turn) {
	if a.s.Wallet == "" {
		t.AfterCommits(func() { t.Reply(kernel.Done{}) })
		return
	}
	change, _ := a.changeWallet(t.ID(), "")
	t.Commit(change, func() { t.Reply(kernel.Done{}) }, nil)
}

// changeWallet gives up the present address, and keeps the profile in step with the next one.
func (a *Account) changeWallet(id, next string) (kernel.Change, *Profile) {
	p := a.profile()
	p.Wallet = next
	change := kernel.Change{
		Events:    []persistence.Event{event(walletChanged, newWallet{next})},
		Documents: []persistence.DocumentOp{{Collection: persistence.CollectionAccount, Key: id, Data: p.Encode()}},
	}
	if a.s.Wallet != "" {
		change.Claims = append(change.Claims, releaseWallet(id, a.s.Wallet))
	}
	return change, p
}
