package agency

import (
	"context"
	"errors"
	"strings"

	"parley/actors/account"
	"parley/actors/kernel"
	"parley/persistence"
)

// PaymentKey is the key of a message's metadata that tells of a verified payment. Only the server sets it.
const PaymentKey = "payment"

// Payment is a transfer of a token that was found on chain, in the form in which clients get it.
type Payment struct {
	TxHash      string  `json:"txHash"` // in lower case
	Amount      string  `json:"amount"` // decimal
	Token       string  `json:"token"`
	From        string  `json:"from"` // addresses in checksum form
	To          string  `json:"to"`
	ToUsername  *string `json:"to_username"` // whose wallet the address is; null for nobody's here
	Network     string  `json:"network"`
	ExplorerURL string  `json:"explorerUrl"`
}

// key is what the transaction is claimed by: it counts once, whoever reports it.
func (p *Payment) key() string { return persistence.Key(p.Network, strings.ToLower(p.TxHash)) }

// PaymentClaim finds the claim of a transaction that was reported already.
func PaymentClaim(network, txHash string) (index, key string) {
	p := Payment{Network: network, TxHash: txHash}
	return persistence.ClaimPayment, p.key()
}

// ErrPaymentReported says that a transaction was reported before.
func ErrPaymentReported() error {
	return kernel.Fail(kernel.CodeTaken, "this transaction has been reported already; each counts once")
}

// PostPayment posts the message of a verified payment (clients.md 2.10); members may. It answers with *Posted; CodeTaken
// when the transaction was reported before, anywhere.
type PostPayment struct {
	Who     account.Sender
	Payment Payment
}

func (a *Agency) postPayment(t *kernel.Turn, c PostPayment) {
	to := c.Payment.To
	if c.Payment.ToUsername != nil {
		to = "@" + *c.Payment.ToUsername
	}
	m := NewMessage{Content: "paid " + c.Payment.Amount + " " + c.Payment.Token + " to " + to, Type: "action",
		Metadata: encodeJSON(map[string]Payment{PaymentKey: c.Payment})}
	a.withMember(t, c.Who.ID, func(member MemberRecord) {
		if err := a.mayManage(member, Member); err != nil {
			t.Fail(err)
			return
		}
		a.payOnce(t, c, m)
	})
}

// payOnce looks for the claim, one report of a transaction at a time, before it tries to take it: a batch that the store
// refuses costs the actor its state. Only reports in two agencies at once are left to that.
func (a *Agency) payOnce(t *kernel.Turn, c PostPayment, m NewMessage) {
	key := c.Payment.key()
	a.posts.Enter(key, func() {
		t.AfterCommits(func() {
			kernel.Load(t, func(ctx context.Context, s persistence.Store) (bool, error) {
				_, err := s.Claim(ctx, persistence.ClaimPayment, key)
				if errors.Is(err, persistence.ErrNotFound) {
					return false, nil
				}
				return true, err
			}, func(reported bool, err error) {
				defer a.posts.Leave(key)
				if err == nil {
					err = a.mayStillPay(c.Who.ID)
				}
				if err == nil && reported {
					err = ErrPaymentReported()
				}
				if err != nil {
					t.Fail(err)
					return
				}
				a.claimPayment(t, c.Who, m, key)
			})
		})
	})
}

// mayStillPay looks again after a read: the agency may have ended and the membership too.
func (a *Agency) mayStillPay(who string) error {
	if err := a.ended(); err != nil {
		return err
	}
	if m, known := a.members.Get(who); known {
		return a.mayManage(m, Member)
	}
	return nil
}

// claimPayment takes the claim in the batch of the message, in the name of the message's place: no two messages share one.
func (a *Agency) claimPayment(t *kernel.Turn, who account.Sender, m NewMessage, key string) {
	seq, _ := t.Next()
	claim := persistence.ClaimOp{Index: persistence.ClaimPayment, Key: key, Owner: persistence.SeqKey(t.ID(), seq)}
	a.append(t, who, m, []persistence.ClaimOp{claim}, func(err error) error {
		if errors.Is(err, persistence.ErrExists) {
			return ErrPaymentReported()
		}
		return err
	})
}
