package platform

import (
	"context"
	"errors"
	"math/big"
	"regexp"
	"strings"

	"parley/actors/account"
	"parley/actors/agency"
	"parley/actors/kernel"
	"parley/persistence"
)

// hashForm is the hash of a transaction.
var hashForm = regexp.MustCompile(`^0[xX][0-9a-fA-F]{64}$`)

// PaymentReport is a payment that its sender tells of (clients.md 2.10).
type PaymentReport struct {
	TxHash   string
	AgencyID string
	To       string // @name or an address
	Amount   string // decimal
	Token    string // USDC, also when empty
}

// Paid is a payment that was found on chain and posted.
type Paid struct {
	MessageID   string
	TxHash      string // in lower case
	ExplorerURL string // of the transaction
}

// Pay verifies on chain that a transaction paid an amount from the caller's wallet to another, and posts that into an
// agency. CodeUnsupported without chain access; CodeForbidden and CodeNotFound for those who are no members;
// CodeInvalid when the transaction does not say so; CodeTaken when it is in no block yet or was reported before;
// CodeUnavailable when the chain can't be asked.
func (p *Platform) Pay(ctx context.Context, id *Identity, r PaymentReport) (*Paid, error) {
	if p.Chain == nil {
		return nil, kernel.Fail(kernel.CodeUnsupported, "this server is not connected to a block chain, so it can't verify payments")
	}
	units, err := r.check()
	if err != nil {
		return nil, err
	}
	if _, _, err := p.membership(ctx, id, r.AgencyID); err != nil {
		return nil, err
	}
	if err := p.notReported(ctx, r.TxHash); err != nil {
		return nil, err
	}
	payment, err := p.parties(ctx, id, r)
	if err != nil {
		return nil, err
	}
	if err := p.verify(ctx, payment, units); err != nil {
		return nil, err
	}
	payment.Amount = formatUnits(units, tokenDecimals)
	posted, err := kernel.Ask[*agency.Posted](ctx, p.Directory, agency.Ref(r.AgencyID), agency.PostPayment{Who: id.Sender, Payment: *payment})
	if err != nil {
		return nil, kernel.AsError(err)
	}
	return &Paid{MessageID: posted.ID, TxHash: payment.TxHash, ExplorerURL: payment.ExplorerURL}, nil
}

// check brings the report into its final form and returns the amount in smallest units.
func (r *PaymentReport) check() (*big.Int, error) {
	r.TxHash = strings.ToLower(strings.TrimSpace(r.TxHash))
	if !hashForm.MatchString(r.TxHash) {
		return nil, kernel.Invalid("txHash must be 0x and 64 hex digits")
	}
	if r.Token != "" && !strings.EqualFold(r.Token, TokenName) {
		return nil, kernel.Invalid("token must be %s", TokenName)
	}
	if strings.Contains(r.AgencyID, "/") {
		return nil, noAgency()
	}
	return parseUnits("amount", r.Amount, tokenDecimals)
}

// notReported spares the look at the chain for a transaction that was reported before; the claim decides.
func (p *Platform) notReported(ctx context.Context, txHash string) error {
	index, key := agency.PaymentClaim(p.Network.Name, txHash)
	_, err := p.Store.Claim(ctx, index, key)
	switch {
	case err == nil:
		return agency.ErrPaymentReported()
	case errors.Is(err, persistence.ErrNotFound):
		return nil
	default:
		return kernel.AsError(err)
	}
}

// parties finds the wallets of both sides.
func (p *Platform) parties(ctx context.Context, id *Identity, r PaymentReport) (*agency.Payment, error) {
	payer, err := p.Profile(ctx, id.ID)
	if err != nil {
		return nil, err
	}
	if payer.Wallet == "" {
		return nil, kernel.Invalid("you have no wallet here; register its address first")
	}
	payment := &agency.Payment{TxHash: r.TxHash, Token: TokenName, From: payer.Wallet, Network: p.Network.Name,
		ExplorerURL: p.Network.Explorer + "/tx/" + r.TxHash}
	var payee *account.Profile
	if payment.To, payee, err = p.payee(ctx, strings.TrimSpace(r.To)); err != nil {
		return nil, err
	}
	if payee != nil {
		payment.ToUsername = &payee.Username
	}
	if payment.To == payment.From {
		return nil, kernel.Invalid("to is your own wallet")
	}
	return payment, nil
}

// payee finds an address by the name of its holder, or the holder, if there is one, by the address.
func (p *Platform) payee(ctx context.Context, to string) (string, *account.Profile, error) {
	if strings.HasPrefix(strings.ToLower(to), "0x") {
		address, err := account.ParseAddress("to", to)
		if err != nil {
			return "", nil, err
		}
		claim, err := p.Store.Claim(ctx, persistence.ClaimWallet, account.WalletKey(address))
		if errors.Is(err, persistence.ErrNotFound) {
			return address, nil, nil
		}
		if err != nil {
			return "", nil, kernel.AsError(err)
		}
		holder, err := p.Profile(ctx, claim.Owner)
		if gone(err) {
			return address, nil, nil
		}
		return address, holder, err
	}
	name := strings.TrimPrefix(to, "@")
	holder, err := p.namedAccount(ctx, "", name)
	if gone(err) {
		return "", nil, kernel.NotFound("there is no account @%.*s", 2*account.MaxUsername, name)
	}
	if err != nil {
		return "", nil, err
	}
	if holder.Wallet == "" {
		return "", nil, kernel.Invalid("@%s has no wallet here", holder.Username)
	}
	return holder.Wallet, holder, nil
}

// verify looks for the payment on chain.
func (p *Platform) verify(ctx context.Context, payment *agency.Payment, units *big.Int) error {
	receipt, err := p.Chain.Receipt(ctx, payment.TxHash)
	switch {
	case err != nil:
		p.Log.Warn("payment can't be verified", "network", p.Network.Name, "error", err)
		return kernel.Fail(kernel.CodeUnavailable, "the block chain can't be reached, so the payment can't be verified; try again later")
	case receipt == nil:
		return kernel.Fail(kernel.CodeTaken, "this transaction is in no block of %s yet; try again when it is", p.Network.Name)
	case !receipt.Succeeded:
		return kernel.Invalid("this transaction failed on chain, so nothing was paid")
	}
	between := false
	for _, t := range receipt.Transfers {
		if !strings.EqualFold(t.From, payment.From) || !strings.EqualFold(t.To, payment.To) {
			continue
		}
		if t.Amount.Cmp(units) == 0 {
			return nil
		}
		between = true
	}
	if between {
		return kernel.Invalid("this transaction paid another amount than %s %s", formatUnits(units, tokenDecimals), TokenName)
	}
	return kernel.Invalid("this transaction paid no %s from %s to %s", TokenName, payment.From, payment.To)
}
