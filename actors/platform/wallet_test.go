package platform_test

import (
	"errors"
	"math/big"
	"strings"
	"sync"
	"testing"

	"parley/actors/account"
	"parley/actors/actortest"
	"parley/actors/kernel"
	"parley/actors/platform"
	"parley/persistence"
)

// Addresses in checksum form.
const (
	purse1 = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
	purse2 = "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359"
	purse3 = "0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB"
)

// register registers a wallet.
func register(w *actortest.World, id *platform.Identity, address string) {
	w.T.Helper()
	if _, err := w.Platform.RegisterWallet(ctx, id, address); err != nil {
		w.T.Fatalf("%s registers %s: %v", id.Username, address, err)
	}
}

// holder is who a claim of an address is of, empty for nobody.
func holder(w *actortest.World, address string) string {
	w.T.Helper()
	c, err := w.Store.Claim(ctx, persistence.ClaimWallet, strings.ToLower(address))
	if err != nil && !errors.Is(err, persistence.ErrNotFound) {
		w.T.Fatal(err)
	}
	return c.Owner
}

func TestWalletRegistry(t *testing.T) {
	w := actortest.New(t)
	ann, bob := w.User("Ann"), w.User("bob")
	bot, _ := makeAgent(w, ann, "bot")
	if v, err := w.Platform.Wallet(ctx, ann); err != nil || v.Address != "" || v.Explorer != "" || v.Network != "base" {
		t.Fatalf("%+v, %v", v, err)
	}
	v, err := w.Platform.RegisterWallet(ctx, ann, strings.ToLower(purse1))
	if err != nil || v.Address != purse1 || v.Network != "base" || v.Explorer != "https://scan.test/address/"+purse1 {
		t.Fatalf("%+v, %v", v, err)
	}
	before := head(w, account.Ref(ann.ID))
	register(w, ann, "0x"+strings.ToUpper(purse1[2:]))
	if after := head(w, account.Ref(ann.ID)); after != before {
		t.Error("the same address again is an event")
	}
	for _, other := range []*platform.Identity{bob, bot} {
		_, err = w.Platform.RegisterWallet(ctx, other, purse1)
		actortest.Wants(t, other.Username, err, kernel.CodeTaken)
	}
	_, err = w.Platform.RegisterWallet(ctx, bob, "0x5aAEB6053F3E94C9b9A09f33669435E7Ef1BeAed")
	actortest.Wants(t, "wrong checksum", err, kernel.CodeInvalid)

	register(w, ann, purse2) // in place of the first
	register(w, bot, purse1)
	if holder(w, purse1) != bot.ID || holder(w, purse2) != ann.ID {
		t.Error("the claims are not those of the registrations")
	}
	w.Crash()
	w.Sleep(account.Ref(ann.ID))
	for name, address := range map[string]string{"aNN": purse2, "bot": purse1, "BOB": ""} {
		if p, err := w.Platform.WalletOwner(ctx, name); err != nil || p.Wallet != address {
			t.Errorf("%s has %q, %v", name, p.Wallet, err)
		}
	}
	_, err = w.Platform.WalletOwner(ctx, "nobody")
	actortest.Wants(t, "nobody's wallet", err, kernel.CodeNotFound)

	// Other changes of the profile leave it.
	name := "Annie"
	if _, err := w.Platform.UpdateProfile(ctx, ann, account.ProfileUpdate{DisplayName: &name}); err != nil {
		t.Fatal(err)
	}
	if p, err := w.Platform.Profile(ctx, ann.ID); err != nil || p.Wallet != purse2 {
		t.Errorf("after a change of the profile: %q, %v", p.Wallet, err)
	}
	for range 2 {
		if err := w.Platform.UnregisterWallet(ctx, ann); err != nil {
			t.Fatal(err)
		}
	}
	if v, err := w.Platform.Wallet(ctx, ann); err != nil || v.Address != "" || holder(w, purse2) != "" {
		t.Errorf("%+v, %v", v, err)
	}
	register(w, bob, purse2)

	// A deleted account frees its address, and that of its agents.
	register(w, ann, purse3)
	if err := w.Platform.DeleteAccount(ctx, ann, nil); err != nil {
		t.Fatal(err)
	}
	if holder(w, purse3) != "" || holder(w, purse1) != "" {
		t.Error("addresses of deleted accounts are still taken")
	}
	register(w, bob, purse3)
	register(w, w.User("eve"), purse1)
}

// head is the last sequence of an actor's log.
func head(w *actortest.World, ref kernel.Ref) uint64 {
	w.T.Helper()
	_, last, err := w.Store.Head(ctx, ref.String())
	if err != nil {
		w.T.Fatal(err)
	}
	return last
}

func TestWalletRaces(t *testing.T) {
	w := actortest.New(t)
	var all []*platform.Identity
	for _, name := range []string{"a1", "a2", "a3", "a4", "a5", "a6"} {
		all = append(all, w.User(name))
	}
	var wg sync.WaitGroup
	won := make(chan string, len(all))
	for _, id := range all {
		wg.Go(func() {
			_, err := w.Platform.RegisterWallet(ctx, id, purse1)
			if err == nil {
				won <- id.ID
				return
			}
			actortest.Wants(t, id.Username, err, kernel.CodeTaken)
		})
	}
	wg.Wait()
	if len(won) != 1 || holder(w, purse1) != <-won {
		t.Errorf("%d have won", len(won))
	}
	owners := 0
	for _, id := range all {
		if p, err := w.Platform.Profile(ctx, id.ID); err != nil || p.Wallet != "" {
			owners++
		}
	}
	if owners != 1 {
		t.Errorf("%d profiles have the address", owners)
	}
}

func TestWalletBalances(t *testing.T) {
	w := actortest.New(t)
	ann := w.User("ann")
	register(w, ann, purse1)
	if c := w.Platform.Capabilities(); c.Wallets || c.Network != nil || c.Token != nil {
		t.Errorf("%+v", c)
	}
	if v, err := w.Platform.Wallet(ctx, ann); err != nil || v.Known || v.USDC != "0" || v.Ether != "0" || v.Problem == "" {
		t.Errorf("without a chain: %+v, %v", v, err)
	}
	chain := actortest.NewChain(big.NewInt(12_500_000), big.NewInt(1))
	w.UseChain(chain)
	if c := w.Platform.Capabilities(); !c.Wallets || *c.Network != "base" || *c.Token != "USDC" {
		t.Errorf("%+v", c)
	}
	if v, err := w.Platform.Wallet(ctx, ann); err != nil || !v.Known || v.USDC != "12.5" || v.Ether != "0.000000000000000001" || v.Problem != "" {
		t.Errorf("%+v, %v", v, err)
	}
	chain.Fail(errors.New("secret address"))
	if v, err := w.Platform.Wallet(ctx, ann); err != nil || v.Address != purse1 || v.Known || v.USDC != "0" || v.Problem == "" || strings.Contains(v.Problem, "secret") {
		t.Errorf("with a chain that is down: %+v, %v", v, err)
	}
	asked := chain.Asked()
	if _, err := w.Platform.Wallet(ctx, w.User("bob")); err != nil || chain.Asked() != asked {
		t.Errorf("asks for the balance of nothing: %v", err)
	}
}
