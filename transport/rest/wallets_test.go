package rest

import "testing"

func TestWallets(t *testing.T) {
	const pay = "/api/wallet/payment"
	empty := func(b *bench, _ *Options) { b.empty = true }
	run(t, nil, []check{
		{step{URL: "/api/wallet", Token: userToken, Status: 200, Want: []string{`{"hasWallet":true,"has_wallet":true,"address":"0xAb00000000000000000000000000000000000000","network":"base",` +
			`"explorer":"https://scan/address/0xAb00000000000000000000000000000000000000","balances":{"usdc":"12.5","eth":"0"},"balancesKnown":true,"balances_known":true}`}}, "Wallet"},
		{step{Name: "nobody's", URL: "/api/wallet", Status: 401}, "-"},
		{step{Name: "register", URL: "/api/wallet/register", Token: patToken, Body: `{"address":"0xab"}`, Status: 200,
			Want: []string{`"address":"0xAb00000000000000000000000000000000000000","network":"base","explorer":"https://scan/address/0xAb00000000000000000000000000000000000000","ok":true}`}}, "RegisterWallet 0xab"},
		{step{Name: "register nothing", Method: "POST", URL: "/api/wallet/register", Token: userToken, Status: 400, Want: []string{"address is required"}}, "-"},
		{step{Name: "register a bad one", URL: "/api/wallet/register", Token: userToken, Body: `{"address":"invalid"}`, Status: 400}, ""},
		{step{Name: "register another's", URL: "/api/wallet/register", Token: userToken, Body: `{"address":"taken"}`, Status: 409}, ""},
		{step{Name: "register as nobody", URL: "/api/wallet/register", Body: `{"address":"0xab"}`, Status: 401}, "-"},
		{step{Name: "unregister", Method: "DELETE", URL: "/api/wallet/register", Token: userToken, Status: 200, Want: []string{`{"ok":true}`}}, "UnregisterWallet"},
		{step{Name: "pay", URL: pay, Token: userToken, Body: `{"txHash":"0x1","agencyId":"g1","to":"@bob","amount":"1.50","token":"USDC"}`, Status: 200,
			Want: []string{`{"ok":true,"verified":true,"messageId":"m1","message_id":"m1","txHash":"0x1","tx_hash":"0x1","explorerUrl":"https://scan/tx/1","explorer_url":"https://scan/tx/1"}`}},
			"Pay 0x1|g1|@bob|1.50|USDC"},
		{step{Name: "pay a number", URL: pay, Token: userToken, Body: `{"tx_hash":"0x1","agency_id":"g1","to":"0x2","amount": 0.1000000000000000055 }`, Status: 200},
			"Pay 0x1|g1|0x2|0.1000000000000000055|"},
		{step{Name: "pay less than nothing", URL: pay, Token: userToken, Body: `{"txHash":"0x1","agencyId":"g1","to":"b","amount":-1}`, Status: 200}, "Pay 0x1|g1|b|-1|"},
		{step{Name: "pay no amount", URL: pay, Token: userToken, Body: `{"txHash":"0x1","agencyId":"g1","to":"b","amount":null}`, Status: 400, Want: []string{"amount is required"}}, "-"},
		{step{Name: "pay a list", URL: pay, Token: userToken, Body: `{"txHash":"0x1","agencyId":"g1","to":"b","amount":[1]}`, Status: 400, Want: []string{"amount must be a number"}}, "-"},
		{step{Name: "pay true", URL: pay, Token: userToken, Body: `{"txHash":"0x1","agencyId":"g1","to":"b","amount":true}`, Status: 400, Want: []string{"amount must be a number"}}, "-"},
		{step{Name: "pay without a transaction", URL: pay, Token: userToken, Body: `{"agencyId":"g1","to":"b","amount":1}`, Status: 400, Want: []string{"txHash is required"}}, "-"},
		{step{Name: "pay without a chain", URL: pay, Token: userToken, Body: `{"txHash":"0x1","agencyId":"unsupported","to":"b","amount":1}`, Status: 501, Want: []string{`{"error":"not here"}`}}, ""},
		{step{Name: "pay as nobody", URL: pay, Body: `{}`, Status: 401}, "-"},
		{step{Name: "look up", URL: "/api/explore/wallet/rich", Token: "stale", Status: 200, Want: []string{`"username":"Ann"`, `"address":"0xAb00000000000000000000000000000000000000"`}}, "WalletOwner rich"},
		{step{Name: "look up without a wallet", URL: "/api/explore/wallet/ann", Status: 200, Want: []string{`"address":null`}}, "WalletOwner ann"},
		{step{Name: "look up nobody", URL: "/api/explore/wallet/absent", Status: 404}, ""},
		{step{URL: "/api/explore/capabilities", Token: "stale", Status: 200, Want: []string{`{"wallets":true,"network":"base","token":"USDC","x402":false,"hookTransparency":false`}}, ""},
	})
	run(t, empty, []check{
		{step{Name: "no wallet", URL: "/api/wallet", Token: userToken, Status: 200, Want: []string{`{"hasWallet":false,"has_wallet":false,"address":null,"network":"base","explorer":null}`}}, ""},
		{step{Name: "no chain", URL: "/api/explore/capabilities", Status: 200, Want: []string{`{"wallets":false,"network":null,"token":null,"x402":false,`}}, ""},
	})
}

