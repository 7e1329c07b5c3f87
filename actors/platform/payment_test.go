package platform_test

import (
	"encoding/json"
	"errors"
	"math/big"
	"strings"
	"sync"
	"testing"

	"parley/actors/actortest"
	"parley/actors/agency"
	"parley/actors/kernel"
	"parley/actors/platform"
)

// txHash is a hash made of one digit.
func txHash(digit string) string { return "0x" + strings.Repeat(digit, 64) }

func transfer(from, to string, units int64) platform.TokenTransfer {
	return platform.TokenTransfer{From: strings.ToLower(from), To: strings.ToLower(to), Amount: big.NewInt(units)}
}

func done(transfers ...platform.TokenTransfer) *platform.Receipt {
	return &platform.Receipt{Succeeded: true, Transfers: transfers}
}

// market is a world in which ann and bob have wallets, and are in a private room without eve.
type market struct {
	*actortest.World
	chain         *actortest.Chain
	ann, bob, eve *platform.Identity
	room          string
}

func newMarket(t *testing.T) *market {
	w := actortest.New(t)
	m := &market{World: w, chain: actortest.NewChain(new(big.Int), new(big.Int)), ann: w.User("ann"), bob: w.User("Bob"), eve: w.User("eve")}
	w.UseChain(m.chain)
	m.room = w.Room(m.ann, "Market", true)
	w.Join(m.room, m.bob)
	register(w, m.ann, purse1)
	register(w, m.bob, purse2)
	return m
}

// payments are the payments that the room's history tells of.
func (m *market) payments(room string) []agency.Message {
	m.T.Helper()
	docs, err := m.Platform.Messages(ctx, m.ann, room, platform.History{})
	if err != nil {
		m.T.Fatal(err)
	}
	var out []agency.Message
	for _, d := range docs {
		msg, err := agency.DecodeMessage(d)
		if err != nil {
			m.T.Fatal(err)
		}
		if strings.Contains(string(msg.Metadata), `"payment"`) {
			out = append(out, *msg)
		}
	}
	return out
}

func TestPayment(t *testing.T) {
	m := newMarket(t)
	report := platform.PaymentReport{TxHash: "0x" + strings.ToUpper(strings.Repeat("a", 64)), AgencyID: m.room, To: "@bOB", Amount: "12.50", Token: "usdc"}
	_, err := m.Platform.Pay(ctx, m.ann, report)
	actortest.Wants(t, "not mined", err, kernel.CodeTaken)
	m.chain.Mine(txHash("a"), done(transfer(purse3, purse2, 1), transfer(purse1, purse2, 99), transfer(purse1, purse2, 12_500_000)))
	paid, err := m.Platform.Pay(ctx, m.ann, report)
	if err != nil || paid.TxHash != txHash("a") || paid.ExplorerURL != "https://scan.test/tx/"+txHash("a") {
		t.Fatalf("%+v, %v", paid, err)
	}
	m.Crash() // it is durable
	posted := m.payments(m.room)
	if len(posted) != 1 || posted[0].ID != paid.MessageID || posted[0].SenderID != m.ann.ID || posted[0].Type != "action" || posted[0].Content != "paid 12.5 USDC to @Bob" {
		t.Fatalf("posted %+v", posted)
	}
	want := `{"payment":{"txHash":"` + txHash("a") + `","amount":"12.5","token":"USDC","from":"` + purse1 + `","to":"` + purse2 +
		`","to_username":"Bob","network":"base","explorerUrl":"https://scan.test/tx/` + txHash("a") + `"}}`
	if string(posted[0].Metadata) != want {
		t.Errorf("metadata %s\nwant %s", posted[0].Metadata, want)
	}
	_, err = m.Platform.Pay(ctx, m.ann, report)
	actortest.Wants(t, "again", err, kernel.CodeTaken)
	report.AgencyID = m.Room(m.ann, "Elsewhere", false)
	_, err = m.Platform.Pay(ctx, m.ann, report)
	actortest.Wants(t, "again elsewhere", err, kernel.CodeTaken)

	// To an address that nobody here has, and to one that somebody has.
	m.chain.Mine(txHash("b"), done(transfer(purse1, purse3, 1)))
	if _, err := m.Platform.Pay(ctx, m.ann, platform.PaymentReport{TxHash: txHash("b"), AgencyID: m.room, To: strings.ToLower(purse3), Amount: "1e-6"}); err != nil {
		t.Fatal(err)
	}
	m.chain.Mine(txHash("c"), done(transfer(purse2, purse1, 2_000_000)))
	if _, err := m.Platform.Pay(ctx, m.bob, platform.PaymentReport{TxHash: txHash("c"), AgencyID: m.room, To: purse1, Amount: "2"}); err != nil {
		t.Fatal(err)
	}
	posted = m.payments(m.room)
	if len(posted) != 3 || posted[1].Content != "paid 0.000001 USDC to "+purse3 || !strings.Contains(string(posted[1].Metadata), `"to_username":null`) ||
		posted[0].Content != "paid 2 USDC to @ann" {
		t.Errorf("posted %+v", posted)
	}
}

