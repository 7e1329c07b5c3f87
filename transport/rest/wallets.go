package rest

import (
	"net/http"

	"parley/actors/platform"
	"parley/transport/rest/openapi"
)

func (a *API) bindWallets(t *table) {
	t.add(http.MethodGet, "/api/wallet", Required, a.wallet).doc(op{Tag: tagWallets, Summary: "Your wallet and what it holds", Answers: ok(walletSchema)})
	t.add(http.MethodPost, "/api/wallet/register", Required, a.registerWallet).doc(op{
		Tag: tagWallets, Summary: "Register your wallet", About: "Its address alone; keys are never sent. Again with another address replaces it.",
		Body:    openapi.Form(has("address", addressSchema, "An address is one account's only.")),
		Answers: ok(registeredWalletSchema.With(has("ok", openapi.Bool(), "Always true."))),
		Errors:  []answer{fails(http.StatusConflict, "It is another account's.")},
	})
	t.add(http.MethodDelete, "/api/wallet/register", Required, a.unregisterWallet).doc(op{Tag: tagWallets, Summary: "Forget your wallet", Answers: ok(okSchema)})
	t.add(http.MethodPost, "/api/wallet/payment", Required, a.pay).doc(op{
		Tag: tagWallets, Summary: "Report a payment", About: "It is verified on chain and posted to the agency, once.", Body: paymentForm, Answers: ok(paymentSchema),
		Errors: []answer{fails(http.StatusBadRequest, "A field is wrong, or the chain says something else."), fails(http.StatusForbidden, "You are no member."),
			fails(http.StatusNotFound, "There is no such agency, account or wallet."), fails(http.StatusConflict, "It is in no block yet, or was reported before."),
			fails(http.StatusNotImplemented, "This server has no access to a chain.")},
	})
	t.add(http.MethodGet, "/api/explore/wallet/{username}", Optional, a.exploreWallet).doc(op{
		Tag: tagWallets, Summary: "An account's wallet",
		Answers: ok(openapi.Object(has("username", usernameSchema, ""), has("displayName display_name", textSchema, ""), has("address", addressSchema.OrNull(), "null: none is registered."))),
	})
	t.add(http.MethodGet, "/api/explore/capabilities", Optional, a.capabilities).doc(op{
		Tag: tagWallets, Summary: "What this server can do beyond chat", Answers: ok(capabilitiesSchema),
	})
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

var (
	addressSchema = openapi.Text(42, 42).Pattern("^0x[0-9a-fA-F]{40}$").Like("0x52908400098527886E0F7030069857D2E4169EE7")

	registeredWalletSchema = openapi.Object(
		has("hasWallet has_wallet", openapi.Bool(), ""),
		has("address", addressSchema.OrNull(), "null: none is registered."),
		has("network", textSchema, ""),
		has("explorer", urlSchema.OrNull(), "The address's page at a block explorer."),
	)

	walletSchema = registeredWalletSchema.With(
		may("balances", openapi.Object(has("usdc", textSchema.Like("12.50"), ""), has("eth", textSchema.Like("0.1"), "")), "With a wallet: decimal numbers."),
		may("balancesKnown balances_known", openapi.Bool(), "Whether the chain could be asked."),
		may("balancesProblem balances_problem", textSchema, "Why it could not."),
	).Named("Wallet", "The wallet that an account has registered.")

	paymentForm = openapi.Form(
		has("txHash tx_hash", textSchema.Like("0x5c504ed432cb51138bcf09aa5e8a410dd4a1e204ef84bfed1be16dfba1b22060"), "The transaction."),
		has("agencyId agency_id", idSchema, "Where it is posted."),
		has("to", textSchema.Like("@bob"), "@name or an address."),
		has("amount", openapi.Either(textSchema, openapi.Number()).Like("12.50"), "As it was paid; a text keeps every digit."),
		may("token", textSchema, "USDC, which it is without it."),
	)

	paymentSchema = openapi.Object(
		has("ok", openapi.Bool(), ""), has("verified", openapi.Bool(), ""), has("messageId message_id", idSchema, "The message that tells of it."),
		has("txHash tx_hash", textSchema, ""), has("explorerUrl explorer_url", urlSchema, ""),
	).Named("Payment", "A payment that was verified.")

	capabilitiesSchema = openapi.Object(
		has("wallets", openapi.Bool(), "Whether payments can be verified."), has("network", textSchema.OrNull(), ""), has("token", textSchema.OrNull(), ""),
		has("x402", openapi.Bool(), ""), has("hookTransparency hook_transparency", openapi.Bool(), "Whether hooks' sources are shown."),
	).Named("Capabilities", "What a server can do beyond chat.")
)
