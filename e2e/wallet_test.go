package e2e

import (
	"io"
	"math/big"
	"net/http"
	"strings"
	"testing"

	"parley/e2e/client"
	"parley/transport/outbound/chain/chaintest"
	"parley/transport/rest/scenario"
)

// Addresses in checksum form, and Base Sepolia's token.
const (
	annsPurse = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
	botsPurse = "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359"
	usdc      = "0x036CbD53842c5426634e7929541eC2318f3dCF7e"
)

// TestWallets: the registry and payments that are verified on chain (clients.md 2.10), by a user and by an agent.
func TestWallets(t *testing.T) {
	t.Parallel()
	node := chaintest.Start(t, 84532)
	server := own(t, "--wallet-rpc-url", node.URL+"/s3cret", "--wallet-network", "base-sepolia")
	api := client.API{Base: server.URL()}
	ann, eve := user(t, api, "Ann"), user(t, api, "eve")
	r, err := api.RegisterAgent(soon(t), fresh("bot"), "")
	if err != nil {
		t.Fatal(err)
	}
	bot, err := api.Exchange(soon(t), r.Agent.Token)
	if err != nil {
		t.Fatal(err)
	}
	room := ann.room(t, "market", false)
	if err := api.As(bot.Token).Join(soon(t), room.ID); err != nil {
		t.Fatal(err)
	}
	live := opened(t, client.DialSocketIO, api.Base, bot.Token)
	joined(t, live, room)
	node.Hold(annsPurse, chaintest.Holding{Token: big.NewInt(12_500_000), Ether: big.NewInt(3e15)})
	vars := map[string]string{"ann": ann.Token, "eve": eve.Token, "bot": bot.Token, "room": room.ID, "annName": ann.Username, "botName": r.Agent.Username,
		"upper": strings.ToUpper(r.Agent.Username), "tx": "0x" + strings.Repeat("ab", 32), "A": annsPurse, "B": botsPurse, "a": strings.ToLower(annsPurse)}
	target := scenario.Server(api.Base)
	scenario.Run(t, target, vars, bearing("ann", []step{
		{URL: "/api/explore/capabilities", Status: 200, Want: []string{`{"wallets":true,"network":"base-sepolia","token":"USDC","x402":false,`}},
		{URL: "/api/wallet", Status: 200, Want: []string{`"hasWallet":false`}},
		{URL: "/api/explore/wallet/{{annName}}", Status: 200, Want: []string{`"address":null`}},
		{URL: "/api/wallet/register", Body: `{"address":"{{a}}x"}`, Status: 400, Want: []string{"address"}},
		{URL: "/api/wallet/register", Body: `{"address":"0x5aaEb6053F3E94C9b9A09f33669435E7Ef1BeAed"}`, Status: 400, Want: []string{"checksum"}},
		{URL: "/api/wallet/register", Body: `{"address":"{{a}}"}`, Status: 200,
			Want: []string{`"address":"{{A}}"`, `"network":"base-sepolia"`, `"explorer":"https://sepolia.basescan.org/address/{{A}}"`}},
		{URL: "/api/wallet/register", Token: "{{bot}}", Body: `{"address":"{{A}}"}`, Status: 409},
		{URL: "/api/wallet/register", Token: "{{bot}}", Body: `{"address":"{{B}}"}`, Status: 200},
		{URL: "/api/wallet", Status: 200, Want: []string{`"hasWallet":true`, `"address":"{{A}}"`, `"balances":{"usdc":"12.5","eth":"0.003"}`, `"balancesKnown":true`}},
		{URL: "/api/wallet", Token: "{{bot}}", Status: 200, Want: []string{`"balances":{"usdc":"0","eth":"0"}`}},
		{URL: "/api/explore/wallet/{{upper}}", Token: "stale", Status: 200, Want: []string{`"address":"{{B}}"`, `"username":"{{botName}}"`}},
		{URL: "/api/explore/wallet/nobody-here", Status: 404},
		{Name: "not mined", URL: "/api/wallet/payment", Body: `{"txHash":"{{tx}}","agencyId":"{{room}}","to":"@{{botName}}","amount":"2.5","token":"USDC"}`, Status: 409,
			Want: []string{"in no block of base-sepolia yet"}},
	}))
	node.Mine(vars["tx"], true, chaintest.Transfer(usdc, annsPurse, botsPurse, big.NewInt(2_500_000)))
	scenario.Run(t, target, vars, bearing("ann", []step{
		{Name: "another amount", URL: "/api/wallet/payment", Body: `{"txHash":"{{tx}}","agencyId":"{{room}}","to":"@{{botName}}","amount":2.4}`, Status: 400, Want: []string{"another amount"}},
		{Name: "no member", URL: "/api/wallet/payment", Token: "{{eve}}", Body: `{"txHash":"{{tx}}","agencyId":"{{room}}","to":"@{{botName}}","amount":2.5}`, Status: 403},
		{Name: "paid", URL: "/api/wallet/payment", Body: `{"txHash":"{{tx}}","agencyId":"{{room}}","to":"@{{botName}}","amount":2.5,"token":"USDC"}`, Status: 200,
			Want: []string{`"verified":true`, `"txHash":"{{tx}}"`, `"explorerUrl":"https://sepolia.basescan.org/tx/{{tx}}"`}, Save: map[string]string{"message": "messageId"}},
		{Name: "twice", URL: "/api/wallet/payment", Body: `{"txHash":"{{tx}}","agencyId":"{{room}}","to":"@{{botName}}","amount":2.5}`, Status: 409, Want: []string{"reported already"}},
		{URL: "/api/agencies/{{room}}/messages", Status: 200, Want: []string{`"id":"{{message}}"`, `"payment":{"txHash":"{{tx}}","amount":"2.5","token":"USDC","from":"{{A}}","to":"{{B}}","to_username":"{{botName}}"`}},
	}))
	if m := event[client.Message](t, live, "message"); m.ID != vars["message"] || m.Type != "action" || m.SenderID != ann.ID || !strings.Contains(string(m.Metadata), vars["tx"]) {
		t.Errorf("the room heard %+v", m)
	}

	// It is used up behind a crash too, and a node that talks nonsense costs the balances alone.
	if err := server.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := checkLog(server.Log()); err != nil || strings.Contains(server.Log(), "s3cret") {
		t.Errorf("%v\n%s", err, server.Log())
	}
	node.Answer(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") })
	if err := server.Restart(soon(t)); err != nil {
		t.Fatal(err)
	}
	scenario.Run(t, scenario.Server(server.URL()), vars, bearing("ann", []step{
		{URL: "/api/wallet", Status: 200, Want: []string{`"address":"{{A}}"`, `"balances":{"usdc":"0","eth":"0"}`, `"balancesKnown":false`, `"balancesProblem":"the block chain`}},
		{URL: "/api/wallet/payment", Body: `{"txHash":"{{tx}}","agencyId":"{{room}}","to":"@{{botName}}","amount":2.5}`, Status: 409},
		{URL: "/api/wallet/payment", Body: `{"txHash":"0x` + strings.Repeat("c", 64) + `","agencyId":"{{room}}","to":"@{{botName}}","amount":2.5}`, Status: 503},
		{Method: "DELETE", URL: "/api/wallet/register", Status: 200, Want: []string{`{"ok":true}`}},
		{URL: "/api/wallet/register", Token: "{{eve}}", Body: `{"address":"{{A}}"}`, Status: 200},
	}))
}

// TestWalletsWithoutChain: the registry works, and the rest says why it does not.
func TestWalletsWithoutChain(t *testing.T) {
	t.Parallel()
	api := common(t)
	ann := user(t, api, "ann")
	address := "0x" + strings.Repeat("1", 24) + "deadbeefdeadbeef"
	vars := map[string]string{"ann": ann.Token, "name": ann.Username, "address": address}
	scenario.Run(t, scenario.Server(api.Base), vars, bearing("ann", []step{
		{URL: "/api/explore/capabilities", Status: 200, Want: []string{`{"wallets":false,"network":null,"token":null,"x402":false,`}},
		{URL: "/api/wallet/register", Body: `{"address":"{{address}}"}`, Status: 200, Want: []string{`"network":"base"`, `"explorer":"https://basescan.org/address/0x`}},
		{URL: "/api/wallet", Status: 200, Want: []string{`"balances":{"usdc":"0","eth":"0"},"balancesKnown":false`, "not connected to a block chain"}},
		{URL: "/api/wallet/payment", Body: `{"txHash":"0x1","agencyId":"g","to":"@b","amount":"1"}`, Status: 501},
	}))
}