func TestBootstrap(t *testing.T) {
	const at = "/api/agents/self/bootstrap"
	refused := map[string]string{"WWW-Authenticate": "Bearer"}
	run(t, nil, []check{
		{step{URL: at, Token: "sk_1", Status: 200, Want: []string{`{"soul_md":"# Bot <1>","config_yaml":"a: 1\n","skills":{}}`}}, "Bootstrap sk_1"},
		{step{Name: "none", URL: at, Status: 401, WantHeader: refused}, "-"},
		{step{Name: "cookie", URL: at, Header: map[string]string{"Cookie": "acme_token=sk_1"}, Status: 401, WantHeader: refused}, "-"},
		{step{Name: "another scheme", URL: at, Header: map[string]string{"Authorization": "Basic sk_1"}, Status: 401}, "-"},
		{step{Name: "refused", URL: at, Token: "unauthorized", Status: 401, WantHeader: refused}, ""},
		{step{Name: "unverified", URL: at, Token: "forbidden", Status: 403}, ""},
	})
}

func TestSkills(t *testing.T) {
	const at = "/api/agencies/g1/skills"
	run(t, nil, []check{
		{step{URL: at, Token: userToken, Status: 200, Want: []string{`{"installed":[{"name":"analyze","description":"`, `"available":[{"name":"dice"`}}, "Skills g1"},
		{step{Name: "install", URL: at, Token: userToken, Body: `{"skillName":"echo"}`, Status: 200,
			Want: []string{`{"ok":true,"skill":{"name":"analyze"`, `"installed":[],"available":[]}`}}, "InstallSkill g1 echo"},
		{step{Name: "install, other name", URL: at, Token: userToken, Body: `{"name":"echo"}`, Status: 200}, "InstallSkill g1 echo"},
		{step{Name: "install nothing", Method: "POST", URL: at, Token: userToken, Status: 400, Want: []string{"skillName is required"}}, "-"},
		{step{Name: "install where one may not", URL: "/api/agencies/forbidden/skills", Token: userToken, Body: `{"skill_name":"echo"}`, Status: 403}, ""},
		{step{Name: "uninstall", Method: "DELETE", URL: at + "/echo", Token: userToken, Status: 200, Want: []string{`{"ok":true,"skill":`}}, "UninstallSkill g1 echo"},
		{step{Name: "as nobody", URL: at, Status: 401}, "-"},
	})
	run(t, func(b *bench, _ *Options) { b.empty = true }, []check{
		{step{URL: at, Token: userToken, Status: 200, Want: []string{`{"installed":[],"available":[]}`}}, ""},
	})
}
