package platform_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parley/actors/account"
	"parley/actors/actortest"
	"parley/actors/kernel"
	"parley/actors/platform"
)

// fields reads a JSON object.
func fields(t testing.TB, body string) map[string]json.RawMessage {
	t.Helper()
	var m map[string]json.RawMessage
	if err := json.Unmarshal([]byte(body), &m); err != nil {
		t.Fatal(err)
	}
	return m
}

func makeAgent(w *actortest.World, owner *platform.Identity, name string) (*platform.Identity, string) {
	w.T.Helper()
	if _, err := w.Platform.Join(ctx, owner, lobby); err != nil {
		w.T.Fatal(err)
	}
	p, token, err := w.Platform.CreateAgent(ctx, owner, platform.NewAgent{Name: name})
	if err != nil {
		w.T.Fatal(err)
	}
	return &platform.Identity{Sender: p.Sender(), Session: name}, token
}

func TestAgentConfig(t *testing.T) {
	w := actortest.New(t)
	ann, bob := w.User("ann"), w.User("bob")
	bot, _ := makeAgent(w, ann, "bot")
	room := w.Room(ann, "Room", false)
	set := func(agency, body string) account.Config {
		t.Helper()
		c, err := w.Platform.SetAgentConfig(ctx, ann, bot.ID, agency, fields(t, body))
		if err != nil {
			t.Fatalf("%s: %v", body, err)
		}
		return c
	}
	holds := func(what string, c account.Config, want map[string]string) {
		t.Helper()
		for key, v := range want {
			if string(c[key]) != v {
				t.Errorf("%s: %s is %s, want %s", what, key, c[key], v)
			}
		}
	}
	get := func(id *platform.Identity, agency string) account.Config {
		t.Helper()
		c, err := w.Platform.AgentConfig(ctx, id, bot.ID, agency)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	holds("defaults", get(ann, ""), map[string]string{"extAgentId": `"main"`, "wallet_spend_limit_per_tx": "10", "wallet_spend_limit_daily": "50",
		"agency_addable": "null", "role": `""`, "extToken": ""})

	c := set("", `{"webhook_url":"https://hook.test/a","ext_token":"sk-secret-12345-abcd","github_token":"short","wallet_spend_limit_daily":7.5,
		"wallet_allowlisted_hooks":["a","b"],"role":"helper","personality":"kind","agency_addable":true,"custom":{"deep": [1]}}`)
	masked := map[string]string{"response_webhook_url": `"https://hook.test/a"`, "webhook_url": `"https://hook.test/a"`, "extToken": `"sk-…abcd"`,
		"github_token": `"…"`, "wallet_spend_limit_daily": "7.5", "wallet_allowlisted_hooks": `["a","b"]`, "role": `"helper"`,
		"personality": `"kind"`, "agency_addable": "true", "custom": `{"deep":[1]}`}
	holds("the answer", c, masked)
	holds("the owner", get(ann, ""), masked)
	holds("the agent", get(bot, ""), map[string]string{"extToken": `"sk-secret-12345-abcd"`, "github_token": `"short"`})
	if p, err := w.Platform.Profile(ctx, bot.ID); err != nil || p.Role != "helper" || p.Personality != "kind" || p.Addable == nil || !*p.Addable {
		t.Errorf("profile: %+v, %v", p, err)
	}

	set(room, `{"github_token":"of-the-room-12345","role":"guest","empty":""}`)
	holds("the agent in the room", get(bot, room), map[string]string{"github_token": `"of-the-room-12345"`, "role": `"guest"`, "extToken": `"sk-secret-12345-abcd"`})
	holds("the owner in the room", get(ann, room), map[string]string{"github_token": `"of-…2345"`})
	holds("the agent elsewhere", get(bot, "elsewhere"), map[string]string{"github_token": `"short"`, "role": `"helper"`})

	// What was shown may come back as a whole, in its own place and in the room's.
	for _, agency := range []string{"", room} {
		shown, _ := json.Marshal(get(ann, agency))
		body := fields(t, string(shown))
		delete(body, "agency_addable")
		delete(body, "agencyAddable")
		if _, err := w.Platform.SetAgentConfig(ctx, ann, bot.ID, agency, body); err != nil {
			t.Fatal(err)
		}
	}
	w.Sleep(account.Ref(bot.ID))
	holds("after all that", get(bot, room), map[string]string{"github_token": `"of-the-room-12345"`, "extToken": `"sk-secret-12345-abcd"`})
	holds("after all that", get(bot, ""), map[string]string{"github_token": `"short"`})

	set("", `{"extToken":null,"webhookUrl":"","agency_addable":null,"role":null,"custom":null,"wallet_spend_limit_daily":null,"never":null}`)
	holds("cleared", get(bot, ""), map[string]string{"extToken": "", "response_webhook_url": "", "webhook_url": "", "agency_addable": "null", "role": `""`,
		"custom": "", "wallet_spend_limit_daily": "50", "never": ""})

	for name, who := range map[string]*platform.Identity{"a stranger": bob, "the agent": bot} {
		_, err := w.Platform.SetAgentConfig(ctx, who, bot.ID, "", fields(t, `{"a":"b"}`))
		actortest.Wants(t, name+" sets", err, kernel.CodeForbidden)
	}
	_, err := w.Platform.AgentConfig(ctx, bob, bot.ID, "")
	actortest.Wants(t, "a stranger reads", err, kernel.CodeForbidden)
	for _, none := range []string{"none", ann.ID, "a/b"} {
		_, err := w.Platform.AgentConfig(ctx, ann, none, "")
		actortest.Wants(t, none, err, kernel.CodeNotFound)
	}
	hidden := w.Room(bob, "Hidden", true)
	_, err = w.Platform.SetAgentConfig(ctx, ann, bot.ID, hidden, fields(t, `{"a":"b"}`))
	actortest.Wants(t, "overrides for a hidden agency", err, kernel.CodeNotFound)
	if _, err := w.Platform.SetAgentConfig(ctx, ann, bot.ID, hidden, fields(t, `{"a":null}`)); err != nil {
		t.Errorf("clearing for an agency that is not there: %v", err)
	}
}

func TestAgentConfigRules(t *testing.T) {
	w := actortest.New(t)
	ann := w.User("ann")
	bot, _ := makeAgent(w, ann, "bot")
	room := w.Room(ann, "Room", false)
	for _, body := range []string{
		`{"llm_provider":7}`, `{"webhook_url":"ftp://x"}`, `{"response_webhook_url":"https://u:p@x.test"}`, `{"extGateway":"nowhere"}`, `{"extToken":["a"]}`,
		`{"wallet_spend_limit_per_tx":"10"}`, `{"wallet_spend_limit_daily":-1}`, `{"wallet_spend_limit_daily":1e99}`, `{"wallet_approval_mode":"maybe"}`,
		`{"wallet_allowlisted_hooks":"a"}`, `{"wallet_allowlisted_hooks":[1]}`, `{"wallet_allowlisted_hooks":[null]}`, `{"agency_addable":"yes"}`,
		`{"agencyAddable":1}`, `{"role":7}`, `{"role":"` + strings.Repeat("x", account.MaxRole+1) + `"}`, `{"personality":"a\u0000b"}`,
		`{"personality":"` + strings.Repeat("x", account.MaxPersonality+1) + `"}`, `{"":"x"}`, `{"a b":"x"}`, `{"a/b":"x"}`, `{"` + strings.Repeat("k", 65) + `":"x"}`,
		`{"my_token":7}`, `{"my_token":"ab…cd"}`, `{"note":"` + strings.Repeat("x", account.MaxConfigValue) + `"}`,
	} {
		_, err := w.Platform.SetAgentConfig(ctx, ann, bot.ID, "", fields(t, body))
		actortest.Wants(t, fmt.Sprintf("%.80s", body), err, kernel.CodeInvalid)
	}
	_, err := w.Platform.SetAgentConfig(ctx, ann, bot.ID, room, fields(t, `{"agency_addable":true}`))
	actortest.Wants(t, "agency_addable of one agency", err, kernel.CodeInvalid)

	many := map[string]json.RawMessage{}
	for i := range account.MaxConfigKeys {
		many[fmt.Sprint("key", i)] = json.RawMessage(`"v"`)
	}
	if _, err := w.Platform.SetAgentConfig(ctx, ann, bot.ID, "", many); err != nil {
		t.Fatal(err)
	}
	_, err = w.Platform.SetAgentConfig(ctx, ann, bot.ID, "", fields(t, `{"more":"v"}`))
	actortest.Wants(t, "one key too many", err, kernel.CodeInvalid)
	if _, err := w.Platform.SetAgentConfig(ctx, ann, bot.ID, "", fields(t, `{"more":"v","key0":null}`)); err != nil {
		t.Errorf("one key for another: %v", err)
	}
	big := map[string]json.RawMessage{}
	for i := range account.MaxConfigBytes/account.MaxConfigValue + 1 {
		big[fmt.Sprint("big", i)], _ = json.Marshal(strings.Repeat("x", account.MaxConfigValue-2))
	}
	_, err = w.Platform.SetAgentConfig(ctx, ann, bot.ID, room, big)
	actortest.Wants(t, "too much in all", err, kernel.CodeInvalid)
}

// No secret lies in the store as it was given.
func TestSecretsAreSealed(t *testing.T) {
	w := actortest.New(t)
	ann := w.User("ann")
	secrets := []string{"sEcReT-eXt-0001", "sEcReT-lLm-0002", "sEcReT-oWn-0003", "sEcReT-rOoM-0004", "sEcReT-sElF-0005", "sEcReT-vEnIcE-0006", "sEcReT-cAmEl-0007", "sEcReT-mAiL-0008"}
	bot, _ := makeAgent(w, ann, "bot")
	room := w.Room(ann, "Room", false)
	body := `{"extToken":"` + secrets[0] + `","llm_api_key":"` + secrets[1] + `","my_PASSWORD":"` + secrets[2] + `","apiKey":"` + secrets[6] + `"}`
	if _, err := w.Platform.SetAgentConfig(ctx, ann, bot.ID, "", fields(t, body)); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Platform.SetAgentConfig(ctx, ann, bot.ID, room, fields(t, `{"a_secret":"`+secrets[3]+`"}`)); err != nil {
		t.Fatal(err)
	}
	r, err := w.Platform.RegisterAgent(ctx, platform.SelfRegistration{Name: "selfmade", ExtGateway: "https://gw.test", ExtToken: secrets[4]})
	if err != nil {
		t.Fatal(err)
	}
	if c, err := w.Platform.AgentConfig(ctx, &platform.Identity{Sender: r.Agent.Sender()}, r.Agent.ID, ""); err != nil || string(c["extToken"]) != `"`+secrets[4]+`"` || string(c["extGateway"]) != `"https://gw.test"` {
		t.Errorf("what the registration gave: %s, %v", c, err)
	}
	if _, err := w.Platform.RegisterAgent(ctx, platform.SelfRegistration{Name: "bad", ExtGateway: "gopher://x"}); err == nil {
		t.Error("a gateway that is no http address was taken")
	}
	p, _, err := w.Platform.CreateVeniceAgent(ctx, ann, platform.VeniceAgent{NewAgent: platform.NewAgent{Name: "venice"}, APIKey: secrets[5], Model: "llama"})
	if err != nil || !p.Verified {
		t.Fatal(p, err)
	}
	c, err := w.Platform.AgentConfig(ctx, &platform.Identity{Sender: p.Sender()}, p.ID, "")
	if err != nil || string(c["llm_api_key"]) != `"`+secrets[5]+`"` || string(c["llm_provider"]) != `"venice"` || string(c["llm_model"]) != `"llama"` {
		t.Errorf("of the Venice agent: %s, %v", c, err)
	}
	if _, err := w.Platform.ClaimAgent(ctx, ann, r.ClaimCode, secrets[7]+"@mail.test"); err != nil {
		t.Fatal(err)
	}
	w.Eventually("the mail", func() bool { return len(w.Mailbox.Mails()) == 1 })
	link := w.Mailbox.Mails()[0].Text
	_, token, _ := strings.Cut(link, "/verify/")
	token, _, _ = strings.Cut(token, "\n")
	w.Stop()
	data, err := os.ReadFile(w.Path())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range append(secrets, token) {
		if len(s) < 12 || bytes.Contains(data, []byte(s)) {
			t.Errorf("%q lies open in %s", s, filepath.Base(w.Path()))
		}
	}
}

func TestVeniceAgent(t *testing.T) {
	w := actortest.New(t)
	ann := w.User("ann")
	room := w.Room(ann, "Room", true)
	p, token, err := w.Platform.CreateVeniceAgent(ctx, ann, platform.VeniceAgent{NewAgent: platform.NewAgent{Name: "Doge", Role: "boat", AgencyID: room}, APIKey: "vk-1"})
	if err != nil {
		t.Fatal(err)
	}
	session, _, err := w.Platform.ExchangeAgentToken(ctx, token)
	if err != nil {
		t.Fatal(err)
	}
	if v, err := w.Platform.Agency(ctx, identify(w, session), room); err != nil || !v.IsMember {
		t.Errorf("its room: %+v, %v", v, err)
	}
	if _, again, err := w.Platform.VerifyAgent(ctx, ann, p.ID); err != nil || again != token {
		t.Errorf("the token that the owner may still see: %q, %v", again, err)
	}
	_, _, err = w.Platform.CreateVeniceAgent(ctx, ann, platform.VeniceAgent{NewAgent: platform.NewAgent{Name: "Other"}})
	actortest.Wants(t, "without a key", err, kernel.CodeInvalid)
	_, _, err = w.Platform.CreateVeniceAgent(ctx, &platform.Identity{Sender: p.Sender()}, platform.VeniceAgent{NewAgent: platform.NewAgent{Name: "Son"}, APIKey: "k"})
	actortest.Wants(t, "by an agent", err, kernel.CodeForbidden)
}