func TestPaymentRefused(t *testing.T) {
	m := newMarket(t)
	m.Join(m.room, m.User("poor"))
	m.chain.Mine(txHash("1"), done(transfer(purse1, purse2, 1_000_000)))
	m.chain.Mine(txHash("2"), &platform.Receipt{Transfers: []platform.TokenTransfer{transfer(purse1, purse2, 1_000_000)}})
	m.chain.Mine(txHash("3"), done())
	m.chain.Mine(txHash("4"), done(transfer(purse2, purse1, 1_000_000)))
	m.chain.Mine(txHash("5"), done(transfer(purse3, purse2, 1_000_000)))
	m.chain.Mine(txHash("6"), done(transfer(purse1, purse1, 1_000_000)))
	good := platform.PaymentReport{TxHash: txHash("1"), AgencyID: m.room, To: "@bob", Amount: "1"}
	with := func(f func(*platform.PaymentReport)) platform.PaymentReport {
		r := good
		f(&r)
		return r
	}
	tx := func(digit string) platform.PaymentReport {
		return with(func(r *platform.PaymentReport) { r.TxHash = txHash(digit) })
	}
	asked := m.chain.Asked()
	for name, c := range map[string]struct {
		r    platform.PaymentReport
		code kernel.Code
		who  *platform.Identity
	}{
		"an outsider":             {good, kernel.CodeNotFound, m.eve},
		"no such room":            {with(func(r *platform.PaymentReport) { r.AgencyID = "none" }), kernel.CodeNotFound, m.ann},
		"a room that is a key":    {with(func(r *platform.PaymentReport) { r.AgencyID += "/x" }), kernel.CodeNotFound, m.ann},
		"a bad hash":              {with(func(r *platform.PaymentReport) { r.TxHash = "0x12" }), kernel.CodeInvalid, m.ann},
		"a long hash":             {with(func(r *platform.PaymentReport) { r.TxHash += "1" }), kernel.CodeInvalid, m.ann},
		"another token":           {with(func(r *platform.PaymentReport) { r.Token = "DAI" }), kernel.CodeInvalid, m.ann},
		"nothing":                 {with(func(r *platform.PaymentReport) { r.Amount = "0" }), kernel.CodeInvalid, m.ann},
		"less than nothing":       {with(func(r *platform.PaymentReport) { r.Amount = "-1" }), kernel.CodeInvalid, m.ann},
		"a piece of the smallest": {with(func(r *platform.PaymentReport) { r.Amount = "1.0000001" }), kernel.CodeInvalid, m.ann},
		"to nobody":               {with(func(r *platform.PaymentReport) { r.To = "@nobody" }), kernel.CodeNotFound, m.ann},
		"to a long name":          {with(func(r *platform.PaymentReport) { r.To = "@" + strings.Repeat("é", 100_000) }), kernel.CodeNotFound, m.ann},
		"to no name":              {with(func(r *platform.PaymentReport) { r.To = "@" }), kernel.CodeNotFound, m.ann},
		"to one without a wallet": {with(func(r *platform.PaymentReport) { r.To = "@eve" }), kernel.CodeInvalid, m.ann},
		"to half an address":      {with(func(r *platform.PaymentReport) { r.To = "0x12" }), kernel.CodeInvalid, m.ann},
		"to a mistyped address":   {with(func(r *platform.PaymentReport) { r.To = strings.Replace(purse2, "fB", "Fb", 1) }), kernel.CodeInvalid, m.ann},
		"to oneself":              {with(func(r *platform.PaymentReport) { r.To = "ann"; r.TxHash = txHash("6") }), kernel.CodeInvalid, m.ann},
	} {
		_, err := m.Platform.Pay(ctx, c.who, c.r)
		actortest.Wants(t, name, err, c.code)
	}
	if m.chain.Asked() != asked {
		t.Error("the chain was asked for what can't be")
	}
	for name, c := range map[string]struct {
		r    platform.PaymentReport
		code kernel.Code
		says string
	}{
		"failed":              {tx("2"), kernel.CodeInvalid, "failed"},
		"of nothing":          {tx("3"), kernel.CodeInvalid, "paid no USDC"},
		"the other way round": {tx("4"), kernel.CodeInvalid, "paid no USDC"},
		"of somebody else":    {tx("5"), kernel.CodeInvalid, "paid no USDC"},
		"unknown":             {tx("f"), kernel.CodeTaken, "in no block"},
		"of less":             {with(func(r *platform.PaymentReport) { r.Amount = "1.000001" }), kernel.CodeInvalid, "another amount"},
		"of more":             {with(func(r *platform.PaymentReport) { r.Amount = "0.999999" }), kernel.CodeInvalid, "another amount"},
	} {
		_, err := m.Platform.Pay(ctx, m.ann, c.r)
		actortest.Wants(t, name, err, c.code)
		if err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	m.chain.Fail(errors.New("secret address"))
	_, err := m.Platform.Pay(ctx, m.ann, good)
	actortest.Wants(t, "chain down", err, kernel.CodeUnavailable)
	if strings.Contains(err.Error(), "secret") {
		t.Error(err)
	}
	m.chain.Fail(nil)
	if err := m.Platform.UnregisterWallet(ctx, m.ann); err != nil {
		t.Fatal(err)
	}
	_, err = m.Platform.Pay(ctx, m.ann, good)
	actortest.Wants(t, "without a wallet", err, kernel.CodeInvalid)
	if n := len(m.payments(m.room)); n != 0 {
		t.Errorf("%d payments are posted", n)
	}
	w := actortest.New(t)
	_, err = w.Platform.Pay(ctx, w.User("ann"), good)
	actortest.Wants(t, "without a chain", err, kernel.CodeUnsupported)
}

// TestPaymentCountsOnce reports one transaction many times at once, in two rooms.
func TestPaymentCountsOnce(t *testing.T) {
	m := newMarket(t)
	other := m.Room(m.ann, "Other", false)
	m.chain.Mine(txHash("a"), done(transfer(purse1, purse2, 1_000_000)))
	var wg sync.WaitGroup
	verified := make(chan string, 100)
	for i := range 16 {
		room := m.room
		if i%2 == 1 {
			room = other
		}
		wg.Go(func() {
			paid, err := m.Platform.Pay(ctx, m.ann, platform.PaymentReport{TxHash: txHash("a"), AgencyID: room, To: "@bob", Amount: "1"})
			if err == nil {
				verified <- paid.MessageID
				return
			}
			if code, _ := actortest.Code(err); code != kernel.CodeTaken && code != kernel.CodeUnavailable {
				t.Errorf("refused with %v", err)
			}
		})
	}
	wg.Wait()
	if n := len(m.payments(m.room)) + len(m.payments(other)); len(verified) != 1 || n != 1 {
		t.Errorf("%d reports are verified, %d posted", len(verified), n)
	}
}

// TestPaymentsCantBeForged: only the server sets the key.
func TestPaymentsCantBeForged(t *testing.T) {
	m := newMarket(t)
	for _, metadata := range []string{`{"payment":{"amount":"5"},"a":1}`, `"{\"payment\":true,\"a\":1}"`, `{"p\u0061yment":1,"a":1}`} {
		doc, _, err := m.Platform.Post(ctx, m.bob, m.room, agency.NewMessage{Content: "paid 5 USDC to @ann", Metadata: json.RawMessage(metadata)})
		if err != nil || strings.Contains(string(doc), `"payment"`) || !strings.Contains(string(doc), `"a":1`) {
			t.Errorf("%s: %s, %v", metadata, doc, err)
		}
	}
}
