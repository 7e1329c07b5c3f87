package rest

import (
	"net/http"

	"parley/actors/platform"
)

func (a *API) bindWallets(t *table) {
	t.add(http.MethodGet, "/api/wallet", Required, a.wallet)
	t.add(http.MethodPost, "/api/wallet/register", Required, a.registerWallet)
	t.add(http.MethodDelete, "/api/wallet/register", Required, a.unregisterWallet)
	t.add(http.MethodPost, "/api/wallet/payment", Required, a.pay)
	t.add(http.MethodGet, "/api/explore/wallet/{username}", Optional, a.exploreWallet)
	t.add(http.MethodGet, "/api/explore/capabilities", Optional, a.capabilities)
}

// registeredWallet is a wallet as it is registered (rest.md, Wallet).
type registeredWallet struct {
	HasWallet  bool    `json:"hasWallet"`
	HasWallet2 bool    `json:"has_wallet"`
	Address    *string `json:"address"` // null: none is registered
	Network    string  `json:"network"`
	Explorer   *string `json:"explorer"` // the address's page at the block explorer
}

func newRegisteredWallet(w *platform.Wallet) registeredWallet {
	r := registeredWallet{HasWallet: w.Address != "", HasWallet2: w.Address != "", Network: w.Network}
	if r.HasWallet {
		r.Address, r.Explorer = &w.Address, &w.Explorer
	}
	return r
}

// wallet answers balances as texts in any case, because clients read texts (clients.md 4.9); whether they are known, and
// if not why, is said beside them.
func (a *API) wallet(c *call) error {
	w, err := a.o.Service.Wallet(c.ctx(), c.id)
	if err != nil {
		return err
	}
	shown := newRegisteredWallet(w)
	if !shown.HasWallet {
		return c.answer(http.StatusOK, shown)
	}
	type balances struct {
		USDC string `json:"usdc"`
		ETH  string `json:"eth"`
	}
	return c.answer(http.StatusOK, with{shown, struct {
		Balances balances `json:"balances"`
		Known    bool     `json:"balancesKnown"`
		Known2   bool     `json:"balances_known"`
		Problem  string   `json:"balancesProblem,omitempty"`
		Problem2 string   `json:"balances_problem,omitempty"`
	}{balances{w.USDC, w.Ether}, w.Known, w.Known, w.Problem, w.Problem}})
}

func (a *API) registerWallet(c *call) error {
	address := c.form.Required("address")
	if err := c.form.Err(); err != nil {
		return err
	}
	w, err := a.o.Service.RegisterWallet(c.ctx(), c.id, address)
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, with{newRegisteredWallet(w), done})
}

func (a *API) unregisterWallet(c *call) error {
	if err := a.o.Service.UnregisterWallet(c.ctx(), c.id); err != nil {
		return err
	}
	return c.ok()
}

// pay verifies a payment on chain and posts it (clients.md 2.10).
func (a *API) pay(c *call) error {
	r := paymentReport(c.form)
	if err := c.form.Err(); err != nil {
		return err
	}
	paid, err := a.o.Service.Pay(c.ctx(), c.id, r)
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, struct {
		OK           bool   `json:"ok"`
		Verified     bool   `json:"verified"`
		MessageID    string `json:"messageId"`
		MessageID2   string `json:"message_id"`
		TxHash       string `json:"txHash"`
		TxHash2      string `json:"tx_hash"`
		ExplorerURL  string `json:"explorerUrl"`
		ExplorerURL2 string `json:"explorer_url"`
	}{true, true, paid.MessageID, paid.MessageID, paid.TxHash, paid.TxHash, paid.ExplorerURL, paid.ExplorerURL})
}

func paymentReport(f *form) platform.PaymentReport {
	return platform.PaymentReport{
		TxHash:   f.Required("txHash", "tx_hash"),
		AgencyID: f.Required("agencyId", "agency_id"),
		To:       f.Required("to"),
		Amount:   f.Decimal("amount"),
		Token:    f.String("token"),
	}
}

// exploreWallet answers for every account; without a wallet the address is null (clients.md 2.9).
func (a *API) exploreWallet(c *call) error {
	p, err := a.o.Service.WalletOwner(c.ctx(), c.param("username"))
	if err != nil {
		return err
	}
	var address *string
	if p.Wallet != "" {
		address = &p.Wallet
	}
	return c.answer(http.StatusOK, struct {
		Username     string  `json:"username"`
		DisplayName  string  `json:"displayName"`
		DisplayName2 string  `json:"display_name"`
		Address      *string `json:"address"`
	}{p.Username, p.DisplayName, p.DisplayName, address})
}

// hookSources is where hooks' sources are shown, if this server does.
const hookSources = "/api/hooks/source"

// capabilities tells what there is beyond chat (clients.md 2.9). Payments by x402 are not among it.
func (a *API) capabilities(c *call) error {
	can := a.o.Service.Capabilities()
	return c.answer(http.StatusOK, struct {
		Wallets           bool    `json:"wallets"`
		Network           *string `json:"network"`
		Token             *string `json:"token"`
		X402              bool    `json:"x402"`
		HookTransparency  bool    `json:"hookTransparency"`
		HookTransparency2 bool    `json:"hook_transparency"`
	}{can.Wallets, can.Network, can.Token, false, a.showsSources, a.showsSources})
}
