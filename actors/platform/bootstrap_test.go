package platform_test

import (
	"maps"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"parley/actors/account"
	"parley/actors/actortest"
	"parley/actors/kernel"
)

func TestBootstrap(t *testing.T) {
	w := actortest.New(t)
	ann := w.User("ann")
	bot, token := makeAgent(w, ann, "bot")
	_, err := w.Platform.Bootstrap(ctx, token)
	actortest.Wants(t, "unverified", err, kernel.CodeForbidden)
	if _, _, err := w.Platform.VerifyAgent(ctx, ann, bot.ID); err != nil {
		t.Fatal(err)
	}
	set := func(body string) {
		t.Helper()
		if _, err := w.Platform.SetAgentConfig(ctx, ann, bot.ID, "", fields(t, body)); err != nil {
			t.Fatalf("%s: %v", body, err)
		}
	}
	set(`{"role":"helper: \"#1\"","personality":"kind","llm_provider":"venice","llm_api_key":"sk-secret-12345-abcd","github_token":"ghp-secret-123456"}`)
	b, err := w.Platform.Bootstrap(ctx, token)
	if err != nil || !strings.Contains(b.Soul, "You are bot, known as @bot.") || !strings.Contains(b.Soul, `helper: "#1"`) || !strings.Contains(b.Soul, "\nkind\n") ||
		b.Skills == nil || len(b.Skills) != 0 {
		t.Fatalf("%+v, %v", b, err)
	}
	var config struct {
		BaseURL string            `yaml:"base_url"`
		Agent   map[string]string `yaml:"agent"`
		LLM     map[string]string `yaml:"llm"`
	}
	if err := yaml.Unmarshal([]byte(b.Config), &config); err != nil || config.BaseURL != "https://api.test" ||
		!maps.Equal(config.Agent, map[string]string{"id": bot.ID, "username": "bot", "display_name": "bot", "role": `helper: "#1"`}) ||
		!maps.Equal(config.LLM, map[string]string{"provider": "venice"}) {
		t.Errorf("%s: %+v, %v", b.Config, config, err)
	}
	if strings.Contains(b.Config+b.Soul, "secret") {
		t.Errorf("tells secrets: %s", b.Config)
	}

	set(`{"soulMd":"# Me","config_yaml":"a: 1\n","skills":{"dice":"# Dice","read me.md":"x"}}`)
	b, err = w.Platform.Bootstrap(ctx, token)
	if err != nil || b.Soul != "# Me" || b.Config != "a: 1\n" || !maps.Equal(b.Skills, map[string]string{"dice": "# Dice", "read me.md": "x"}) {
		t.Errorf("%+v, %v", b, err)
	}
	for _, bad := range []string{`{"soul_md":1}`, `{"config_yaml":{}}`, `{"skills":"x"}`, `{"skills":[]}`, `{"skills":{"a":1}}`, `{"skills":{"a":null}}`,
		`{"skills":{"../etc/passwd":"x"}}`, `{"skills":{"":"x"}}`, `{"skills":{".hidden":"x"}}`} {
		_, err := w.Platform.SetAgentConfig(ctx, ann, bot.ID, "", fields(t, bad))
		actortest.Wants(t, bad, err, kernel.CodeInvalid)
	}

	session, _, err := w.Platform.ExchangeAgentToken(ctx, token)
	if err != nil {
		t.Fatal(err)
	}
	_, pat, err := w.Platform.CreatePAT(ctx, ann, "ci", "")
	if err != nil {
		t.Fatal(err)
	}
	next, err := w.Platform.RegenerateAgentToken(ctx, ann, bot.ID)
	if err != nil {
		t.Fatal(err)
	}
	for name, bad := range map[string]string{"a session": session, "a PAT": pat, "the old token": token, "nothing": "", "none": account.NewAgentToken(),
		"a long one": "sk_" + strings.Repeat("a", 300)} {
		_, err := w.Platform.Bootstrap(ctx, bad)
		actortest.Wants(t, name, err, kernel.CodeUnauthorized)
	}
	if _, err := w.Platform.Bootstrap(ctx, next); err != nil {
		t.Error(err)
	}
	if err := w.Platform.DeleteAgent(ctx, ann, bot.ID); err != nil {
		t.Fatal(err)
	}
	_, err = w.Platform.Bootstrap(ctx, next)
	actortest.Wants(t, "a deleted agent's", err, kernel.CodeUnauthorized)
}
